"""Scoring of a run when it is made, and again later by `rescore()`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.analysis.scoring import match_and_score
from raglift.errors import ConfigurationError, MetricFailed
from raglift.matching.match import inventory_of
from raglift.matching.provenance import Provenance
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import DEFAULT_METRICS, choose_metrics, counts_tokens, names_of
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.registry import MEASURES
from raglift.results.evaluation import Evaluation
from raglift.running.execution import every_query_failed
from raglift.running.notes import relabelled
from raglift.running.settings import DEFAULT_KS, Settings
from raglift.running.spec import named_in_spec
from raglift.text.tokens import DEFAULT_ENCODING, TokenCounts, load_encoding

if TYPE_CHECKING:
    from raglift.adapters.clearing import Clearing
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk
    from raglift.types.labels import Query
    from raglift.types.metric import Calls, Metric, Tokens
    from raglift.types.rankings import Inventory, Run


# A run, matched and scored.


def evaluation_of(
    run: Run, dataset: Dataset, metrics: tuple[Metric, ...], rule: MatchRule, profile: str, counter: TokenCounts
) -> Evaluation:
    """Match and score a run."""
    return match_and_score(Evaluation.unscored(run, dataset, profile), metrics, rule, counter)


def require_chunks(metrics: tuple[Metric, ...], inventory: Inventory | None) -> None:
    """Raise when a metric needs all chunks of the index and they are not known."""
    needing = [str(metric) for metric in metrics if MEASURES[metric.name].needs_chunks]
    if needing and inventory is None:
        raise ConfigurationError(
            f"{needing[0]}: found a system that does not list its chunks; expected evaluate(..., chunks=chunks)"
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


def scored_by(metrics: tuple[Metric, ...], score: Callable[[tuple[Metric, ...]], Evaluation]) -> Evaluation:
    """Score a run; where a metric of the user's fails, its error brings what was retrieved, scored by the others."""
    try:
        return score(metrics)
    except MetricFailed as error:
        others = tuple(metric for metric in metrics if metric.name != error.metric.name)
        try:
            error.evaluation = scored_by(others, score)
        except MetricFailed as another:
            error.evaluation = another.evaluation
        raise


def require_answers(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation in which at least one query was answered; a table of zeros says nothing of a system."""
    if failure := every_query_failed(evaluation.run.traces):
        failure.evaluation = evaluation
        raise failure
    return evaluation


def inventory_of_chunks(
    chunks: Sequence[Chunk] | None, clearing: Clearing, dataset: Dataset, config: Settings, rule: MatchRule
) -> Inventory | None:
    """Return what is known of all chunks of an index; None when they are not known."""
    if chunks is None:
        return None
    provenance = Provenance(dataset, config.doc_key)
    checked = tuple(provenance.check_all(map(clearing.chunk, chunks)))
    return inventory_of(dataset.queries, checked, dataset.documents, rule, progress=config.progress)


# `rescore()`: score a run again without running the system again.


def rescore(
    evaluation: Evaluation,
    *,
    metrics: Sequence[Metric | str] = DEFAULT_METRICS,
    ks: Sequence[int | Tokens | Calls | str] = DEFAULT_KS,
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
    spec = {key: value for key, value in run.spec.items() if key != "metrics"}
    run = replace(run, spec={**spec, **named_in_spec(names_of(metrics))})
    depth = int(evaluation.run.spec["candidates"])
    if run.has_sessions:  # agents ask for as much as they choose, and that is all there is
        depth = max([depth, *(metric.k or 0 for metric in chosen)])
        run = replace(run, spec={**run.spec, "candidates": depth})
    too_deep = [metric for metric in chosen if metric.k is not None and metric.k > depth]
    if too_deep:
        raise ConfigurationError(
            f"rescore: found {too_deep[0]}; expected a depth of at most {depth}, the number of candidates that the run "
            "asked for: evaluate again with more candidates"
        )
    require_chunks(chosen, run.inventory)
    require_encoding(chosen)
    profile = evaluation.profile if profile is None else profile
    rule = checked_rule(MatchRule(**evaluation.run.spec["match"]) if match is None else match, profile)
    counter = evaluation.match_table[0].counter if evaluation.match_table else TokenCounts()
    return evaluation_of(run, dataset, chosen, rule, profile, counter)
