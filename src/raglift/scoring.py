"""Every metric at every stage, or of rankings that are lists of ids, with the denominator fixed in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.matching import judge_ids
from raglift.metrics import MEASURES, compute, counts_tokens, mean_of, mean_title, parse, require_irrelevant
from raglift.records import Metric, Ranking
from raglift.result_records import Scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Dataset, Run

__all__ = ["RankingScores", "rankings_by_stage", "score", "score_rankings"]


def rankings_by_stage(run: Run) -> list[list[Ranking]]:
    """Return, for each stage, one ranking a query; empty where the query failed before the stage finished."""
    names = [stage.name for stage in run.stages]
    by_query = [{stage.stage: stage.ranking for stage in trace.stages} for trace in run.traces]
    return [[rankings.get(name, Ranking()) for rankings in by_query] for name in names]


def score(
    run: Run, dataset: Dataset, judgements: Sequence[Judgements], metrics: Sequence[Metric], profile: str
) -> Scores:
    """Compute every metric at every stage.

    A mean is over all labelled queries: one that failed or returned nothing counts 0; one without labels, or that the
    corpus does not answer, is NaN and left out.

    Args:
        run: what the system returned.
        dataset: its queries, in the order of the run's traces.
        judgements: for each stage, what matched.
        metrics: what to compute.
        profile: whose conventions to use.

    Raises:
        ConfigurationError: an unknown profile, or a metric without the depth it needs.
    """
    unlabelled = np.array([not query.is_labelled for query in dataset.queries], dtype=bool)
    failed = np.array([trace.error is not None for trace in run.traces], dtype=bool)
    values = np.full((len(judgements), len(metrics), len(dataset)), np.nan)
    for stage, judged in enumerate(judgements):
        for place, metric in enumerate(metrics):
            computed = compute(judged, metric, profile)
            # A profile may leave a query out because nothing came back; a failure counts 0 all the same.
            computed = np.where(failed & np.isnan(computed), 0.0, computed)
            values[stage, place] = np.where(unlabelled, np.nan, computed)
    return Scores(
        query_ids=tuple(query.id for query in dataset.queries),
        stages=tuple(stage.name for stage in run.stages),
        metrics=tuple(metrics),
        values=values,
    )


@dataclass(frozen=True, eq=False, repr=False)
class RankingScores:
    """Metric values of rankings that were given as lists of ids."""

    query_ids: tuple[str, ...]
    """The queries, in the order of the labels."""
    metrics: tuple[Metric, ...]
    """The metrics, in the order asked for."""
    values: NDArray[np.float64]
    """Shape (metrics, queries); NaN where a query is left out of the mean."""
    empty: int
    """Queries with labels whose ranking is missing or empty; they count 0."""
    unlabelled: int
    """Rankings of queries without a relevant id: they are left out."""

    def of(self, metric: Metric | str) -> NDArray[np.float64]:
        """Return one metric's values, one a query; NaN where the query is left out.

        Raises:
            ConfigurationError: the metric was not scored.
        """
        wanted = parse(str(metric))
        if wanted not in self.metrics:
            raise ConfigurationError(
                f"metric: found {wanted}, which was not scored; expected one of {', '.join(map(str, self.metrics))}"
            )
        values: NDArray[np.float64] = self.values[self.metrics.index(wanted)]
        return values

    def n(self, metric: Metric | str) -> int:
        """Return how many queries the mean is over."""
        return int(np.count_nonzero(~np.isnan(self.of(metric))))

    def mean(self, metric: Metric | str) -> float:
        """Return the mean over the queries that count, geometric where the measure's is; NaN when none does."""
        return mean_of(parse(str(metric)), self.of(metric))

    def to_frame(self) -> pd.DataFrame:
        """Return one row a query, and one column a metric."""
        import pandas as pd

        index = pd.Index(self.query_ids, name="query_id")
        return pd.DataFrame(self.values.T, index=index, columns=[str(metric) for metric in self.metrics])

    def __repr__(self) -> str:
        return f"RankingScores({len(self.metrics)} metrics, {len(self.query_ids):,} queries; print() shows the means)"

    def __str__(self) -> str:
        titles = [mean_title(metric) for metric in self.metrics]
        width = max(map(len, titles), default=0)
        lines = [
            f"{name:{width}}  {self.mean(metric):.4f}  n = {self.n(metric):,}"
            for name, metric in zip(titles, self.metrics, strict=True)
        ]
        if self.empty:
            lines.append(f"queries with labels whose ranking is missing or empty: {self.empty:,}")
        if self.unlabelled:
            lines.append(f"rankings of queries without labels, which are left out: {self.unlabelled:,}")
        return "\n".join(lines)


