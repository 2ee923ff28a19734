"""One query's metrics under every profile in short, for a discussion of two tools' numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.rendering.document import Document, Section
from raglift.report import conventions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.diagnosis.conventions import MetricsExplanationRecord

__all__ = ["conventions_brief"]


def conventions_brief(found: MetricsExplanationRecord) -> Document:
    """Return the query's values under each profile, why they differ, its ranking, and the means of all queries."""
    lead = [f"Stage {found.stage}, match by {found.match}.", *_sentences(conventions.choice(found))]
    return Document(
        title=f"{found.query.id}: {found.query.text}",
        lead=" ".join(lead),
        headline=conventions.values(found),
        measured=(),
        warnings=tuple(_sentences(conventions.status(found))),
        notes=(*_sentences(conventions.agreeing(found)), *found.notes),
        sections=tuple(_sections(found)),
        labels=str(found.label_sources) if found.label_sources.by_model else "",
    )


def _sections(found: MetricsExplanationRecord) -> Iterator[Section]:
    reasons = [line for name, texts in conventions.differences(found) for line in (f"{name}.", *texts)]
    if reasons:  # as paragraphs: the cells of a table are cut
        yield Section("Why they differ", tuple(reasons))
    ranking = [f"{line}." for line in (*conventions.facts(found), *conventions.ranking(found))]
    if ranking:
        yield Section("The ranking", tuple(ranking), folded=True)
    means = conventions.means(found)
    if found.queries > 1:
        yield Section("All queries", tuple(_sentences(conventions.sizes(found))), (means,))


def _sentences(texts: list[str]) -> Iterator[str]:
    """Yield texts as sentences."""
    yield from (f"{text[0].upper()}{text[1:]}." for text in texts)
