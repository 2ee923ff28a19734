"""`evaluate()` and `rerank()`: a system is run over a dataset, or another reranker over a saved retrieval."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from raglift.adapters.adapt import adapt_reranker, adapt_system, all_chunks, named_stages
from raglift.adapters.stages import Policy
from raglift.base.tokens import TokenCounts
from raglift.errors import ConfigurationError, MetricFailed
from raglift.matching.match import inventory_of
from raglift.matching.provenance import Provenance
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import choose_metrics
from raglift.records.dataset import Dataset
from raglift.records.rankings import Cost, Run, StageInfo
from raglift.running.execution import is_batched, run_stages
from raglift.running.latency import CostMeter, OneAtATime
from raglift.running.notes import run_notes
from raglift.running.options import DEFAULT_KS, Config, Options, positive, spec_of
from raglift.running.scoring import checked_rule, evaluation_of, require_chunks, require_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.components.models import Dtype
    from raglift.records.metric import Metric, Tokens
    from raglift.records.rankings import Inventory
    from raglift.results.evaluation import Evaluation


# `rerank()`: another reranker on the saved retrieval of a run.


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
    counter = evaluation.match_table[0].counter if evaluation.match_table else TokenCounts()
    return evaluation_of(made, dataset, evaluation.scores.metrics, rule, evaluation.profile, counter)


def _index_alone(cost: Cost | None) -> Cost | None:
    """Return what the index cost: seconds of stages are those of another system."""
    return None if cost is None or cost.index is None else Cost(index=cost.index)


# `evaluate()`: one system over one dataset, every metric at every stage.


def evaluate(
    system: Any,
    dataset: Dataset,
    *,
    reranker: Any = None,
    ks: Sequence[int | Tokens | str] = DEFAULT_KS,
    candidates: int = 50,
    match: str | MatchRule = "containment",
    profile: str = "default",
    **options: Unpack[Options],
) -> Evaluation:
    """Measure a retrieval system, before and after reranking.

    Every query runs once; each stage's ranking is kept, matched to the labels, and scored.

    Args:
        system: a LangChain retriever, vector store or Runnable; a LlamaIndex retriever, query engine or index; a
            Haystack retriever or pipeline; a function from a query's text to results; the address of an HTTP
            service, or a `raglift.components.http.HttpRetriever`; or an object with `retrieve(queries, k)`. A
            composite (a `ContextualCompressionRetriever`, a query engine with postprocessors, a pipeline with a
            ranker) is opened into its stages. It is never changed: depths are set on copies.
        dataset: labelled queries, from `load_dataset` or `Dataset.from_dict`.
        reranker: "late-interaction" (embedded, needs no network), a cross-encoder's name or path, a `CrossEncoder`, a
            LangChain compressor, a LlamaIndex postprocessor, a Haystack ranker, a function, or a list of these.
        ks: the depths at which metrics are taken: numbers of hits, and budgets of context tokens as `tokens(2000)`
            (from `raglift.metrics`, or as a text), which make the prompts of different chunk sizes comparable.
        candidates: how many hits to retrieve for the rerankers; raised to the largest k.
        match: "containment" (one hit proves a fact), "coverage" (the hits together cover at least half of a passage:
            fair across chunk sizes), "fuzzy" (texts that were scanned or cleaned), or a `MatchRule` with a threshold.
        profile: whose metric conventions: "default", "tutorial", "autorag", "trec", "llamaindex" or "ragas".
        **options: see `Options`.

    Raises:
        ConfigurationError: an argument that cannot be used, or a system that no adapter knows.
        MissingDependency: tokens are to be counted, and tiktoken is not installed.
        ModelError: a model cannot be loaded.
        QueryFailed: a query failed and `on_error="raise"`.
        MetricFailed: a metric of your own failed; its `.evaluation` holds what was retrieved, scored by the others.
    """
    config = Config.of(options)
    _check_queries(dataset)
    metrics = choose_metrics(config.metrics, ks, dataset)
    require_encoding(metrics)
    rule = checked_rule(match, profile)
    depth = max(positive("candidates", candidates), *(metric.k or 0 for metric in metrics))
    timed = positive("latency", config.latency) if config.latency else 0
    policy = config.policy
    stages = named_stages(
        [
            *adapt_system(system, as_deployed=config.as_deployed, doc_key=config.doc_key),
            *adapt_reranker(reranker, as_deployed=config.as_deployed, dtype=config.dtype, progress=config.progress),
        ]
    )
    inventory = _inventory(system, dataset, config, rule)
    require_chunks(metrics, inventory)
    provenance = Provenance(dataset, config.doc_key)
    alone = OneAtATime(stages, depth, policy, Provenance(dataset, config.doc_key))
    meter = CostMeter(alone, dataset.queries, timed)
    meter.warm_up()
    traces = run_stages(stages, dataset.queries, depth, policy, provenance, watch=meter.watch)
    infos = tuple(StageInfo(s.name, s.system, s.depth_fixed, is_batched(s)) for s in stages)
    notes = run_notes(stages, provenance)
    batched = [info.name for info in infos if info.batched]
    if config.timeout is not None and batched:
        notes.append(f"{', '.join(batched)}: takes all queries at once, so the timeout of one query does not apply")
    run = Run(infos, traces, spec_of(dataset, config, depth), tuple(notes), inventory, meter.cost(traces))
    counter = TokenCounts(progress=config.progress)
    return _scored(metrics, lambda chosen: evaluation_of(run, dataset, chosen, rule, profile, counter))


def _scored(metrics: tuple[Metric, ...], score: Callable[[tuple[Metric, ...]], Evaluation]) -> Evaluation:
    """Score a run; where a metric of the user's fails, its error brings what was retrieved, scored by the others."""
    try:
        return score(metrics)
    except MetricFailed as error:
        others = tuple(metric for metric in metrics if metric.name != error.metric.name)
        try:
            error.evaluation = _scored(others, score)
        except MetricFailed as another:
            error.evaluation = another.evaluation
        raise


def _check_queries(dataset: Any) -> None:
    """Raise unless there are queries to ask."""
    if not isinstance(dataset, Dataset):
        raise ConfigurationError(
            f"dataset: found a {type(dataset).__name__}; expected a Dataset, from load_dataset() or Dataset.from_dict()"
        )
    if not dataset.queries:
        raise ConfigurationError(f"dataset: found no queries in {dataset.name!r}; expected at least one")


def _inventory(system: Any, dataset: Dataset, config: Config, rule: MatchRule) -> Inventory | None:
    """Return what is known of all chunks of the index; None when they are not known."""
    chunks = all_chunks(system, config.chunks, doc_key=config.doc_key)
    if chunks is None:
        return None
    provenance = Provenance(dataset, config.doc_key)
    checked = [provenance.check_chunk(chunk) for chunk in chunks]
    return inventory_of(dataset.queries, checked, dataset.documents, rule, progress=config.progress)
