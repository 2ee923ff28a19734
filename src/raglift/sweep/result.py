"""The public result of a sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.analysis.factors import FactorEffects, effects_of_factors
from raglift.analysis.frames import evaluation_frame, per_query_frames
from raglift.analysis.recommendation import HeldOutCheck, Recommendation, recommendation
from raglift.errors import ConfigurationError
from raglift.rendering.presenting import Presentable, view_of
from raglift.results.comparison import Comparison, compare
from raglift.stats.margins import MARGIN
from raglift.sweep.charts import SweepPlots, short_names
from raglift.sweep.specification.cells import NO_RERANKER
from raglift.sweep.view import sweep_document, sweep_view
from raglift.types.labels import PEOPLE, LabelSources
from raglift.utilities.display import encodable

if TYPE_CHECKING:
    import pandas as pd

    from raglift.analysis.fairness import Fairness
    from raglift.results.evaluation import Evaluation
    from raglift.sweep.race_file import RaceRecord
    from raglift.sweep.records import CellResult
    from raglift.types.metric import Metric


FIGURES = ["metric", "mean", "mean_low", "mean_high", "n", "before", "lift", "beyond_candidates"]
"""The columns of `Evaluation.to_frame` that the frame of a sweep has too."""


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(Presentable):
    """Every cell of a sweep, measured or failed."""

    title: str
    """What was swept over."""
    primary: Metric
    """The metric by which cells are compared."""
    seed: int
    """Of what is drawn at random in comparisons."""
    results: tuple[CellResult, ...]
    """One a cell, in the order of the sweep."""
    folder: Path
    """Where it is kept."""
    fairness: Fairness | None = None
    """What was done because cells have different chunks; None where they do not."""
    margin: float = MARGIN
    """How far below another mean counts as equally good."""
    check: HeldOutCheck | None = None
    """The held-out check of the recommendation, if queries that are not in the cells were held out."""
    race: RaceRecord | None = None
    """How the cells were raced; None for a whole sweep. Then those that are left are measured over the queries that
    they were asked."""

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - {"compare_as", "compared", "mixed_models"})  # raglift's own

    @property
    def finished(self) -> tuple[CellResult, ...]:
        """The cells that were measured."""
        return tuple(result for result in self.results if result.evaluation is not None)

    @property
    def evaluations(self) -> dict[str, Evaluation]:
        """The evaluations of the cells that were measured, by the names of the cells."""
        return {entry.cell.name: entry.evaluation for entry in self.results if entry.evaluation is not None}

    @property
    def failed(self) -> tuple[CellResult, ...]:
        """The cells that failed."""
        return tuple(result for result in self.results if result.error is not None)

    @property
    def eliminated(self) -> tuple[CellResult, ...]:
        """The cells that a race eliminated, those that came the furthest first."""
        found = [(one, result) for result in self.results if (one := result.eliminated) is not None]
        return tuple(result for _, result in sorted(found, key=lambda each: (-each[0].asked, -each[0].mean)))

    @cached_property
    def ranked(self) -> tuple[CellResult, ...]:
        """The cells that were measured, best first by the primary metric; equal ones in the order of the sweep."""
        return tuple(sorted(self.finished, key=lambda result: _order(result.value(self.primary))))

    def best(self, *, without_truncation: bool = False) -> CellResult | None:
        """Return the cell with the highest mean of the primary metric, of equal ones the first; None if there is none.

        A cell that returns fewer hits than the metric looks at cannot be it: it cannot be compared with the others.

        Args:
            without_truncation: of the cells whose embedding model and reranker read all chunks whole.
        """
        known = (result for result in self.ranked if not math.isnan(result.value(self.primary)))
        known = (result for result in known if not without_truncation or not result.is_truncated)
        return next((result for result in known if not result.looks_too_deep(self.primary)), None)

    @property
    def label_sources(self) -> LabelSources:
        """Who gave the labels that its cells were measured by."""
        first = next(iter(self.evaluations.values()), None)
        return PEOPLE if first is None else first.dataset.label_sources

    @property
    def mixed_models(self) -> Mapping[str, tuple[str, ...]]:
        """The identities behind each name that was for more than one model, since it changed before a resume."""
        found: dict[str, dict[str, None]] = {}
        for result in self.finished:
            for name, identity in result.models.items():
                found.setdefault(name, {})[identity] = None
        return {name: tuple(identities) for name, identities in found.items() if len(identities) > 1}

    def evaluation(self, name: str) -> Evaluation:
        """Return the evaluation of a cell.

        Args:
            name: the cell's name, or its key.

        Raises:
            ConfigurationError: no cell has that name, or it failed.
        """
        for result in self.results:
            if name in (result.cell.name, result.cell.key):
                if result.evaluation is None:
                    raise ConfigurationError(f"{name}: failed: {result.error or 'not measured yet'}")
                return result.evaluation
        raise ConfigurationError(
            f"configuration: found {name!r}; expected one of {'; '.join(result.cell.name for result in self.results)}"
        )

    def compare(self, *, baseline: str | None = None) -> Comparison:
        """Compare the cells that were measured, with paired statistics: see `raglift.compare`.

        Args:
            baseline: the name or key of the cell that the others are compared with; by default as in
                `raglift.compare`: of two the first, else the only plain BM25, else the best.

        Raises:
            ConfigurationError: fewer than two cells were measured, or the baseline is none of them.
        """
        return self.compare_as({}, baseline=baseline)

    def compare_as(self, names: Mapping[str, str], *, baseline: str | None = None) -> Comparison:
        """Compare the cells as `compare` does, under other names.

        Args:
            names: what to call cells, by their names; others keep theirs.
            baseline: the name or key of the cell that the others are compared with.

        Raises:
            ConfigurationError: fewer than two cells were measured, or the baseline is none of them.
        """
        called = {entry.cell.name: names.get(entry.cell.name, entry.cell.name) for entry in self.finished}
        by_key = {entry.cell.key: called[entry.cell.name] for entry in self.finished}
        return compare(
            {called[name]: evaluation for name, evaluation in self.evaluations.items()},
            baseline=None if baseline is None else (called | by_key).get(baseline, baseline),
            primary=str(self.primary),
            seed=self.seed,
        )

    @cached_property
    def compared(self) -> Comparison | None:
        """All measured cells compared; None if they cannot be."""
        try:
            return self.compare()
        except ConfigurationError:  # fewer than two cells
            return None

    def recommend(
        self, *, known: Mapping[str, Mapping[str, float]] | None = None, margin: float | None = None
    ) -> Recommendation:
        """Return which cell to use: the cheapest that is shown to be within a margin of every other.

        Args:
            known: costs that you know, by name, then by the cell's name.
            margin: how far below another mean counts as equally good; by default the sweep's.

        Raises:
            ConfigurationError: fewer than two cells were measured; a margin below 0, or costs of no cell.
        """
        compared, allowed = self.compared or self.compare(), self.margin if margin is None else margin
        return recommendation(compared, known=known, margin=allowed, check=self.check)

    @property
    def recommended(self) -> str | None:
        """The name of the cell to use, or of the only one measured; None where there is none, or it is contradicted."""
        if len(self.finished) > 1:
            return self.recommend().recommended
        is_contradicted = self.check is not None and self.check.verdict == "contradicted"
        return self.finished[0].cell.name if self.finished and not is_contradicted else None

    def effects(self, *, confidence: float = 0.95) -> FactorEffects:
        """Return what each part does to the primary metric: its levels over matched cells.

        Each level of the chunkers, embedding models, retrievers, rerankers and systems is compared with the others over
        the cells that differ in it alone, query by query. All measured cells take part.

        Args:
            confidence: how often all intervals of a part hold together.

        Raises:
            ConfigurationError: no two measured cells differ in one part alone; or a race chose the cells, so that they
                say how good cells differ, and not what a part does.
        """
        if self.race is not None:
            raise ConfigurationError(
                "effects: found the configurations that a race left; expected a sweep without effort"
            )
        return effects_of_factors(
            self.evaluations,
            {entry.cell.name: entry.cell.to_dict() for entry in self.finished},
            self.primary,
            references={"reranker": NO_RERANKER},
            seed=self.seed,
            confidence=confidence,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cell and metric.

        Columns: `cell` and its parts (`system`, `chunker`, `embedding`, `retriever`, `reranker`); `read_in_part` and
        `candidates_read_in_part` (truncated chunks and candidates), `truncated_share`, `not_candidates` (hits that were
        not among the candidates), `error`; of a race also `eliminated` (why, or empty), `asked` (how many questions)
        and `mean_when_eliminated`; then `metric`, `mean`, `mean_low`, `mean_high`, `n`, `before`, `lift` and
        `beyond_candidates` as in `Evaluation.to_frame`, the last three missing for a cell without a reranker.
        """
        import pandas as pd

        rows: list[dict[str, object]] = []
        for result in self.results:
            parts = {"cell": result.cell.name, **dict.fromkeys(("system", "chunker", "embedding", "retriever"))}
            parts |= {"reranker": NO_RERANKER, **result.cell.to_dict()}
            error = None if result.error is None else encodable(result.error)  # pandas keeps texts as UTF-8
            parts |= {
                "read_in_part": result.read_in_part,
                "candidates_read_in_part": result.candidates_read_in_part,
                "truncated_share": result.truncation.share if result.is_truncated else 0.0,
                "not_candidates": result.not_candidates,
                "error": error,
            }
            if self.race is not None:
                one = result.eliminated
                parts |= {"eliminated": "", "asked": self.race.rungs[-1].queries} if one is None else {}
                parts |= {"eliminated": one.reason, "asked": one.asked, "mean_when_eliminated": one.mean} if one else {}
            if result.evaluation is None:
                rows.append(parts)
                continue
            frame = evaluation_frame(result.evaluation).reindex(columns=FIGURES)
            rows += [{**parts, **{str(name): value for name, value in row.items()}} for row in frame.to_dict("records")]
        return pd.DataFrame(rows)

    @property
    def plot(self) -> SweepPlots:
        """Its charts: `sweep.plot()` is the usual one; `.heatmap()`, `.differences()`, `.tradeoff()` and others.

        Raises:
            ConfigurationError: fewer than two cells were measured.
        """
        return SweepPlots(self.compared or self.compare(), short_names(self), result=self)

    def per_query(self) -> pd.DataFrame:
        """Return one row a measured cell, query, metric and stage, with the value and, for failures, the error."""
        return per_query_frames(self.evaluations, "cell")

    def report(self, path: str | Path, *, baseline: str | None = None, overwrite: bool = True) -> Path:
        """Write a page to look at: one HTML file that needs nothing else, with the queries of the cells that matter.

        Args:
            path: the file.
            baseline: the name or key of the cell that the others are compared with; by default as in `compare`.
            overwrite: replace a report that is already there; any other file is never replaced.

        Returns:
            The path.

        Raises:
            ConfigurationError: no cell is measured, the baseline is none of those compared, or a path that cannot be
                written.
            MissingDependency: a package that pages are made with is not installed.
        """
        from raglift.report.page.rendering import write_page

        return write_page(sweep_document(self, baseline=baseline), path, overwrite=overwrite)

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return (
            f"{type(self).__name__}({self.title!r}, {len(self.finished)} of {len(self.results)} configurations{failed})"
        )


view_of.register(SweepResult, sweep_view)


def _order(value: float) -> tuple[bool, float]:
    """Return what sorts means, highest first; what has none goes last."""
    return (True, 0.0) if math.isnan(value) else (False, -value)
