"""`rerank()`: another reranker over a run whose retrieval is already known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.chunking.token_counts import TokenCounts
from raglift.errors import ConfigurationError
from raglift.evaluation.notes import run_notes
from raglift.evaluation.scored import evaluation_of
from raglift.execution import Policy, run_stages
from raglift.execution.traces import is_batched
from raglift.integrations.adapt import adapt_reranker, named_stages
from raglift.matching import MatchRule, Provenance
from raglift.records import Cost, Run, StageInfo

if TYPE_CHECKING:
    from raglift.models import Dtype
    from raglift.results import Evaluation

__all__ = ["rerank"]


def rerank(
    evaluation: Evaluation,
    reranker: Any,
    *,
    policy: Policy | None = None,
    dtype: Dtype = "auto",
) -> Evaluation:
    """Put the last rankings of an evaluation through one more reranker, without retrieving again.

    What comes back is what `evaluate(system, dataset, reranker=reranker)` gives, as long as the system still answers as
    it did: the same metrics, match rule and profile.

    Args:
        evaluation: from `evaluate` or `load_evaluation`.
        reranker: as for `evaluate`.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        dtype: what a reranker given by name computes in.

    Raises:
        ConfigurationError: there is no reranker.
        UnsupportedSystem: an object that no adapter knows.
        ModelError: a model cannot be loaded.
    """
    run, dataset = evaluation.run, evaluation.dataset
    policy = Policy() if policy is None else policy
    as_deployed = bool(run.spec["as_deployed"])
    given = adapt_reranker(reranker, as_deployed=as_deployed, dtype=dtype, progress=policy.progress)
    if not given:
        raise ConfigurationError(f"reranker: found {reranker!r}; expected one, as 'late-interaction'")
    taken = [replace(given[0], name=info.name) for info in run.stages]  # only their names count
    stages = named_stages([*taken, *given])[len(taken) :]
    # Chunks were checked when they were retrieved, and rerankers return the chunks that they are given
    provenance = Provenance(replace(dataset, documents=()))
    traces = run_stages(stages, dataset.queries, run.spec["candidates"], policy, provenance, after=run.traces)
    infos = tuple(StageInfo(s.name, s.system, s.depth_fixed, is_batched(s)) for s in stages)
    notes = (*run.notes, *run_notes(stages, provenance))
    made = Run((*run.stages, *infos), traces, run.spec, notes, run.inventory, _index_alone(run.cost))
    rule = MatchRule(**run.spec["match"])
    counter = evaluation.judgements[0].counter if evaluation.judgements else TokenCounts()
    return evaluation_of(made, dataset, evaluation.scores.metrics, rule, evaluation.profile, counter)


def _index_alone(cost: Cost | None) -> Cost | None:
    """Return what the index cost: seconds of stages are those of another system."""
    return None if cost is None or cost.index is None else Cost(index=cost.index)
