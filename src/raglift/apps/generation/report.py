"""Reports of a generation: for a terminal, for a notebook and as Markdown."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from raglift.apps.generation.filters import DIFFICULTIES, REASONS, Example, StyleReport, ThrownAway
from raglift.base.display import counted, shorten
from raglift.llm.providers import dollars_in_short
from raglift.rendering.document import Detail, Document, Section, Table, row_of, table_of
from raglift.report.terminal.rendering import as_text, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from raglift.apps.generation.drafts import Rejection
    from raglift.apps.generation.filters import GenerationRecord
    from raglift.apps.generation.passages import Passages
    from raglift.rendering.document import Part


# Contents of a generation's report: the outcome of each style's questions, and why some are missing.


_EXAMPLES = 3
_LONGEST_EXAMPLE = 501


def style_report(style: str, counts: tuple[int, int, int], rejected: Sequence[Rejection]) -> StyleReport:
    """Return the outcome of a style's questions.

    Args:
        style: its name.
        counts: how many were wanted, tried and kept.
        rejected: those that were thrown away.
    """
    thrown_away = []
    for reason in REASONS:
        found = [each for each in rejected if each.reason == reason]
        examples = dict.fromkeys(Example(_cut(each.question), _cut(each.detail)) for each in found)
        shown = tuple(example for example in examples if example != Example("", ""))[:_EXAMPLES]
        thrown_away += [ThrownAway(reason, len(found), shown)] if found else []
    return StyleReport(style, *counts, tuple(thrown_away))


def notes_on(styles: Sequence[StyleReport], passages: Passages, most_tries: int) -> list[str]:
    """Return why there are fewer questions than wanted, and what could not be asked at all.

    Args:
        styles: the outcome of each style.
        passages: what was asked about.
        most_tries: how many questions are tried at most for each that is wanted.
    """
    short = [each for each in styles if each.kept < each.wanted]
    missing = sum(each.wanted - each.kept for each in short)
    notes = []
    if missing:
        tried_out = all(each.asked >= most_tries * each.wanted for each in short)
        tries = f"{most_tries} were tried for each that was wanted"
        used_up = f"no passage is left of the {len(passages.usable):,} that something can be asked of"
        notes.append(f"{missing:,} fewer than wanted: {tries if tried_out else used_up}")
    if any(passages.other(number, 0) is None for number in passages.usable[:1]):
        notes.append("there is no passage from another place, so none was asked about what it should not answer")
    return notes


def _cut(text: str) -> str:
    """Return as much of a text as an example needs: a model may answer with megabytes."""
    return shorten(text, _LONGEST_EXAMPLE)


# Results of question generation, as text for a terminal.


_LONGEST = 200
SYNTHETIC_NOTE = (
    "a model wrote these questions and chose what answers them: they can compare systems on one corpus, but "
    "say little about what people ask; have a person check a sample"
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


# Summary of question generation, for a notebook or as Markdown.


def generation_summary(generation: GenerationRecord) -> Document:
    """Return the report: how many of each style, and what was thrown away with examples."""
    return Document(
        generation.dataset.name,
        f"{head_line(generation)}. {passages_line(generation)}.",
        styles_table(generation),
        (),
        warnings=generation.notes,
        notes=(SYNTHETIC_NOTE,),
        sections=tuple(_sections(generation)),
    )


def _sections(generation: GenerationRecord) -> Iterator[Section]:
    found = [(style.style, thrown) for style in generation.styles for thrown in style.thrown_away]
    if not found:
        return
    counts = [row_of((style, each.reason, REASONS[each.reason], f"{each.count:,}")) for style, each in found]
    examples = [
        row_of((style, each.reason, example.question, example.detail))
        for style, each in found
        for example in each.examples
    ]
    yield Section(
        "Thrown away",
        tables=(
            Table(
                "By reason", ("style", "reason", "what it means", "questions"), tuple(counts), text_columns=(0, 1, 2)
            ),
            Table("For example", ("style", "reason", "question", "detail"), tuple(examples), text_columns=(0, 1, 2, 3)),
        ),
        detail=Detail.DETAILS,
    )
