"""The records in the files of a saved evaluation: which fields each has, and what they hold.

`run.json` and its spec may have fields that are not listed here: what a later raglift adds is no damage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.store.kinds import (
    FLAG,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    Kind,
    count_from,
    list_of,
    object_of,
    or_null,
    perhaps,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ANNOTATOR",
    "CHUNK",
    "COST",
    "FACT",
    "HEAD",
    "INDEX_COST",
    "INVENTORY",
    "LATENCY",
    "PASSAGE",
    "QUERY",
    "RELABELLED",
    "SPEC",
    "STAGE",
    "STAGE_TRACE",
    "SWEEP_MARK",
    "TRACE",
]


def _are_four(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and all(map(INTEGER.fits, value))


_COUNT = count_from(0)
_LIST = Kind("a list", lambda value: isinstance(value, list))
_TEXTS = list_of(TEXT)
_SHORT = Kind("a text or a number", lambda value: TEXT.fits(value) or INTEGER.fits(value))

CHUNK: Mapping[str, Kind] = {
    "text": TEXT,
    "id": perhaps(TEXT),
    "doc_id": perhaps(or_null(TEXT)),
    "start": perhaps(or_null(INTEGER)),
    "end": perhaps(or_null(INTEGER)),
    "metadata": perhaps(OBJECT),
}
ANNOTATOR: Mapping[str, Kind] = {"model": TEXT, "prompt": TEXT, "date": TEXT}
PASSAGE: Mapping[str, Kind] = {
    "text": perhaps(or_null(TEXT)),
    "doc_id": perhaps(or_null(TEXT)),
    "start": perhaps(or_null(INTEGER)),
    "end": perhaps(or_null(INTEGER)),
    "chunk_id": perhaps(or_null(TEXT)),
    "grade": perhaps(count_from(0)),
    "annotator": perhaps(or_null(OBJECT)),
}
FACT: Mapping[str, Kind] = {"passages": list_of(OBJECT, at_least=1)}
QUERY: Mapping[str, Kind] = {
    "id": TEXT,
    "text": TEXT,
    "facts": perhaps(list_of(OBJECT)),
    "tags": perhaps(_TEXTS),
    "answerable": perhaps(FLAG),
    "judged_irrelevant": perhaps(list_of(OBJECT)),
    "annotator": perhaps(or_null(OBJECT)),
}
STAGE_TRACE: Mapping[str, Kind] = {"stage": TEXT, "seconds": NUMBER, "hits": _LIST}
TRACE: Mapping[str, Kind] = {"query_id": TEXT, "stages": list_of(OBJECT), "error": or_null(TEXT)}
STAGE: Mapping[str, Kind] = {
    "name": TEXT,
    "system": TEXT,
    "depth_fixed": perhaps(_TEXTS),
    "batched": perhaps(FLAG),
}
INVENTORY: Mapping[str, Kind] = {
    "chunks": _COUNT,
    "touching": list_of(INTEGER),
    "touches": list_of(Kind("four integers", _are_four)),
    "minimum_length": _COUNT,
    "unicode_folding": FLAG,
    "abutting": perhaps(FLAG),
}
LATENCY: Mapping[str, Kind] = {
    "stage": TEXT,
    "queries": _COUNT,
    "p50": NUMBER,
    "p95": NUMBER,
    "failed": perhaps(_COUNT),
}
INDEX_COST: Mapping[str, Kind] = {
    "chunks": _COUNT,
    "distinct_texts": _COUNT,
    "embedded_now": _COUNT,
    "seconds": or_null(NUMBER),
    "bytes": _COUNT,
}
COST: Mapping[str, Kind] = {
    "latencies": list_of(OBJECT),
    "whole": or_null(OBJECT),
    "index": or_null(OBJECT),
    "throughput": object_of(or_null(NUMBER)),
    "tokens_billed": or_null(_COUNT),
    "dollars": or_null(NUMBER),
}
HEAD: Mapping[str, Kind] = {
    "stages": list_of(OBJECT, at_least=1),
    "dataset": TEXT,
    "spec": OBJECT,
    "run_notes": _TEXTS,
    "profile": TEXT,
    "metrics": _TEXTS,
    "truncated": object_of(_COUNT),
    "truncated_tokens": perhaps(object_of(_COUNT)),
    "notes": _TEXTS,
    "inventory": perhaps(or_null(OBJECT)),
    "cost": perhaps(or_null(OBJECT)),
    "own_metrics": perhaps(object_of(OBJECT)),
}
SPEC: Mapping[str, Kind] = {
    "candidates": count_from(1),
    "match": OBJECT,
    "as_deployed": perhaps(FLAG),
    "profile": perhaps(TEXT),
    "ks": perhaps(list_of(count_from(1))),
    "dataset": perhaps(object_of(_SHORT)),
    "environment": perhaps(object_of(TEXT)),
    "relabelled": perhaps(OBJECT),
    "sweep": perhaps(OBJECT),
}
RELABELLED: Mapping[str, Kind] = {"dataset": object_of(_SHORT), "unlabelled": _COUNT, "ignored": _COUNT}
SWEEP_MARK: Mapping[str, Kind] = {
    "name": perhaps(TEXT),
    "read_in_part": perhaps(_COUNT),
    "models": perhaps(object_of(TEXT)),
}
