"""The charts of an evaluation and of a comparison, as methods of their `plot`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.agents import compared_agents
from raglift.analysis.lift import comparison_by_tag, evaluation_by_tag
from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.paired_statistics import primary_of, scored
from raglift.analysis.sessions import session_analysis
from raglift.analysis.tradeoffs import tradeoff
from raglift.components.passage_search import PassageSearch
from raglift.errors import ConfigurationError
from raglift.report.charts.curves import by_prompt_size, over_k_of_comparison, over_k_of_evaluation, tradeoff_chart
from raglift.report.charts.estimates import differences_of_systems, means_of_stages, means_of_systems, tags_chart
from raglift.report.charts.lift import Changes, failure_chart, lift_chart
from raglift.report.charts.parts import of_labels
from raglift.report.charts.sessions import recall_after_calls, recall_after_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt

    from raglift.analysis.records import ComparisonRecord, EvaluationRecord
    from raglift.analysis.sessions import SessionAnalysisRecord
    from raglift.records.metric import Metric


@dataclass(frozen=True)
class EvaluationPlots:
    """Charts of one system: methods return altair charts, of which `save("x.png")` and `save("x.svg")` make files."""

    evaluation: EvaluationRecord
    """The evaluation."""

    def over_k(self, metric: Metric | str = "ndcg", ks: Sequence[int] | None = None) -> alt.LayerChart:
        """Return a metric over k, a line per stage; the line of a stage that returns no more hits ends there.

        Args:
            metric: a measure without a depth, as `"ndcg"`.
            ks: the depths; by default from 1 to the number of candidates.

        Raises:
            ConfigurationError: no such measure, or a depth that is not from 1 to the number of candidates.
        """
        return self._told(over_k_of_evaluation(self.evaluation, metric, ks))

    def recall_after_calls(self) -> alt.LayerChart:
        """Return recall of sessions after each call.

        Raises:
            ConfigurationError: not an evaluation of sessions, or no call was made.
        """
        return self._told(recall_after_calls({"": session_analysis(self.evaluation, PassageSearch)}))

    def recall_after_tokens(self) -> alt.LayerChart:
        """Return recall of sessions after so many tokens of hits.

        Raises:
            ConfigurationError: not an evaluation of sessions, or nothing was found.
        """
        return self._told(recall_after_tokens({"": session_analysis(self.evaluation, PassageSearch)}))

    def lift(self, metric: Metric | str | None = None) -> alt.LayerChart:
        """Return what reranking changed for each query, most gained first.

        Args:
            metric: what to look at; by default as in `reranker_lift`.

        Raises:
            ConfigurationError: a system of one stage, a metric that was not scored, or one without a fair pair.
        """
        one = self.evaluation
        if one.before == one.after:
            raise ConfigurationError(
                f"lift: found a system of one stage ({one.before}); expected one with a reranker, as "
                "evaluate(system, dataset, reranker='late-interaction')"
            )
        wanted = _wanted(metric, one)
        if one.is_beyond_candidates(one.after, wanted):
            raise ConfigurationError(
                f"lift: {wanted} before and after cannot be compared, because hits that were not candidates raise it; "
                "expected another metric, or a reranker that returns its candidates"
            )
        if not one.has_fair_lift(wanted):
            cut = [stage for stage in one.scores.stages if one.is_truncated(stage, wanted)]
            raise ConfigurationError(
                f"lift: {wanted} before and after cannot be compared, because {', '.join(cut)} returns no more "
                "hits, whatever is asked; expected a metric at a smaller depth"
            )
        before, after = one.scores.of(one.before, wanted), one.scores.of(one.after, wanted)
        return self._told(lift_chart(Changes(wanted, one.dataset.queries, before, after, (one.before, one.after))))

    def failure_analysis(self, k: int | None = None) -> alt.LayerChart:
        """Return where recall was lost, as a flow from all facts to those found.

        Args:
            k: the depth at which a fact counts as found; by default the deepest that was scored.

        Raises:
            ConfigurationError: k is not a depth of the run.
        """
        return self._told(failure_chart(failure_analysis(self.evaluation, k)))

    def intervals(self, *metrics: Metric | str) -> alt.LayerChart:
        """Return means with 95 % intervals, before and after reranking.

        Args:
            metrics: what to look at; by default all of quality at the usual depth.

        Raises:
            ConfigurationError: a metric that was not scored, or metrics that are not on one scale.
        """
        return self._told(means_of_stages(self.evaluation, metrics))

    def tags(self, metric: Metric | str | None = None, *, lift: bool = True) -> alt.LayerChart:
        """Return the queries of each tag: what reranking changed or, without a reranker, the means.

        Args:
            metric: what to look at; by default as for `lift`.
            lift: show changes where there are any; else means after the last stage.

        Raises:
            ConfigurationError: the metric was not scored.
        """
        return self._told(
            tags_chart(evaluation_by_tag(self.evaluation, _wanted(metric, self.evaluation)), {}, lift=lift)
        )

    def _told(self, chart: alt.LayerChart) -> alt.LayerChart:
        return of_labels(chart, self.evaluation.label_sources)


@dataclass(frozen=True)
class ComparisonPlots:
    """Charts of systems next to each other: methods return altair charts, of which `save("x.png")` makes a file."""

    comparison: ComparisonRecord
    """What was compared."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What to call systems in charts; by default their names."""

    def over_k(self, metric: Metric | str = "ndcg", ks: Sequence[int] | None = None) -> alt.LayerChart:
        """Return a metric over k, a line per system; where there are many, the best ones and the baseline.

        Args:
            metric: a measure without a depth, as `"ndcg"`.
            ks: the depths; by default from 1 to the fewest candidates of a system.

        Raises:
            ConfigurationError: no such measure, or a depth that some system does not have.
        """
        return self._told(over_k_of_comparison(self.comparison, metric, ks, self.names))

    def by_prompt_size(self) -> alt.LayerChart:
        """Return recall over how many tokens of hits are read, a line per system with its interval as a band.

        A line ends where half of its system's prompts have ended. Where there are many systems, the best ones and the
        baseline are shown.

        Raises:
            ConfigurationError: agents alone, or nothing came back.
        """
        return self._told(by_prompt_size(self.comparison, self.names))

    def recall_after_calls(self) -> alt.LayerChart:
        """Return recall after each call, a line for each agent.

        Raises:
            ConfigurationError: no system has sessions, or no call was made.
        """
        return self._told(recall_after_calls(self._agents(), self._baseline))

    def recall_after_tokens(self) -> alt.LayerChart:
        """Return recall after so many tokens of hits, a line for each agent.

        Raises:
            ConfigurationError: no system has sessions, or nothing was found.
        """
        return self._told(recall_after_tokens(self._agents(), self._baseline))

    @property
    def _baseline(self) -> str:
        return self.names.get(self.comparison.baseline, self.comparison.baseline)

    def _agents(self) -> dict[str, SessionAnalysisRecord]:
        """Return how each agent searched, by what to call it."""
        found = compared_agents(self.comparison, PassageSearch).analyses
        return {self.names.get(name, name): one for name, one in found.items()}

    def lift(self, system: str | None = None, metric: Metric | str | None = None) -> alt.LayerChart:
        """Return a system minus the baseline for each query, most gained first.

        Args:
            system: its name; by default the first that is not the baseline.
            metric: what to look at; by default the primary metric.

        Raises:
            ConfigurationError: no such system, a metric that was not compared, or one without a fair pair.
        """
        one = self.comparison
        wanted = scored(one.primary if metric is None else metric, one.metrics, "metric")
        name = one.others[0] if system is None else system
        if one.row(name, wanted).difference is None:
            raise ConfigurationError(
                f"lift: {name!r} and the baseline {one.baseline!r} cannot be compared in {wanted}; expected another "
                "system, and a depth that both return"
            )
        sides = (one.baseline, name)
        left, right = (one.evaluation(side).scores for side in sides)
        stages = one.stages
        values = [
            dict(zip(scores.query_ids, scores.of(stages[side], wanted).tolist(), strict=True))
            for scores, side in zip((left, right), sides, strict=True)
        ]
        queries = [one.evaluation(one.baseline).dataset.query_by_id[key] for key in one.query_ids]
        before, after = ([of_side[key] for key in one.query_ids] for of_side in values)
        called = (self.names.get(sides[0], sides[0]), self.names.get(sides[1], sides[1]))
        return self._told(lift_chart(Changes(wanted, queries, np.array(before), np.array(after), called)))

    def intervals(self, metric: Metric | str | None = None) -> alt.LayerChart:
        """Return each system's mean with its interval, best first; whether they differ is told by `differences`.

        Args:
            metric: what to look at; by default the primary metric.

        Raises:
            ConfigurationError: the metric was not compared.
        """
        return self._told(means_of_systems(self.comparison, metric, self.names))

    def differences(self, metric: Metric | str | None = None) -> alt.LayerChart:
        """Return each system minus the baseline, query by query, with its interval; hollow where not significant.

        Args:
            metric: what to look at; by default the primary metric.

        Raises:
            ConfigurationError: the metric was not compared, or no system has a fair pair.
        """
        return self._told(differences_of_systems(self.comparison, metric, self.names))

    def tradeoff(
        self,
        quality: Metric | str | None = None,
        cost: str = "latency_p50",
        *,
        known: Mapping[str, Mapping[str, float]] | None = None,
    ) -> alt.LayerChart:
        """Return quality against one cost, with a line through the systems that none beats in both.

        Args:
            quality: more is better; by default the primary metric.
            cost: less is better: one of those of `Comparison.pareto`.
            known: costs that you know, as `{"dollars": {"dense": 0.4, "bm25": 0}}`.

        Raises:
            ConfigurationError: a cost that does not exist, or that is known of no system.
        """
        return self._told(tradeoff_chart(tradeoff(self.comparison, quality, [cost], known=known), self.names))

    def tags(self, metric: Metric | str | None = None, *, lift: bool = True) -> alt.LayerChart:
        """Return the queries of each tag: each system minus the baseline, or its mean.

        Args:
            metric: what to look at; by default the primary metric.
            lift: show differences to the baseline; else means.

        Raises:
            ConfigurationError: the metric was not compared.
        """
        return self._told(tags_chart(comparison_by_tag(self.comparison, metric), self.names, lift=lift))

    def _told(self, chart: alt.LayerChart) -> alt.LayerChart:
        return of_labels(chart, self.comparison.label_sources)


def _wanted(metric: Metric | str | None, evaluation: EvaluationRecord) -> Metric:
    known = evaluation.scores.metrics
    return primary_of(None, known, evaluation.depth_limit) if metric is None else scored(metric, known, "metric")
