"""How much of its chunks a system's models did not read to the end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raglift.analysis.records import EvaluationRecord


CUT = "✂"
"""Marks a system whose embedding model or reranker truncates some chunks."""
_NOTE = re.compile(r"([\d,]+) distinct chunks? (?:is|are) longer than the embedding model reads")
"""What a run says of its index, where it is no cell of a sweep."""
_LEAST_SHOWN = 0.001


@dataclass(frozen=True)
class Truncation:
    """What a system's models read in part; all 0 where they read everything, or where it is not known."""

    chunks: int = 0
    """How many distinct chunks the embedding model truncated."""
    of_chunks: int | None = None
    """How many distinct chunks the index holds; None where that is not known."""
    candidates: int = 0
    """How many candidates the rerankers truncated; one counts once for each query that it is a candidate of."""
    of_candidates: int = 0
    """How many candidates these rerankers were given."""

    def __bool__(self) -> bool:
        """Whether anything was truncated."""
        return self.chunks > 0 or self.candidates > 0

    @property
    def share(self) -> float | None:
        """The share of chunks, or of candidates, that were truncated: the greater of both; None if it is not known."""
        shares = [self.chunks / self.of_chunks] if self.of_chunks else []
        shares += [self.candidates / self.of_candidates] if self.of_candidates else []
        return max(shares, default=None)

    @property
    def mark(self) -> str:
        """What stands behind the system's name, as `✂ 1.4 %`; empty where nothing was truncated."""
        return truncation_mark(self.share) if self else ""


def truncation_of(evaluation: EvaluationRecord) -> Truncation:
    """Return what the embedding model and the rerankers of a system read in part, as far as its run says."""
    run = evaluation.run
    index = None if run.cost is None else run.cost.index
    known = [stage.read_in_part for stage in run.stages if stage.read_in_part is not None]
    cut = [part for part in known if part.candidates]
    return Truncation(
        chunks=_chunks(evaluation),
        of_chunks=None if index is None else index.distinct_texts,
        candidates=sum(part.candidates for part in cut),
        of_candidates=sum(part.of for part in cut),
    )


def marked(name: str, evaluation: EvaluationRecord) -> str:
    """Return a system's name, with the share of truncated chunks behind it where there are any."""
    return " ".join(filter(None, [name, truncation_of(evaluation).mark]))


def _chunks(evaluation: EvaluationRecord) -> int:
    cell = evaluation.run.spec.get("sweep")
    if cell is not None:
        return int(cell.get("read_in_part", 0))
    found = [_NOTE.match(note) for note in evaluation.run.notes]
    return sum(int(match[1].replace(",", "")) for match in found if match is not None)


def truncation_mark(share: float | None) -> str:
    """Return the mark of a system of which this share was truncated; without a figure where it is not known."""
    if share is None:
        return CUT
    return f"{CUT} < 0.1 %" if share < _LEAST_SHOWN else f"{CUT} {100 * share:.1f} %"
