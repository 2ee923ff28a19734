"""Matching and scoring of a run, when it is made or again later by `rescore()`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.base.tokens import DEFAULT_ENCODING, TokenCounts, load_encoding
from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings, span_upper_bound_of
from raglift.matching.origins import candidates_alone, with_changed_hits
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import DEFAULT_METRICS, choose_metrics, counts_tokens, rankings_by_stage, score
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.registry import MEASURES
from raglift.results.evaluation import Evaluation
from raglift.running.notes import cut_stages, evaluation_notes, fewest_tokens, relabelled
from raglift.running.options import DEFAULT_KS
from raglift.stats.intervals import TIED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.matching.matches import MatchTable
    from raglift.metrics.computing import Scores
    from raglift.records.dataset import Dataset
    from raglift.records.labels import Query
    from raglift.records.metric import Metric, Tokens
    from raglift.records.rankings import Inventory, Run


# A run, matched and scored.


_WITHOUT_ABUTTING = (
    "span_precision_omega: which chunks abut a passage without sharing a character with it was not kept when this run "
    "was measured, so they are not counted, as they are in Chroma's code; evaluate again to count them"
)


def evaluation_of(
    run: Run, dataset: Dataset, metrics: tuple[Metric, ...], rule: MatchRule, profile: str, counter: TokenCounts
) -> Evaluation:
    """Match and score a run.

    Args:
        run: what a system returned.
        dataset: what it was asked, with the labels.
        metrics: what to compute.
        rule: what counts as a match.
        profile: whose metric conventions.
        counter: counts tokens, each distinct text once.
    """
    rankings = rankings_by_stage(run)
    wants_reach = any(MEASURES[metric.name].needs_chunks for metric in metrics)
    reach = (
        span_upper_bound_of(dataset.queries, run.inventory, rule) if run.inventory is not None and wants_reach else None
    )
    match_tables = match_rankings(dataset.queries, rankings, rule, reach=reach, counter=counter)
    notes = []
    if reach is not None and run.inventory is not None and not run.inventory.abutting:
        notes.append(_WITHOUT_ABUTTING)
    budgets = sorted({metric.budget for metric in metrics if metric.budget is not None})
    scored = {
        "ks": sorted({metric.k for metric in metrics if metric.k is not None}),
        "budgets": [budget.most for budget in budgets],
        "match": asdict(rule),
        "profile": profile,
    }
    run = with_changed_hits(replace(run, spec={**run.spec, **scored}))
    truncated = cut_stages(run, rankings)
    scores = score(run, dataset, match_tables, metrics, profile)
    beyond = _beyond_candidates(run, dataset, match_tables[-1], scores, rule, profile)
    return Evaluation(
        run=run,
        dataset=dataset,
        scores=scores,
        profile=profile,
        truncated=truncated,
        notes=(*evaluation_notes(run, dataset, match_tables, truncated, budgets, beyond), *notes),
        match_table=tuple(match_tables),
        truncated_tokens=fewest_tokens(truncated, match_tables, run) if budgets else {},
        beyond_candidates=beyond,
    )


def _beyond_candidates(
    run: Run, dataset: Dataset, last: MatchTable, scores: Scores, rule: MatchRule, profile: str
) -> dict[str, int]:
    """Return for how many queries each metric after the last stage is higher than the candidates alone make it.

    The last stage is scored once more with what was retrieved in the place of each of its hits (`candidates_alone`).
    """
    if not any(stage.changed_hits is not None and stage.changed_hits.not_candidates for stage in run.stages):
        return {}
    (alone,) = match_rankings(dataset.queries, [candidates_alone(run)], rule, reach=last.reach, counter=last.counter)
    alone = replace(alone, rankings=last.rankings)  # so that budgets end where they ended
    judged = [metric for metric in scores.metrics if not MEASURES[metric.name].is_neutral]
    earned = score(replace(run, stages=run.stages[-1:]), dataset, [alone], judged, profile)
    beyond = {}
    for metric, values in zip(judged, earned.values[0], strict=True):
        queries = int(np.count_nonzero(scores.of(run.stages[-1].name, metric) > values + TIED))
        if queries:
            beyond[str(metric)] = queries
    return beyond


def require_chunks(metrics: tuple[Metric, ...], inventory: Inventory | None) -> None:
    """Raise when a metric needs all chunks of the index and they are not known."""
    wanted = [str(metric) for metric in metrics if MEASURES[metric.name].needs_chunks]
    if wanted and inventory is None:
        raise ConfigurationError(
            f"{wanted[0]}: found a system that does not tell its chunks; expected them, as evaluate(..., chunks=chunks)"
        )


def require_encoding(metrics: tuple[Metric, ...]) -> None:
    """Raise when a metric needs tokens counted and they cannot be, before the system is asked anything."""
    if any(counts_tokens(metric) for metric in metrics):
        load_encoding(DEFAULT_ENCODING)


def checked_rule(match: str | MatchRule, profile: str) -> MatchRule:
    """Return what counts as a match.

    Raises:
        ConfigurationError: an unknown profile or mode.
    """
    if profile not in PROFILES:
        raise ConfigurationError(f"profile: found {profile!r}; expected one of {', '.join(map(repr, PROFILES))}")
    return match if isinstance(match, MatchRule) else MatchRule.for_profile(profile, match)


# `rescore()`: score a run again without running the system again.


def rescore(
    evaluation: Evaluation,
    *,
    metrics: Sequence[Metric | str] = DEFAULT_METRICS,
    ks: Sequence[int | Tokens | str] = DEFAULT_KS,
    match: str | MatchRule | None = None,
    profile: str | None = None,
    labels: Dataset | Sequence[Query] | None = None,
) -> Evaluation:
    """Score a run again with other metrics, depths, match rule, profile or labels, without asking the system again.

    Args:
        evaluation: from `evaluate` or `load_evaluation`.
        metrics: measures to take.
        ks: the depths at which they are taken, as in `evaluate`; no number of hits may be more than the run's
            candidates.
        match: "containment", "coverage", "fuzzy", or a `MatchRule`; by default as the evaluation was matched.
        profile: whose metric conventions: "default", "tutorial", "autorag", "trec", "llamaindex" or "ragas"; by
            default the evaluation's own.
        labels: other labels of the same queries, by id and text. A query of the run that they lack is unlabelled, one
            that only they have is ignored, and a note counts both. The chunks that overlap passages were looked up for
            the old labels, so `failure_analysis` then says "not known".

    Raises:
        ConfigurationError: an argument that cannot be used; labels of other queries.
        MissingDependency: tokens are to be counted, and tiktoken is not installed.
    """
    run, dataset = evaluation.run, evaluation.dataset
    if labels is not None:
        run, dataset = relabelled(run, dataset, labels)
    chosen = choose_metrics(metrics, ks, dataset)
    asked = int(evaluation.run.spec["candidates"])
    too_deep = [metric for metric in chosen if metric.k is not None and metric.k > asked]
    if too_deep:
        raise ConfigurationError(
            f"rescore: found {too_deep[0]}; expected a depth of at most {asked}, the number of candidates that the run "
            "asked for: evaluate again with more candidates"
        )
    require_chunks(chosen, run.inventory)
    require_encoding(chosen)
    profile = evaluation.profile if profile is None else profile
    rule = checked_rule(MatchRule(**evaluation.run.spec["match"]) if match is None else match, profile)
    counter = evaluation.match_table[0].counter if evaluation.match_table else TokenCounts()
    return evaluation_of(run, dataset, chosen, rule, profile, counter)
