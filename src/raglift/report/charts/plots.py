"""The charts of an evaluation and of a comparison, as methods of their `plot`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.costs import tradeoff
from raglift.analysis.explanation import over_k as mean_by_depth
from raglift.analysis.paired_statistics import is_bounded, primary_of, scored
from raglift.analysis.prompt_curves import PromptCurve, prompt_curves
from raglift.analysis.sessions import SessionAnalysis, compared_agents, session_analysis
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.metrics.parsing import as_metric, parse
from raglift.metrics.prompt_measures import NAMED_BUDGETS
from raglift.metrics.registry import MEASURES
from raglift.report.charts.builders import (
    Axis,
    Difference,
    Line,
    changes_chart,
    differences_chart,
    lines_chart,
    tradeoff_chart,
)
from raglift.report.charts.parts import AFTER, BEFORE, PALETTE, of_labels, plain, quantity
from raglift.report.format import decimals_of, level, percent_text
from raglift.retrieval.passage_search import PassageSearch

if TYPE_CHECKING:
    import altair as alt

    from raglift.analysis.records import ComparisonRow
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric


def _offered(charts: EvaluationPlots | ComparisonPlots, *evaluations: Evaluation) -> list[str]:
    """Return what completion offers: charts alone, and those of sessions only if there are any."""
    hidden = () if any(one.run.has_sessions for one in evaluations) else ("recall_after_calls", "recall_after_tokens")
    return sorted({*dir(type(charts))} - {one.name for one in fields(charts)} - {*hidden})


@dataclass(frozen=True)
class EvaluationPlots:
    """Charts of one system: methods return altair charts, of which `save("x.png")` and `save("x.svg")` make files."""

    evaluation: Evaluation
    """The evaluation."""

    def __dir__(self) -> list[str]:
        return _offered(self, self.evaluation)

    def __call__(self, metric: Metric | str | None = None) -> alt.LayerChart:
        """Return a metric, by default the primary one, over k at each stage; of an agent recall after each call."""
        if metric is None and self.evaluation.run.has_sessions:
            return self.recall_after_calls()
        measure = replace(_wanted(None, self.evaluation) if metric is None else as_metric(metric), depth=None)
        return self.over_k(measure if metric is not None or "k" in MEASURES[measure.name].depths else "ndcg")

    def over_k(self, metric: Metric | str = "ndcg", ks: Sequence[int] | None = None) -> alt.LayerChart:
        """Return a metric over k, a line per stage; the line of a stage that returns no more hits ends there.

        Args:
            metric: a measure without a depth, as `"ndcg"`.
            ks: the depths; by default from 1 to the number of candidates, a thousand at most.

        Raises:
            ConfigurationError: no such measure, or a depth that is not from 1 to the number of candidates.
        """
        one, stages = self.evaluation, self.evaluation.scores.stages
        frame = mean_by_depth(one, _without_depth(metric), _depths(one) if ks is None else ks)
        colours = (AFTER,) if len(stages) == 1 else (BEFORE, *PALETTE[2 : len(stages)], AFTER)
        lines = [
            _over_k_line(stage, frame["k"], frame[stage], colour, one.truncated.get(stage))
            for stage, colour in zip(stages, colours, strict=True)
        ]
        return self._labelled(_over_k_chart(_without_depth(metric), frame["k"].tolist(), lines))

    def recall_after_calls(self) -> alt.LayerChart:
        """Return recall of sessions after each call.

        Raises:
            ConfigurationError: not an evaluation of sessions, or no call was made.
        """
        return self._labelled(session_chart({"": session_analysis(self.evaluation, PassageSearch)}, in_tokens=False))

    def recall_after_tokens(self) -> alt.LayerChart:
        """Return recall of sessions after so many tokens of hits.

        Raises:
            ConfigurationError: not an evaluation of sessions, or nothing was found.
        """
        return self._labelled(session_chart({"": session_analysis(self.evaluation, PassageSearch)}, in_tokens=True))

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
                "evaluate(system, dataset, reranker='cross-encoder')"
            )
        wanted = _wanted(metric, one)
        if not one.has_fair_lift(wanted):
            cut = ", ".join(stage for stage in one.scores.stages if one.is_truncated(stage, wanted))
            is_beyond = one.is_beyond_candidates(one.after, wanted)
            why = "hits that were not candidates raise it" if is_beyond else f"{cut} returns no more hits"
            raise ConfigurationError(
                f"lift: {wanted} before and after cannot be compared, because {why}; expected a metric "
                + ("that they do not raise" if is_beyond else "at a smaller depth")
            )
        before, after = one.scores.of(one.before, wanted), one.scores.of(one.after, wanted)
        return self._labelled(changes_chart(wanted, one.dataset.queries, before, after, (one.before, one.after)))

    def _labelled(self, chart: alt.LayerChart) -> alt.LayerChart:
        return of_labels(chart, self.evaluation.label_sources)


@dataclass(frozen=True)
class ComparisonPlots:
    """Charts of systems next to each other: methods return altair charts, of which `save("x.png")` makes a file."""

    comparison: Comparison
    """What was compared."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What to call systems in charts; by default their names."""

    def __dir__(self) -> list[str]:
        return _offered(self, *self.comparison.evaluations)

    def __call__(self, metric: Metric | str | None = None) -> alt.LayerChart:
        """Return each system minus the baseline; if chunks differ and no metric is named, recall by prompt size."""
        if metric is None and self.comparison.fairness is not None:
            return self.by_prompt_size()
        return self.differences(metric)

    def over_k(self, metric: Metric | str = "ndcg", ks: Sequence[int] | None = None) -> alt.LayerChart:
        """Return a metric over k, a line per system; where there are many, the best ones and the baseline.

        Args:
            metric: a measure without a depth, as `"ndcg"`.
            ks: the depths; by default from 1 to the fewest candidates of a system, a thousand at most.

        Raises:
            ConfigurationError: no such measure, or a depth that some system does not have.
        """
        one, measure = self.comparison, _without_depth(metric)
        depths = list(_depths(*one.evaluations) if ks is None else ks)
        evaluations = {name: one.evaluation(name) for name in one.names}
        means = {name: mean_by_depth(of_one, measure, depths)[of_one.after] for name, of_one in evaluations.items()}
        colours = self._drawn(one.names, {name: float(np.nan_to_num(line.mean())) for name, line in means.items()})
        cut = {name: of_one.truncated.get(of_one.after) for name, of_one in evaluations.items()}
        lines = [
            _over_k_line(self._name(name), depths, means[name], colour, cut[name]) for name, colour in colours.items()
        ]
        return self._labelled(_over_k_chart(measure, depths, lines, _some_of(colours, one.names)))

    def by_prompt_size(self) -> alt.LayerChart:
        """Return recall over how many tokens of hits are read, a line per system with its interval as a band.

        A line ends where half of its system's prompts have ended. Where there are many systems, the best ones and the
        baseline are shown.

        Raises:
            ConfigurationError: agents alone, or nothing came back.
        """
        curves = prompt_curves(self.comparison)
        if not curves:
            raise ConfigurationError("by_prompt_size: found no hits; expected a system that is asked once, with hits")
        shortest = min(curve.end for curve in curves.values())  # all have prompts of this length
        colours = self._drawn(curves, {name: curve.at(shortest).recall for name, curve in curves.items()})
        lines = []
        for name, colour in colours.items():
            points = [one for one in curves[name].points if one.tokens <= curves[name].end and one.recall == one.recall]
            band = [(one.tokens, one.interval.low, one.interval.high) for one in points if one.interval is not None]
            recalls = [(one.tokens, one.recall) for one in points]
            lines.append(Line(self._name(name), recalls, colour, band))
        last = max(curves[name].end for name in colours)
        said = [f"{plain(self._name(name))}: {_recall_at_sizes(curves[name])}" for name in colours]
        return self._labelled(
            lines_chart(
                lines,
                Axis("tokens of a prompt that are read", ",d", (0, last)),
                Axis("recall", ".2~f", (0, 1)),
                title="Recall by prompt size",
                subtitle=_some_of(colours, curves),
                description=f"Lines with bands: recall for prompts of 0 to {last:,} tokens. {'; '.join(said)}.",
            )
        )

    def recall_after_calls(self) -> alt.LayerChart:
        """Return recall after each call, a line for each agent.

        Raises:
            ConfigurationError: no system has sessions, or no call was made.
        """
        return self._labelled(session_chart(self._agents(), self._name(self.comparison.baseline), in_tokens=False))

    def recall_after_tokens(self) -> alt.LayerChart:
        """Return recall after so many tokens of hits, a line for each agent.

        Raises:
            ConfigurationError: no system has sessions, or nothing was found.
        """
        return self._labelled(session_chart(self._agents(), self._name(self.comparison.baseline), in_tokens=True))

    def _agents(self) -> dict[str, SessionAnalysis]:
        """Return how each agent searched, by what to call it."""
        found = compared_agents(self.comparison, PassageSearch).analyses
        return {self._name(name): one for name, one in found.items()}

    def differences(self, metric: Metric | str | None = None) -> alt.LayerChart:
        """Return each system minus the baseline, query by query, with its interval; hollow where not significant.

        Args:
            metric: what to look at; by default the primary metric.

        Raises:
            ConfigurationError: the metric was not compared, or no system has a fair pair.
        """
        one = self.comparison
        wanted = scored(one.primary if metric is None else metric, one.metrics, "metric")
        comparable = [(row, row.difference) for row in _best_first(one.of(wanted)) if row.difference is not None]
        if not comparable:
            raise ConfigurationError(
                f"differences: found no two systems that can be compared in {wanted}; expected a metric at a depth "
                "that every system returns"
            )
        title = mean_title(wanted)
        return self._labelled(
            differences_chart(
                [
                    Difference(self._name(row.system), change, str(row.verdict) * (row.verdict in ("better", "worse")))
                    for row, change in comparable
                ],
                wanted,
                axis_title=f"{title} minus the baseline's, {level(one.method)} intervals",
                title=f"{title} minus that of {plain(self._name(one.baseline))}",
                subtitle="filled: better or worse; hollow: not significant, too skewed to decide, or not tested",
            )
        )

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
        found = tradeoff(self.comparison, quality, [cost], known=known)
        if all(one.left_out is not None for one in found.systems):
            raise ConfigurationError(f"tradeoff: found no system to show: {'; '.join(found.notes)}")
        return self._labelled(tradeoff_chart(found, self.names))

    def _name(self, system: str) -> str:
        return self.names.get(system, system)

    def _drawn(self, systems: Iterable[str], height: Mapping[str, float]) -> dict[str, str]:
        """Return the systems that have a line, with its colour: the baseline and the highest of the others."""
        baseline, others = self.comparison.baseline, [name for name in systems if name != self.comparison.baseline]
        best = set(sorted(others, key=lambda name: -height[name])[: len(PALETTE) - 1])
        colours = iter(PALETTE)
        return {
            name: BEFORE if name == baseline else next(colours)
            for name in self.comparison.names
            if name in height and (name == baseline or name in best)
        }

    def _labelled(self, chart: alt.LayerChart) -> alt.LayerChart:
        return of_labels(chart, self.comparison.label_sources)


