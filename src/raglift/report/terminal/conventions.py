"""One query's metrics under every profile, as plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from raglift.report import conventions
from raglift.report.format import labels_line
from raglift.report.terminal.rendering import WIDTH, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raglift.diagnosis.conventions import MetricsExplanationRecord
    from raglift.rendering.document import Part

__all__ = ["conventions_text"]


def conventions_text(found: MetricsExplanationRecord) -> str:
    """Return the query, its ranking, its values under each profile, why they differ, and the means of all queries."""
    return as_text(_parts(found), wrap=False).rstrip("\n")


def _parts(found: MetricsExplanationRecord) -> Iterator[Part]:
    yield f"{found.query.id}: {found.query.text}"
    yield f"stage {found.stage}, match by {found.match}"
    yield from _wrapped([*conventions.choice(found), *conventions.status(found)])
    yield from labels_line(found.label_sources)
    yield from _wrapped([*conventions.facts(found), *conventions.ranking(found)])
    values, means = conventions.values(found), conventions.means(found)
    if values.rows:
        yield from ("", values)
    yield from _wrapped(conventions.agreeing(found))
    for name, texts in conventions.differences(found):
        yield from ("", *_wrapped([name]), *_wrapped(texts, "  "))
    if found.queries > 1 and means.rows:
        yield from ("", means)
    if found.queries > 1:
        yield from _wrapped(conventions.sizes(found))
    yield from _wrapped(f"note: {note}" for note in found.notes)


def _wrapped(texts: Iterable[str], indent: str = "") -> Iterator[str]:
    """Yield texts in lines, those that continue one indented further."""
    for text in texts:
        yield from textwrap.wrap(
            text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False
        )
