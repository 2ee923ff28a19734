"""The charts of a sweep, as methods of its `plot`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.comparison.statistics import scored
from raglift.errors import ConfigurationError
from raglift.report.charts import ComparisonPlots
from raglift.report.charts.parts import of_labels
from raglift.sweep.heatmap import alike_of, heatmap_chart, varying
from raglift.sweep.specification.cells import NO_RERANKER, PARTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt

    from raglift.records import Metric
    from raglift.sweep.records import SweepResultRecord

__all__ = ["SweepPlots"]


@dataclass(frozen=True)
class SweepPlots:
    """Charts of a sweep: methods return altair charts, of which `save("x.png")` and `save("x.svg")` make files."""

    result: SweepResultRecord
    """What the sweep found."""

    def heatmap(
        self,
        metric: Metric | str | None = None,
        x: str = "chunker",
        y: str = "embedding",
        *,
        include_cut: bool = False,
    ) -> alt.LayerChart:
        """Return the cells' means as a map, a block for each combination of the other parts.

        ★ marks the best cell, ✂ those whose embedding model reads some chunks only in part, and – those that failed.

        Args:
            metric: what to look at, after the last stage; by default the primary metric.
            x: the part that differs from left to right: `chunker`, `embedding`, `retriever`, `reranker` or `system`.
            y: the part that differs from row to row.
            include_cut: ★ may also mark a cell whose embedding model reads some chunks only in part.

        Raises:
            ConfigurationError: no such part, twice the same, a metric that was not scored, or no finished cell.
        """
        wanted = self._wanted(metric)
        for name, part in (("x", x), ("y", y)):
            if part not in PARTS or x == y:
                raise ConfigurationError(f"{name}: found {part!r}; expected two different ones of {', '.join(PARTS)}")
        best = self.result.best(include_cut=include_cut) if wanted == self.result.primary else None
        return of_labels(heatmap_chart(self.result, wanted, x, y, best), self.result.label_sources)

    def intervals(self, metric: Metric | str | None = None, *, include_cut: bool = False) -> alt.LayerChart:
        """Return each cell's mean with its interval, best first.

        Args:
            metric: what to look at; by default the primary metric.
            include_cut: also show cells whose embedding model reads some chunks only in part.

        Raises:
            ConfigurationError: the metric was not scored, or fewer than two cells are left.
        """
        return self._compared(include_cut).intervals(metric)

    def differences(
        self, metric: Metric | str | None = None, *, baseline: str | None = None, include_cut: bool = False
    ) -> alt.LayerChart:
        """Return each cell minus the baseline, with its interval, best first; hollow where not told apart from it.

        Args:
            metric: what to look at; by default the primary metric.
            baseline: the name or key of a cell; by default the first measured.
            include_cut: also show cells whose embedding model reads some chunks only in part.

        Raises:
            ConfigurationError: the metric was not scored, no such cell, or fewer than two cells are left.
        """
        return self._compared(include_cut, baseline).differences(metric)

    def tradeoff(
        self,
        quality: Metric | str | None = None,
        cost: str = "latency_p50",
        *,
        known: Mapping[str, Mapping[str, float]] | None = None,
        include_cut: bool = False,
    ) -> alt.LayerChart:
        """Return quality against one cost, with a line through the cells that none beats in both.

        Args:
            quality: more is better; by default the primary metric.
            cost: less is better: one of those of `Comparison.pareto`.
            known: costs that you know, by name, then by the cell's name.
            include_cut: also show cells whose embedding model reads some chunks only in part.

        Raises:
            ConfigurationError: a cost that does not exist, or that is known of no cell; or fewer than two cells.
        """
        return self._compared(include_cut).tradeoff(quality, cost, known=known)

    def _wanted(self, metric: Metric | str | None) -> Metric:
        if not self.result.finished:
            raise ConfigurationError("heatmap: found no cell that was measured; expected at least one")
        known = [one.evaluation.scores.metrics for one in self.result.finished if one.evaluation is not None]
        return scored(self.result.primary if metric is None else metric, known[0], "metric")

    def _compared(self, include_cut: bool, baseline: str | None = None) -> ComparisonPlots:
        comparison = self.result.compare(baseline=baseline, include_cut=include_cut)
        return ComparisonPlots(comparison, short_names(self.result))


def short_names(result: SweepResultRecord) -> dict[str, str]:
    """Return what to call each measured cell: the parts in which they differ, without what is alike in all."""
    told = {one.cell.name: one.cell.to_dict() for one in result.finished}
    differing = varying(told.values())
    alike = {part: alike_of(parts[part] for parts in told.values() if part in parts) for part in differing}
    names = {
        name: " · ".join(
            parts[part][len(alike[part]) :] for part in differing if parts.get(part, NO_RERANKER) != NO_RERANKER
        )
        for name, parts in told.items()
    }
    counts = Counter(names.values())
    return {name: short if short and counts[short] == 1 else name for name, short in names.items()}
