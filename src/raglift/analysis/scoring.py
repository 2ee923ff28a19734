"""Matching and scoring of a run: when it is made, again under another rule, and by more metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.notes import evaluation_notes
from raglift.analysis.repetitions import over_repetitions
from raglift.analysis.upper_bound import match_tables_of, rule_of
from raglift.matching.match import match_rankings, span_upper_bound_of
from raglift.matching.origins import candidates_alone, with_changed_hits
from raglift.metrics.budgets import context_totals
from raglift.metrics.computing import Scores, counts_tokens, rankings_by_stage, score
from raglift.metrics.registry import MEASURES
from raglift.metrics.session_prefixes import match_run
from raglift.stats.intervals import TIED
from raglift.text.tokens import EstimatedTokens, TokenCounts

if TYPE_CHECKING:
    from raglift.matching.matches import MatchTable
    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.metric import Metric
    from raglift.types.rankings import Ranking, Run


# A run, matched and scored.


def match_and_score(
    evaluation: Evaluation, metrics: tuple[Metric, ...], rule: MatchRule, counter: TokenCounts
) -> Evaluation:
    """Match and score the run of an evaluation, or do it again."""
    run, dataset, profile = evaluation.run, evaluation.dataset, evaluation.profile
    rankings = rankings_by_stage(run)
    wants_reach = any(MEASURES[metric.name].needs_chunks for metric in metrics)
    reach = (
        span_upper_bound_of(dataset.queries, run.inventory, rule) if run.inventory is not None and wants_reach else None
    )
    match_tables = match_run(run, rankings, dataset.queries, rule, reach=reach, counter=counter)
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
    scores = over_repetitions(run, dataset, scores, rule, profile, counter)
    found = replace(
        evaluation,
        run=run,
        scores=scores,
        truncated=truncated,
        match_table=tuple(match_tables),
        truncated_tokens=fewest_tokens(truncated, match_tables, run) if any(each.budget for each in metrics) else {},
        beyond_candidates=beyond,
    )
    cut = {metric.budget for metric in metrics if metric.budget is not None and not MEASURES[metric.name].needs_budget}
    return replace(found, remarks=tuple(evaluation_notes(found, sorted(cut))))


def scored_by(evaluation: Evaluation, rule: MatchRule, counter: TokenCounts) -> Evaluation:
    """Return an evaluation matched and scored by another rule, in all of its metrics that can be computed here.

    Args:
        evaluation: the evaluation.
        rule: what counts as a match.
        counter: counts tokens, if any metric needs them; one that estimates them leaves such metrics out.
    """
    run = evaluation.run
    counts = not isinstance(counter, EstimatedTokens)
    metrics = tuple(
        metric
        for metric in evaluation.scores.metrics
        if can_be_scored(metric, run) and (counts or not counts_tokens(metric))
    )
    return match_and_score(evaluation, metrics, rule, counter)


def can_be_scored(metric: Metric, run: Run) -> bool:
    """Whether a metric can be computed of a run here: it is installed, and the chunks are known where it needs them."""
    measure = MEASURES[metric.name]
    return measure.is_installed and (run.inventory is not None or not measure.needs_chunks)


def with_metrics(evaluation: Evaluation, metrics: Sequence[Metric], counter: TokenCounts | None = None) -> Evaluation:
    """Return an evaluation with further metrics, from what matched; those that it has already stay as they are.

    Args:
        evaluation: the evaluation.
        metrics: what to compute.
        counter: counts tokens; by default what the evaluation has counted them with.
    """
    more = tuple(metric for metric in metrics if metric not in evaluation.scores.metrics)
    if not more:
        return evaluation
    run, dataset, scores, profile = evaluation.run, evaluation.dataset, evaluation.scores, evaluation.profile
    tables = match_tables_of(evaluation)
    if counter is not None:
        tables = tuple(replace(table, counter=counter) for table in tables)
    first = score(run, dataset, tables, more, profile)
    added = over_repetitions(run, dataset, first, rule_of(evaluation), profile, tables[0].counter)
    together = replace(
        scores, metrics=(*scores.metrics, *more), values=np.concatenate((scores.values, added.values), axis=1)
    )
    fewest = evaluation.truncated_tokens
    if any(metric.budget is not None for metric in more) and not fewest:
        fewest = fewest_tokens(evaluation.truncated, tables, run)
    beyond = _beyond_candidates(run, dataset, tables[-1], first, rule_of(evaluation), profile)
    return replace(
        evaluation,
        scores=together,
        match_table=tables,
        truncated_tokens=fewest,
        beyond_candidates={**evaluation.beyond_candidates, **beyond},
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


# Stages that return no more than so many hits.


def cut_stages(run: Run, rankings: list[list[Ranking]]) -> dict[str, int]:
    """Return, for each stage that seems to cut, how many hits it returns at most.

    A retriever truncates when its depth is its own or could not be set, and it returned fewer hits than figures are
    asked for, and not all chunks. A later stage
    truncates when every query that lost hits came out at the same length and none came out longer: a top_n. One that
    drops hits by their content comes out at various lengths, or with nothing, and is scored as it is. Stages after a
    truncating reranker cannot return more either. In sessions no stage cuts: how much an agent asks for is its own
    doing, which is what is measured.
    """
    cut: dict[str, int] = {}
    if run.has_sessions:
        return cut
    lengths = [_lengths(run, rankings, number) for number in range(len(run.stages))]
    first = run.stages[0]
    most = max((after for _, after in lengths[0]), default=0)
    bounded = first.has_own_depth or bool(first.depth_fixed)
    has_all = run.inventory is not None and most >= run.inventory.chunks
    if bounded and 0 < most < int(run.spec["candidates"]) and not has_all:
        cut[first.name] = most
    asked = run.spec.get("k")  # of a system that takes the number of hits as an argument
    if asked is not None and asked < max(run.spec.get("ks") or (asked,)) and not has_all:
        cut[first.name] = min(most, asked)
    inherited: int | None = None
    for stage, pairs in zip(run.stages[1:], lengths[1:], strict=True):
        most = max((after for _, after in pairs), default=0)
        after_loss = {after for before, after in pairs if after < before}
        if after_loss == {most} and most > 0:
            inherited = most
        elif inherited is not None and most > inherited:  # a stage that adds hits
            inherited = None
        if inherited is not None:
            cut[stage.name] = min(most, inherited)
    return cut


def fewest_tokens(truncated: Mapping[str, int], match_tables: Sequence[MatchTable], run: Run) -> dict[str, int]:
    """Return, for each truncated stage, the fewest tokens of a labelled query's ranking that it cut."""
    fewest = {}
    was_cut = np.zeros(match_tables[0].queries, dtype=np.bool_)
    labelled = np.bincount(match_tables[0].facts.query, minlength=match_tables[0].queries) > 0
    for stage, judged in zip(run.stages, match_tables, strict=True):
        if stage.name in truncated:
            was_cut |= judged.hits >= truncated[stage.name]
            fewest[stage.name] = int(context_totals(judged)[was_cut & labelled].min(initial=np.iinfo(np.int64).max))
    return fewest


def _lengths(run: Run, rankings: list[list[Ranking]], number: int) -> list[tuple[int, int]]:
    """Return how many hits each query that finished a stage had before and after it."""
    before = rankings[max(number - 1, 0)]
    return [
        (len(before[place]), len(rankings[number][place]))
        for place, trace in enumerate(run.traces)
        if len(trace.stages) > number
    ]
