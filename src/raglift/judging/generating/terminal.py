"""What came of writing questions, as text for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from raglift.integrations.prices import dollars_in_short
from raglift.judging.generating.records import DIFFICULTIES, REASONS
from raglift.printable import counted
from raglift.rendering.document import table_of
from raglift.report.terminal.rendering import as_text, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from raglift.judging.generating.records import GenerationRecord, StyleReport
    from raglift.rendering.document import Part, Table

__all__ = ["cost_text", "generation_text", "head_line", "passages_line", "print_generation", "styles_table"]

_LONGEST = 200
SYNTHETIC_NOTE = (
    "a model wrote these questions and chose what answers them: they compare systems on one corpus, and say little of "
    "what people ask; have some of them looked at"
)


def generation_text(generation: GenerationRecord) -> str:
    """Return the report as plain text."""
    return as_text(_parts(generation), wrap=False, roomy=True)


def print_generation(generation: GenerationRecord, console: Console) -> None:
    """Print the report: how many of each style, how hard they are, and what was thrown away."""
    write(console, _parts(generation), wrap=console.is_terminal, roomy=True)


def _parts(generation: GenerationRecord) -> Iterator[Part]:
    yield f"{generation.dataset.name}: {head_line(generation)}"
    yield passages_line(generation)
    yield ""
    yield styles_table(generation)
    for style in generation.styles:
        yield from _thrown_away(style)
    yield ""
    yield from (f"! {note}" for note in (*generation.notes, SYNTHETIC_NOTE))


def head_line(generation: GenerationRecord) -> str:
    """Return how many questions there are, by whom, and what they cost."""
    return (
        f"{len(generation.dataset):,} of {counted(generation.wanted, 'question')}, "
        f"by {generation.model}, seed {generation.seed}; {cost_text(generation)}"
    )


def cost_text(generation: GenerationRecord) -> str:
    """Return what was billed."""
    usage = generation.usage
    tokens = f"{usage.input:,} input and {usage.output:,} output tokens billed"
    return tokens if generation.dollars is None else f"{tokens}, US$ {dollars_in_short(generation.dollars)}"


def passages_line(generation: GenerationRecord) -> str:
    """Return into how many passages the documents were cut, and which were left out."""
    left_out = ", ".join(f"{reason} {count:,}" for reason, count in generation.left_out.items())
    total = sum(generation.left_out.values())
    return (
        f"{counted(generation.passages, 'passage')} of at most {generation.passage_size:,} characters; "
        f"{total:,} left out{f' ({left_out})' if left_out else ''}"
    )


def styles_table(generation: GenerationRecord) -> Table:
    """Return how many questions of each style were tried and kept, and how hard BM25 finds them."""
    rows = []
    for style in generation.styles:
        counts = generation.difficulties(style.style)
        hard = ["–" if style.style == "unanswerable" else f"{counts[name]:,}" for name in DIFFICULTIES]
        thrown = style.asked - style.kept
        rows.append((style.style, f"{style.wanted:,}", f"{style.asked:,}", f"{style.kept:,}", f"{thrown:,}", *hard))
    return table_of(("style", "wanted", "tried", "kept", "thrown away", *DIFFICULTIES), rows)


def _thrown_away(style: StyleReport) -> Iterator[str]:
    if not style.thrown_away:
        return
    yield ""
    yield f"thrown away of {style.style}:"
    for thrown in style.thrown_away:
        yield f"  {thrown.reason} ({thrown.count:,}): {REASONS[thrown.reason]}"
        for example in thrown.examples:
            if example.question:
                yield f"    {_excerpt(example.question)}"
            if example.detail:
                yield f"      – {_excerpt(example.detail)}"


def _excerpt(text: str) -> str:
    """Return a text in one line."""
    return textwrap.shorten(text, _LONGEST, placeholder=" …")