def score_rankings(
    rankings: Mapping[str, Sequence[str]],
    relevant: Mapping[str, Mapping[str, int] | Iterable[str]],
    metrics: Sequence[Metric | str] = ("hit_rate@10", "precision@10", "recall@10", "rr@10", "ap@10", "ndcg@10"),
    *,
    profile: str = "default",
) -> RankingScores:
    """Score rankings that are there already, as lists of the ids of chunks or documents.

    Each relevant id is one fact. The values are those of `evaluate` for chunk-id labels. A query with labels and
    without a ranking counts 0; a ranking of a query without labels is left out; both are counted.

        rl.score_rankings({"q1": ["c7", "c2"]}, {"q1": {"c2": 3, "c9": 1}}, ["ndcg@10", "mrr"]).mean("ndcg@10")

    Args:
        rankings: for each query id, the ids that came back, best first.
        relevant: for each query id, the relevant ids, or the grade of each: an integer; 0 is judged irrelevant, and
            less was in the pool and not judged, which only the measures of judged ids tell from it.
        metrics: what to compute, as "ndcg@10" or `NDCG @ 10`.
        profile: whose metric conventions: "default", "tutorial", "autorag", "trec", "llamaindex" or "ragas".

    Raises:
        DatasetError: an id that is not a text, a grade that is not an integer, no list where a ranking is wanted;
            every fault is listed.
        ConfigurationError: an unknown metric or profile, or a metric that ids are not enough for.
    """
    chosen = _metrics_of_ids(metrics)
    judged = judge_ids(rankings, relevant)
    require_irrelevant(chosen, says_irrelevant=bool(judged.judged_irrelevant.any()))
    labelled = np.bincount(judged.facts.query, minlength=judged.queries) > 0
    missing = np.array([query not in rankings for query in relevant], dtype=bool)
    values = np.full((len(chosen), judged.queries), np.nan)
    for place, metric in enumerate(chosen):
        # A profile may leave a query out because nothing came back; one that was not answered counts 0 all the same
        computed = np.where(missing, 0.0, compute(judged, metric, profile))
        values[place, labelled] = computed[labelled]
    scored = {query for query, has_labels in zip(relevant, labelled.tolist(), strict=True) if has_labels}
    return RankingScores(
        query_ids=tuple(relevant),
        metrics=chosen,
        values=values,
        empty=int(np.count_nonzero(labelled & (judged.hits == 0))),
        unlabelled=len(rankings.keys() - scored),
    )


def _metrics_of_ids(metrics: Sequence[Metric | str]) -> tuple[Metric, ...]:
    given = (metrics,) if isinstance(metrics, (str, Metric)) else metrics
    chosen = tuple(dict.fromkeys(parse(str(metric)) for metric in given))
    if not chosen:
        raise ConfigurationError("metrics: found none; expected at least one, as ['ndcg@10']")
    for metric in chosen:
        if MEASURES[metric.name].needs_text or counts_tokens(metric):
            raise ConfigurationError(
                f"{metric}: found ids alone; expected the texts of the hits, which evaluate() has, or another metric"
            )
    return chosen
