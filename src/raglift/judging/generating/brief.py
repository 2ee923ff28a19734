"""What came of writing questions, in short: for a notebook, or as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.judging.generating.records import REASONS
from raglift.judging.generating.terminal import SYNTHETIC_NOTE, head_line, passages_line, styles_table
from raglift.rendering.document import Document, Section, Table, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.judging.generating.records import GenerationRecord

__all__ = ["generation_brief"]


def generation_brief(generation: GenerationRecord) -> Document:
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
            Table("By reason", ("style", "reason", "what it means", "questions"), tuple(counts), words=(0, 1, 2)),
            Table("For example", ("style", "reason", "question", "detail"), tuple(examples), words=(0, 1, 2, 3)),
        ),
        folded=True,
    )
