"""What is shown of question generation, and why some questions are missing."""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING

from raglift.apps.generation.filters import DIFFICULTIES, REASONS, Example, StyleReport, ThrownAway
from raglift.base.display import counted, shorten
from raglift.llm.providers import dollars_in_short
from raglift.rendering.document import Column, Detail, Document, Entry, Section, Table, table_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.apps.generation.drafts import Rejection
    from raglift.apps.generation.filters import GenerationRecord
    from raglift.apps.generation.passages import Passages


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


# What is shown of question generation.


_LONGEST = 200
SYNTHETIC_NOTE = (
    "a model wrote these questions and chose what answers them: they can compare systems on one corpus, but "
    "say little about what people ask; have a person check a sample"
)


def generation_view(generation: GenerationRecord) -> Document:
    """Return how many questions of each style there are, how hard they are, and what was thrown away."""
    return Document(
        title=f"{generation.dataset.name}: {head_line(generation)}",
        lead=f"{passages_line(generation)}.",
        headline=styles_table(generation),
        measured=(),
        warnings=(*generation.notes, SYNTHETIC_NOTE),
        sections=tuple(_thrown_away(style) for style in generation.styles if style.thrown_away),
        printed=Detail.DETAILS,
    )


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
    columns = (*_COUNTS, *(Column(name, partial(_hard, generation, name)) for name in DIFFICULTIES))
    return table_from(columns, generation.styles, "Questions of each style")


_COUNTS: tuple[Column[StyleReport], ...] = (
    Column("style", lambda style: style.style, words=True),
    Column("wanted", lambda style: f"{style.wanted:,}"),
    Column("tried", lambda style: f"{style.asked:,}"),
    Column("kept", lambda style: f"{style.kept:,}"),
    Column("thrown away", lambda style: f"{style.asked - style.kept:,}"),
)


def _hard(generation: GenerationRecord, name: str, style: StyleReport) -> str:
    return "–" if style.style == "unanswerable" else f"{generation.difficulties(style.style)[name]:,}"


def _thrown_away(style: StyleReport) -> Section:
    """Return why questions of a style were thrown away, with examples."""
    entries = tuple(
        Entry(f"{thrown.reason} ({thrown.count:,}): {REASONS[thrown.reason]}", tuple(map(_example, thrown.examples)))
        for thrown in style.thrown_away
    )
    return Section(f"Thrown away of {style.style}", entries=entries, detail=Detail.DETAILS)


def _example(example: Example) -> Entry:
    """Return a question, and what was wrong with it; only that where there is no question."""
    said = [Entry(_excerpt(text)) for text in (example.question, example.detail) if text]
    return Entry(said[0].text, tuple(said[1:]))


def _excerpt(text: str) -> str:
    """Return a text in one line."""
    return textwrap.shorten(text, _LONGEST, placeholder=" …")
