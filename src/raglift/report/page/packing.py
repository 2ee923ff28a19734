"""The queries one by one as a page carries them: JSON, packed."""

from __future__ import annotations

import gzip
import json
import math
from typing import TYPE_CHECKING

from raglift.printable import encodable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.records import Passage
    from raglift.report.page.drill_down import DrillDown, QueryDetail, ShownHit, ShownMatch, ViewDetail

__all__ = ["packed"]

_DIGITS = 4
"""What is kept of a score or a value."""
_LEVEL = 6
"""Of gzip: 9 takes twice as long for half a percent."""


def packed(drill_down: DrillDown) -> bytes:
    """Return the queries as JSON, packed by gzip: many things as arrays, few as objects.

    A number that is not finite is null. A lone surrogate is U+FFFD, one for one, so that offsets hold.

    Args:
        drill_down: what to pack.
    """
    documents = {name: number for number, name in enumerate(_documents(drill_down))}
    content = {
        "views": [{"system": view.system, "stage": view.stage, "title": view.title} for view in drill_down.views],
        "systems": drill_down.systems,
        "left": drill_down.left,
        "right": drill_down.right,
        "metrics": drill_down.metrics,
        "primary": drill_down.primary,
        "k": drill_down.k,
        "match": drill_down.match,
        "notes": drill_down.notes,
        "documents": list(documents),
        "chunks": [
            (documents.get(chunk.document, -1), *chunk[1:5], *([chunk.skipped] if chunk.skipped else ()))
            for chunk in drill_down.chunks
        ],
        "queries": [_query(query) for query in drill_down.queries],
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(encodable(text).encode(), _LEVEL, mtime=0)


def _documents(drill_down: DrillDown) -> dict[str, None]:
    return dict.fromkeys(chunk.document for chunk in drill_down.chunks if chunk.document)


def _query(query: QueryDetail) -> Mapping[str, object]:
    return {
        "id": query.id,
        "text": query.text,
        "tags": query.tags,
        "answerable": query.answerable,
        "facts": [[_passage(passage) for passage in alternatives] for alternatives in query.facts],
        "fates": query.fates,
        "views": [_view(view) for view in query.views],
    }


def _passage(passage: Passage) -> Mapping[str, object]:
    content: dict[str, object] = {
        "document": passage.doc_id,
        "start": passage.start,
        "end": passage.end,
        "text": passage.text,
        "chunk_id": passage.chunk_id,
        "grade": passage.grade,
    }
    return content if passage.annotator is None else content | {"annotator": passage.annotator.name}


def _view(view: ViewDetail) -> Mapping[str, object]:
    content: dict[str, object] = {
        "hits": [_hit(hit) for hit in view.hits],
        "returned": view.returned,
        "values": [_number(value) for value in view.values],
        "facts": view.facts,
    }
    return content if view.error is None else content | {"error": view.error}


def _hit(hit: ShownHit) -> tuple[object, ...]:
    return hit.rank, hit.chunk, _number(hit.score), [_match(match) for match in hit.matches]


def _match(match: ShownMatch) -> tuple[object, ...]:
    flags = int(match.counts), int(match.satisfies)
    return match.fact, match.passage, match.direction, *flags, _number(match.covered), match.start, match.end


def _number(value: float | None) -> float | None:
    """Return a number that JSON has, with as many digits as anyone reads."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded
