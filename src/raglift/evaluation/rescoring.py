"""`rescore()`: a run scored again, without asking the system again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.chunking.token_counts import TokenCounts
from raglift.errors import ConfigurationError
from raglift.evaluation.options import DEFAULT_KS
from raglift.evaluation.relabelled import relabelled
from raglift.evaluation.scored import checked_rule, evaluation_of, require_chunks, require_encoding
from raglift.matching import MatchRule
from raglift.metrics.choosing import DEFAULT_METRICS, choose_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Dataset, Metric, Query, Tokens
    from raglift.results import Evaluation

__all__ = ["rescore"]


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
            that only they have is ignored, and a note counts both. What is known of all chunks of the index was looked
            up for the old labels, so `loss` then says "not known".

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
    counter = evaluation.judgements[0].counter if evaluation.judgements else TokenCounts()
    return evaluation_of(run, dataset, chosen, rule, profile, counter)
