"""The first screen of an evaluation: a few large figures, and what became of the facts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.analysis.outcomes import OUTCOMES, fact_outcomes
from raglift.analysis.paired_statistics import interval_of
from raglift.analysis.upper_bound import headroom
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Share, Tile
from raglift.report.format import (
    confidence_text,
    decimals_of,
    interval_in_words,
    level,
    number_text,
    outcome_text,
    p_equation,
    percent_text,
    verdict_emphasis,
)
from raglift.report.sentences import failure_analysis_depth
from raglift.report.views.parts import definition_of
from raglift.report.views.sessions import session_tiles
from raglift.stats.intervals import TIED
from raglift.types.metric import Metric
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.analysis.outcomes import FailureAnalysis
    from raglift.analysis.records import Lift, LiftRow
    from raglift.analysis.sessions import SessionAnalysis
    from raglift.results.evaluation import Evaluation


def evaluation_tiles(
    evaluation: Evaluation,
    lift: Lift | None,
    primary: Metric,
    confidence: float,
    searched: SessionAnalysis | None = None,
) -> tuple[Tile, ...]:
    """Return the figures of the first screen: right first, in the top k, the primary metric, and the facts found.

    A share of questions is shown where the hit rate at its depth was scored. Of sessions, the primary metric, and what
    was found, by how many calls, and kept.

    Args:
        evaluation: the evaluation.
        lift: what its reranker changed; None for a system of one stage.
        primary: the metric that decides.
        confidence: of the interval where there is no lift.
        searched: the session analysis; None for a system that is asked once.
    """
    if searched is not None:
        first = _primary_tile(evaluation, lift, primary, confidence)
        return (*([] if first is None else [first]), *session_tiles(searched))
    k = primary.k
    depths = dict.fromkeys(depth for depth in (1, k) if depth is not None)
    wanted = [metric for depth in depths if (metric := Metric("hit_rate", depth)) != primary]
    rates = [_rate_tile(evaluation, lift, metric) for metric in wanted if metric in evaluation.scores.metrics]
    facts = _facts_tile(evaluation, failure_analysis_depth(evaluation, primary))
    return tuple(
        tile for tile in (*rates, _primary_tile(evaluation, lift, primary, confidence), facts) if tile is not None
    )


def _rate_tile(evaluation: Evaluation, lift: Lift | None, metric: Metric) -> Tile | None:
    """Return the share of questions with a right passage among the first hits; None if no query counts."""
    share = evaluation.scores.mean(evaluation.after, metric)
    if math.isnan(share):
        return None
    first, questions = metric.k == 1, counted(evaluation.scores.n(evaluation.after, metric), "question")
    name = mean_title(metric)
    label = "Right passage first" if first else f"Right passage in the top {metric.k}"
    where = "the first hit matches" if first else f"one of the first {metric.k} hits matches"
    definition = f"{name}: the share of questions for which {where} a passage that answers the question."
    row = None if lift is None else lift.row(metric)
    change = emphasis = ""
    if row is not None and row.difference is not None and row.difference.n:
        points = round(100 * row.after) - round(100 * row.before)
        change = _moved(points, "" if points in (1, -1) else "s", f"{percent_text(row.before, 0)}")
        emphasis = _tested(row, lift.method.alpha) if lift is not None else ""
    return Tile(label, percent_text(share, 0), change, emphasis, f"of {questions}", definition)


def _moved(points: int, plural: str, before: str) -> str:
    if not points:
        return f"unchanged from {before}"
    return f"{'▲' if points > 0 else '▼'} {abs(points)} point{plural}, from {before}"


def _tested(row: LiftRow, alpha: float) -> str:
    """Return whether a metric that does not decide changed, as tables mark it."""
    found = row.difference
    if found is None or not found.n or found.p > alpha or abs(found.mean) <= TIED:
        return ""
    return "better" if found.mean > 0 else "worse"


def _primary_tile(evaluation: Evaluation, lift: Lift | None, primary: Metric, confidence: float) -> Tile | None:
    """Return the metric that decides, its interval or that of its change, and its ceiling; None without queries."""
    decimals, name = decimals_of(primary), mean_title(primary)
    row = None if lift is None else lift.row()
    ceiling = _ceiling(evaluation, primary)
    if row is not None and lift is not None and row.difference is not None and row.difference.n:
        found = row.difference
        sign = "▲ " if found.mean > TIED else "▼ " if found.mean < -TIED else ""
        change = f"{sign}{number_text(abs(found.mean), decimals)}, from {number_text(row.before, decimals)}"
        between = interval_in_words(found, level(lift.method), decimals, signs=True)
        note = "; ".join(filter(None, [between, p_equation(found.p), ceiling]))
        value = number_text(row.after, decimals)
        return Tile(name, value, change, verdict_emphasis(row.verdict), note, definition_of(primary))
    mean = evaluation.scores.mean(evaluation.after, primary)
    if math.isnan(mean):
        return None
    interval = interval_of(primary, evaluation.scores.of(evaluation.after, primary), confidence)
    between = interval_in_words(interval, confidence_text(confidence), decimals)
    note = "; ".join(filter(None, [between, ceiling]))
    return Tile(name, number_text(mean, decimals), "", "", note, definition_of(primary))


def _ceiling(evaluation: Evaluation, primary: Metric) -> str:
    """Return what a perfect reranker of the same candidates would reach; empty where that is not known."""
    if primary.name not in ("ndcg", "recall") or primary.parameters or primary.k is None:
        return ""
    if failure_analysis_depth(evaluation, primary) is None:
        return ""
    bound = headroom(evaluation, primary.k)
    most = bound.mean_ndcg if primary.name == "ndcg" else bound.mean_recall
    if math.isnan(most):
        return ""
    return f"a perfect reranker: {'' if bound.is_exact else '≤ '}{most:.3f}"


def _facts_tile(evaluation: Evaluation, k: int | None) -> Tile | None:
    """Return how many facts are found by rank k, before and after; None if no query is labelled."""
    outcomes = fact_outcomes(evaluation, k)
    facts = len(outcomes.query)
    if not facts:
        return None
    stages = evaluation.scores.stages
    before, after = (
        int(((ranks > 0) & (ranks <= outcomes.k)).sum())
        for ranks in (outcomes.ranks[stages.index(evaluation.before)], outcomes.ranks[-1])
    )
    change = ""
    if len(stages) > 1:
        sign = "▲" if after > before else "▼"
        change = f"{sign} {abs(after - before):,}, from {before:,}" if after != before else f"unchanged from {before:,}"
    note = f"{percent_text(after / facts, 0)} of all facts, in the top {outcomes.k}"
    definition = (
        f"A fact is one thing that an answer needs; a question may need several. It is found if the first {outcomes.k} "
        "hits hold a passage that states it."
    )
    return Tile("Facts found", f"{after:,} of {facts:,}", change, "", note, definition)


def shares_of(losses: FailureAnalysis) -> tuple[Share, ...]:
    """Return what became of the facts, those that are found first; nothing if there are none."""
    if not losses.facts:
        return ()
    words = {"found": "found", "missed": "not retrieved, or lost in chunking"}
    if [one.stage for one in losses.losses if one.outcome == "dropped" and one.facts] == ["rerank"]:
        words["dropped"] = "dropped by the reranker"
    found = [
        Share(words.get(one.outcome) or outcome_text(one, losses.k), one.facts, one.outcome)
        for one in losses.losses
        if one.facts
    ]
    return tuple(sorted(found, key=lambda share: OUTCOMES.index(share.outcome)))
