"""The result of one cell of a sweep, as a plain record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raglift.analysis.comparison import looks_too_deep
from raglift.analysis.truncation import Truncation, truncation_of

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.sweep.race_file import Elimination
    from raglift.sweep.specification.cells import Cell
    from raglift.types.metric import Metric


@dataclass(frozen=True, eq=False)
class CellResult:
    """The outcome of one cell."""

    cell: Cell
    """The system."""
    evaluation: Evaluation | None = None
    """How it did; None if it failed, or was not come to."""
    error: str | None = None
    """Why it failed."""
    read_in_part: int = 0
    """How many distinct chunks exceed its embedding model's limit, and were truncated."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The identity of the model that each name in the cell was for when it was measured."""
    eliminated: Elimination | None = None
    """How far it came in a race that eliminated it; then it has no evaluation."""

    @property
    def candidates_read_in_part(self) -> int:
        """How many candidates its rerankers read in part, as far as known; one counts once for each of its queries."""
        stages = () if self.evaluation is None else self.evaluation.run.stages
        return sum(stage.read_in_part.candidates for stage in stages if stage.read_in_part is not None)

    @property
    def not_candidates(self) -> int:
        """How many hits of its rerankers were not among their candidates, had a changed text, or came once more."""
        stages = () if self.evaluation is None else self.evaluation.run.stages
        return sum(stage.changed_hits.not_candidates for stage in stages if stage.changed_hits is not None)

    @property
    def truncation(self) -> Truncation:
        """What its embedding model and its rerankers read in part."""
        found = Truncation() if self.evaluation is None else truncation_of(self.evaluation)
        return replace(found, chunks=self.read_in_part)

    @property
    def is_truncated(self) -> bool:
        """Whether its embedding model or a reranker truncated some chunks, so that it measures that as well."""
        return bool(self.truncation)

    def looks_too_deep(self, metric: Metric) -> bool:
        """Whether a metric looks deeper than the cell could return, so that it cannot be compared with others."""
        return self.evaluation is not None and looks_too_deep(self.evaluation, metric)

    def value(self, metric: Metric) -> float:
        """Return the mean of a metric after the last stage; NaN if the cell failed."""
        return float("nan") if self.evaluation is None else self.evaluation.scores.mean(self.evaluation.after, metric)
