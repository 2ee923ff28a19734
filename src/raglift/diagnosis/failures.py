"""The queries that failed, by cause: an error without what is one query's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raglift.records import Run

__all__ = ["Failure", "failures_of"]

_DETAIL = " — "
"""What stands after it is of one query, in raglift's own errors."""
_TRIES = re.compile(r" \(tried \d+ times\)$")
_LONG_QUOTE = re.compile(r"'[^']{24,}'|\"[^\"]{24,}\"")
_NUMBER = re.compile(r"\b(?:0x[0-9a-fA-F]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d[\d.,]{2,}\d)\b")


@dataclass(frozen=True)
class Failure:
    """Queries that failed of one cause."""

    cause: str
    """What their errors have in common, with the stage: `retrieve: HTTP 500 Internal Server Error`."""
    query_ids: tuple[str, ...]
    """Which, in the order of the dataset."""
    first: str
    """The error of the first, in full."""


def failures_of(run: Run) -> tuple[Failure, ...]:
    """Return the causes of which queries failed, the commonest first; none where no query failed."""
    causes: dict[str, list[tuple[str, str]]] = {}
    for trace in run.traces:
        if trace.error is not None:
            causes.setdefault(_cause(trace.error), []).append((trace.query_id, trace.error))
    found = [
        Failure(cause, tuple(query_id for query_id, _ in failed), failed[0][1]) for cause, failed in causes.items()
    ]
    return tuple(sorted(found, key=lambda failure: -len(failure.query_ids)))


def _cause(error: str) -> str:
    """Return an error without what only this query's has: details, long quotations, numbers of four digits or more."""
    common = _TRIES.sub("", error.partition(_DETAIL)[0])
    return _NUMBER.sub("…", _LONG_QUOTE.sub("…", common))
