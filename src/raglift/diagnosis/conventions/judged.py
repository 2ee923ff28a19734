"""What a stage matched, under each profile: by the rule of the run, but for what belongs to the profile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.diagnosis.rejudged import rule_of
from raglift.matching import MatchRule, judge, reach_of
from raglift.metrics import MEASURES, PROFILES
from raglift.scoring import rankings_by_stage, score

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Metric
    from raglift.result_records import EvaluationRecord

__all__ = ["judged_by_profile", "rule_for", "values_under"]


def rule_for(evaluation: EvaluationRecord, profile: str) -> MatchRule:
    """Return by what rule a profile would have matched the run's hits.

    That is the run's own rule, but for the length guard where the two profiles' differ: a length that the user set is
    kept under every profile that has the guard of the run's.
    """
    rule, own, theirs = rule_of(evaluation), *map(MatchRule.for_profile, (evaluation.profile, profile))
    if own.minimum_length == theirs.minimum_length:
        return rule
    return replace(rule, minimum_length=theirs.minimum_length)


def judged_by_profile(evaluation: EvaluationRecord, stage: str, metrics: Iterable[Metric]) -> dict[str, Judgements]:
    """Return what one stage matched under each profile; profiles of one rule share it.

    Args:
        evaluation: what was measured.
        stage: one of its stages.
        metrics: what will be computed: what the chunks allow is looked up only where one of them asks for it.
    """
    queries, inventory = evaluation.dataset.queries, evaluation.run.inventory
    place = evaluation.scores.stages.index(stage)
    wants_reach = inventory is not None and any(MEASURES[metric.name].needs_chunks for metric in metrics)
    known = evaluation.judgements[place] if evaluation.judgements else None
    by_rule: dict[MatchRule, Judgements] = {}
    if known is not None and (known.reach is not None or not wants_reach):
        by_rule[rule_of(evaluation)] = known
    counter = None if known is None else known.counter
    for rule in [rule_for(evaluation, profile) for profile in PROFILES]:
        if rule not in by_rule:
            reach = reach_of(queries, inventory, rule) if wants_reach and inventory is not None else None
            rankings = rankings_by_stage(evaluation.run)[place]
            (by_rule[rule],) = judge(queries, [rankings], rule, reach=reach, counter=counter)
            counter = by_rule[rule].counter
    return {profile: by_rule[rule_for(evaluation, profile)] for profile in PROFILES}


def values_under(
    evaluation: EvaluationRecord, stage: str, judged: Judgements, metrics: Sequence[Metric], profile: str
) -> NDArray[np.float64]:
    """Return an array of shape (metrics, queries), as `score` makes it; NaN where a query is left out of the mean."""
    info = next(info for info in evaluation.run.stages if info.name == stage)
    alone = replace(evaluation.run, stages=(info,))
    values: NDArray[np.float64] = score(alone, evaluation.dataset, [judged], metrics, profile).values[0]
    return values
