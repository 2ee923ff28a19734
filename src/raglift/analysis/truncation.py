"""How much of its chunks a system's models did not read to the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.types.rankings import Run


CUT = "✂"
"""Marks a system whose embedding model or reranker truncates some chunks."""
_LEAST_SHOWN = 0.001


@dataclass(frozen=True)
class Truncation:
    """What a system's models read in part; all 0 if they read everything, or if it is not known."""

    chunks: int = 0
    """How many distinct chunks the embedding model truncated."""
    of_chunks: int | None = None
    """How many distinct chunks the index holds; None if that is not known."""
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
        """The mark behind the system's name, `✂ 1.4%`; empty if nothing was truncated."""
        return truncation_mark(self.share) if self else ""


def truncation_of(evaluation: Evaluation) -> Truncation:
    """Return what the embedding model and the rerankers of a system read in part, as far as its run says."""
    run = evaluation.run
    index = None if run.cost is None else run.cost.index
    counted = None if index is None else index.read_in_part
    known = [stage.read_in_part for stage in run.stages if stage.read_in_part is not None]
    cut = [part for part in known if part.candidates]
    return Truncation(
        chunks=run.spec.get("sweep", {}).get("read_in_part", 0) if counted is None else counted,
        of_chunks=None if index is None else index.distinct_texts,
        candidates=sum(part.candidates for part in cut),
        of_candidates=sum(part.of for part in cut),
    )


def read_in_part_notes(run: Run) -> list[str]:
    """Say what embedding models and rerankers did not read to the end."""
    notes = []
    for stage in run.stages:
        for count, distinct in stage.chunks_read_in_part:
            notes.append(
                f"{count:,} of {counted(distinct, 'distinct chunk')} ({count / distinct:.0%}) {_are(count)} longer "
                "than the embedding model reads; the rest of their text is invisible to it"
            )
        found = stage.read_in_part
        if found is not None and found.candidates:
            notes.append(
                f"{stage.name}: {found.candidates:,} of {counted(found.of, 'candidate')} {_are(found.candidates)} "
                "longer than the reranker reads; the rest of their text is not scored"
            )
        if found is not None and found.queries:
            notes.append(
                f"{stage.name}: {counted(found.queries, 'question')} {_are(found.queries)} longer than the reranker "
                "reads; only the beginning was read"
            )
    return notes


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def marked(name: str, evaluation: Evaluation) -> str:
    """Return a system's name, with the share of truncated chunks behind it where there are any."""
    return " ".join(filter(None, [name, truncation_of(evaluation).mark]))


def truncation_mark(share: float | None) -> str:
    """Return the mark of a system of which this share was truncated; without a figure where it is not known."""
    if share is None:
        return CUT
    if share >= 1.0:
        return f"{CUT} 100%"
    return f"{CUT} <0.1%" if share < _LEAST_SHOWN else f"{CUT} {100 * share:.1f}%"