def _recall_at_sizes(curve: PromptCurve) -> str:
    """Return recall at the usual prompt sizes and at the end, as `0.512 at 500, 0.601 at 730`."""
    sizes = dict.fromkeys([*(size for size in NAMED_BUDGETS if size <= curve.end), curve.end])
    return ", ".join(f"{curve.at(size).recall:.3f} at {size:,}" for size in sizes)


def _some_of(colours: Mapping[str, str], systems: Sequence[str] | Mapping[str, object]) -> str:
    return "" if len(colours) == len(systems) else f"{len(colours)} of {len(systems)} systems"


# A metric over k.


_MOST_DEPTHS = 1_000
"""More points than a chart has columns of dots."""


def _depths(*evaluations: Evaluation) -> range:
    most = min(int(evaluation.run.spec["candidates"]) for evaluation in evaluations)
    return range(1, most + 1, -(-most // _MOST_DEPTHS))


def _without_depth(metric: Metric | str) -> Metric:
    measure = parse(str(metric))
    if "k" not in MEASURES[measure.name].depths:
        of_prompts = "; rl.compare(…).plot.by_prompt_size() draws recall by the tokens that are read"
        raise ConfigurationError(
            f"over_k: found {metric}, which is not of the first k hits; expected a measure that is, as 'recall'"
            + of_prompts * MEASURES[measure.name].needs_budget
        )
    if measure.depth is None:
        return measure
    raise ConfigurationError(f"over_k: found {metric}; expected a measure without a depth that takes one, as 'ndcg'")


def _over_k_line(name: str, ks: Iterable[int], means: Iterable[float], colour: str, most: int | None) -> Line:
    """Return a line that ends where a system returns no more hits than `most`."""
    points = [(int(k), float(mean)) for k, mean in zip(ks, means, strict=True) if not math.isnan(mean)]
    is_cut = most is not None
    return Line(f"{name} (returns at most {most})" if is_cut else name, points, colour, is_cut=is_cut)


def _over_k_chart(measure: Metric, ks: Sequence[int], lines: Sequence[Line], subtitle: str = "") -> alt.LayerChart:
    first, last, title = min(ks), max(ks), f"{mean_title(measure)}@k"
    step = next((step for step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500) if last / step <= 8), 1000)
    marks = [1, *(k for k in range(step, last + 1, step) if k > 1)]
    highest = max((mean for line in lines for _, mean in line.points), default=1.0)
    ends = "; ".join(
        f"{plain(line.name)} {line.points[0][1]:.3f} to {line.points[-1][1]:.3f}" for line in lines if line.points
    )
    return lines_chart(
        lines,
        Axis("k, how many hits count", "d", (min(1, first), last), marks),
        Axis(title, quantity(measure), (0, max(1.0, highest) if is_bounded(measure) else 1.05 * highest)),
        title=f"{title} over k",
        subtitle=subtitle,
        description=f"Lines: {title} for k from {first} to {last}: {ends}.",
        decimals=decimals_of(measure),
    )


# Recall of sessions.


_MOST_STEPS = 120
"""A line of more steps is drawn with some of them."""
_MANY_CALLS = 8


def session_chart(analyses: Mapping[str, SessionAnalysis], baseline: str = "", *, in_tokens: bool) -> alt.LayerChart:
    """Return recall of sessions after each call, or after so many tokens of hits: a line for each agent."""
    points = {name: session_points(one, in_tokens=in_tokens) for name, one in analyses.items()}
    last = max((of_one[-1][0] for of_one in points.values() if of_one), default=0)
    if not last or all(not one.facts for one in analyses.values()):
        raise ConfigurationError("plot: found no session that found anything; expected at least one, for a curve")
    colours = cycle(PALETTE)
    lines = []
    for name, of_one in points.items():
        every = max(1, math.ceil(len(of_one) / _MOST_STEPS))
        some = [(0, 0.0), *of_one[every - 1 :: every]]
        if (of_one and of_one[-1][0] < last) or len(of_one) % every:
            some.append((last, of_one[-1][1] if of_one else 0.0))
        lines.append(Line(name or "recall", some, BEFORE if name and name == baseline else next(colours)))
    calls = list(range(1, last + 1)) if not in_tokens and last <= _MANY_CALLS else None
    title = session_title(analyses, in_tokens=in_tokens)
    return lines_chart(
        lines,
        Axis("tokens read" if in_tokens else "searches made", ",d", (0, last), calls),
        Axis("recall", "%", (0, 1)),
        title=title,
        description=f"{title}. {_points_in_words(points, 'after tokens' if in_tokens else 'after search')}.",
        in_steps=True,
    )


def session_points(found: SessionAnalysis, *, in_tokens: bool) -> list[tuple[int, float]]:
    """Return recall after each call, or after so many tokens, as points of a line."""
    return list(found.recall_after_tokens) if in_tokens else list(enumerate(found.recall_after, start=1))


def session_title(analyses: Mapping[str, SessionAnalysis], *, in_tokens: bool) -> str:
    """Return the title of a chart of sessions."""
    if not in_tokens:
        return "Recall after each search"
    is_estimated = any(one.tokens_estimated for one in analyses.values())
    return f"Recall by tokens read{' (about four characters each)' if is_estimated else ''}"


_POINTS_IN_WORDS = 8


def _points_in_words(points: Mapping[str, Sequence[tuple[int, float]]], place_name: str) -> str:
    """Return a few points of each line: `agent: 50% after call 1, 100% after call 2`."""
    said = []
    for name, of_one in points.items():
        few = of_one
        if len(few) > _POINTS_IN_WORDS:
            few = [*few[:: math.ceil(len(few) / _POINTS_IN_WORDS)], few[-1]]
        values = ", ".join(f"{percent_text(share, 0)} {place_name} {place:,}" for place, share in few)
        said.append(f"{name}: {values or 'nothing found'}" if name else values or "nothing found")
    return "; ".join(said)


_MOST_SYSTEMS = 40


def _best_first(rows: Iterable[ComparisonRow]) -> list[ComparisonRow]:
    return sorted((row for row in rows if not math.isnan(row.mean)), key=lambda row: -row.mean)[:_MOST_SYSTEMS]


def _wanted(metric: Metric | str | None, evaluation: Evaluation) -> Metric:
    known = evaluation.scores.metrics
    return primary_of(None, known, evaluation.depth_limit) if metric is None else scored(metric, known, "metric")
