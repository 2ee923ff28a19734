"""`evaluate()` and `rerank()`: a system is run over a dataset, or another reranker over a saved retrieval."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.adapt import adapt_reranker, adapt_system, all_chunks, named_stages
from raglift.adapters.policy import Policy
from raglift.adapters.stages import RerankStage, Stage, clearing_of
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError
from raglift.matching.provenance import Provenance
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import choose_metrics, counts_tokens
from raglift.retrieval.batches import BATCH_SIZE
from raglift.running.agents import agent_of, check_agent, check_asked_once, evaluate_agent
from raglift.running.answers import KeptAnswers, keeping_answers
from raglift.running.execution import run_stages
from raglift.running.filling import Prompt, unfilled_note, without_filling
from raglift.running.notes import run_notes, usual_depths
from raglift.running.passes import RERANKED, Depths, Measurement, say_what_models_do_not_know, stage_infos
from raglift.running.scoring import (
    checked_rule,
    evaluation_of,
    inventory_of_chunks,
    require_answers,
    require_chunks,
    require_encoding,
    scored_by,
)
from raglift.running.settings import DEFAULT_KS, Settings, with_settings
from raglift.running.systems import opened
from raglift.text.tokens import EstimatedTokens, TokenCounts, is_encoding_available
from raglift.types.dataset import Dataset
from raglift.types.metric import Tokens
from raglift.types.rankings import Cost, Run

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.retrieval.devices import Dtype


_OF_PROMPTS = ("recall_area", "prompt_recall")
"""The metrics that are taken of a prompt."""


# `rerank()`: another reranker on the saved retrieval of a run.


def rerank(
    evaluation: Evaluation,
    reranker: Any,
    *,
    policy: Policy | None = None,
    dtype: Dtype = "auto",
    device: str = "auto",
    batch_size: int = BATCH_SIZE,
) -> Evaluation:
    """Put the last rankings of an evaluation through one more reranker, without retrieving again.

    It reranks the hits that the run holds: evaluate with `depth="deep"` first, or with a reranker, to have candidates
    beyond those that the deployed system returns. Hits that fill a prompt behind the candidates (`budget=`) are not
    reranked. The metrics, match rule and profile stay the same.

    Args:
        evaluation: from `evaluate` or `load_evaluation`.
        reranker: as for `evaluate`.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        dtype: what a reranker given by name computes in.
        device: where it computes.
        batch_size: how many texts a batch of it may have.

    Raises:
        ConfigurationError: there is no reranker or no such device, or the evaluation is of an agent, which has read its
            hits already.
        UnsupportedSystem: an object that no adapter knows.
        ModelError: a model cannot be loaded.
        QueryFailed: a query failed and the policy says `raise`; or every query failed, as in `evaluate`.
    """
    run, dataset = evaluation.run, evaluation.dataset
    if run.has_sessions:
        raise ConfigurationError(
            "rerank: found an evaluation of sessions, whose agent has read its hits already; expected one of a system "
            "that is asked once: put the reranker into the agent's tool, and evaluate again"
        )
    policy = Policy() if policy is None else policy
    keeps = run.spec.get("depth", "deep") == "deployed"
    rerankers = adapt_reranker(
        reranker,
        as_deployed=keeps,
        dtype=dtype,
        device=device,
        batch_size=batch_size,
        progress=policy.progress,
    )
    if not rerankers:
        raise ConfigurationError(f"reranker: found {reranker!r}; expected one, such as 'cross-encoder'")
    names = [replace(rerankers[0], name=info.name) for info in run.stages]  # only their names count
    stages = named_stages([*names, *rerankers])[len(names) :]
    # Chunks were checked when they were retrieved, and rerankers return the chunks that they are given
    provenance = Provenance(replace(dataset, documents=()))
    depth = run.spec["candidates"]
    retrieved = tuple(without_filling(run))
    traces = run_stages(stages, dataset.queries, depth, policy, provenance, after=retrieved)
    # Lost before the reranker came, lost after it
    traces = tuple(replace(new, matching=old.matching) for new, old in zip(traces, run.traces, strict=True))
    infos, reading = stage_infos(stages, dataset.queries, traces)
    notes = (*run.notes, *run_notes(stages, provenance), *reading)
    cost = _index_alone(run.cost)
    counter = evaluation.match_table[0].counter if evaluation.match_table else TokenCounts()
    spec = {name: value for name, value in run.spec.items() if name != "filled"}
    reranked = Run((*run.stages, *infos), traces, spec, notes, run.inventory, cost)
    if "budget" in spec:
        prompt = replace(Prompt.of(spec["budget"], dataset.queries, counter), total=_chunks_of(run))
        before = tuple(unfilled_note(run, dataset.queries, prompt, ""))  # of the prompts that there were, whyever
        others = [note for note in notes if not (before and note.startswith(before))]
        reranked = replace(reranked, notes=(*others, *unfilled_note(reranked, dataset.queries, prompt, RERANKED)))
    rule = MatchRule(**run.spec["match"])
    return require_answers(
        evaluation_of(reranked, dataset, evaluation.scores.metrics, rule, evaluation.profile, counter)
    )


def _chunks_of(run: Run) -> int | None:
    return None if run.inventory is None else run.inventory.chunks


def _index_alone(cost: Cost | None) -> Cost | None:
    """Return what the index cost: seconds of stages are those of another system."""
    return None if cost is None or cost.index is None else Cost(index=cost.index)


# `evaluate()`: one system over one dataset, every metric at every stage.


@with_settings(Settings)
def evaluate(
    system: Any, dataset: Dataset | str | os.PathLike[str] | Sequence[Mapping[str, Any]], settings: Settings
) -> Evaluation:
    """Measure a retrieval system as it is deployed, before and after reranking.

    Every query runs once; each stage's ranking is kept, matched to the labels, and scored. Every part of the system is
    asked with its own settings, and no figures are given at depths that a stage does not return. With `reranker`, a new
    system is tried: it gets `candidates` hits, and *before* is the system as deployed. A few questions are then asked
    both ways; if more hits change which come first, *before* and the candidates are two stages, each with figures.

    Args:
        system: a LangChain retriever, vector store or Runnable (a chain, graph or agent); a LlamaIndex retriever, query
            engine, index, agent or workflow; a Haystack retriever or pipeline; a function from a query's text to
            results; the address of an HTTP service, or a `raglift.retrieval.services.HttpRetriever`; an MCP server,
            `mcp:python server.py#search`, or a `raglift.retrieval.services.McpRetriever`; or an object with
            `retrieve(queries, k)`. A composite (a `ContextualCompressionRetriever`, a query engine with postprocessors,
            a pipeline with a ranker) is opened into its stages. An agent, a graph or a workflow makes its own searches,
            so each query becomes a session: see `evaluate_sessions`. It is never changed: depths are set on copies.
        dataset: labelled queries, from `load_dataset`, or what it takes: the name or path of a dataset; or what
            `Dataset.from_dict` takes: `[{"question": "When is it lit?", "passages": ["at dusk"]}]`.
        settings: keywords, all optional: see `Settings`.

    Raises:
        ConfigurationError: an argument that cannot be used, or a system that no adapter knows.
        MissingDependency: tokens are to be counted, and tiktoken is not installed.
        ModelError: a model cannot be loaded.
        QueryFailed: a query failed and `on_error="raise"`; or every query failed, whatever `on_error` is. Then its
            `.evaluation` holds what the stages before the failure returned.
        MetricFailed: a metric of your own failed; its `.evaluation` holds what was retrieved, scored by the others.
    """
    with keeping_answers(settings, system) as answers, opened(system) as opened_system:
        return _evaluated(opened_system, dataset, settings, answers)


def _evaluated(
    system: Any,
    dataset: Dataset | str | os.PathLike[str] | Sequence[Mapping[str, Any]],
    config: Settings,
    answers: KeptAnswers | None,
) -> Evaluation:
    """Evaluate as `evaluate` says."""
    data, ks = checked_dataset(dataset), config.ks
    metrics = choose_metrics(config.metrics, ks, data)
    require_encoding(metrics)
    # Nobody who only wants full prompts, as in a sweep, needs tokens counted exactly
    estimates = config.budget is not None and not is_encoding_available() and not any(map(counts_tokens, metrics))
    counter = EstimatedTokens() if estimates else TokenCounts(progress=config.progress)
    rule, profile = checked_rule(config.match, config.profile), config.profile
    depths = Depths.of(config, metrics)
    deployed = adapt_system(system, as_deployed=True, doc_key=config.doc_key)
    _check_candidates(config)
    added = adapt_reranker(
        config.reranker,
        as_deployed=config.depth == "deployed",
        dtype=config.dtype,
        device=config.device,
        batch_size=config.batch_size,
        progress=config.progress,
    )
    clearing = clearing_of([*deployed, *added])

    say_what_models_do_not_know([*deployed, *added], data, progress=config.progress)

    def prepared(stages: Sequence[Stage], part: str, then: Sequence[RerankStage] = ()) -> list[Any]:
        cleared = [replace(stage, shared=clearing) for stage in stages]
        return cleared if answers is None else answers.of(cleared, part, then)

    deployed_stages = prepared(named_stages(deployed), "as deployed")
    if (agent := agent_of(deployed_stages)) is not None:
        check_agent(config, added, agent.system)
        return evaluate_agent(agent, data, rule, config, answers)
    check_asked_once(config, deployed_stages[0].system)
    added = prepared(added, "tried")
    known_chunks = all_chunks(system, config.chunks, doc_key=config.doc_key)
    inventory = inventory_of_chunks(known_chunks, clearing, data, config, rule)
    require_chunks(metrics, inventory)
    prompt = None if config.budget is None else Prompt.of(config.budget, data.queries, counter, known_chunks)

    measurement = Measurement(data, config, depths, known_chunks, prompt)
    if config.depth == "deployed" and not added and prompt is None:
        run = measurement.deployed(deployed_stages)
    else:
        deep = prepared(named_stages(adapt_system(system, doc_key=config.doc_key)), "deep", added)
        run = (
            measurement.deeper(deployed_stages, deep, added)
            if prompt is None
            else measurement.filled(deployed_stages, deep, added)
        )
    notes = (*run.notes, *(answers.notes if answers is not None else ()))
    known = replace(run, inventory=inventory, notes=notes)
    chosen = choose_metrics(config.metrics, usual_depths(run), data) if ks is DEFAULT_KS else metrics
    if config.budget is not None:
        read = choose_metrics(_OF_PROMPTS, [Tokens(config.budget)])
        chosen = tuple(dict.fromkeys((*chosen, *read)))
    return require_answers(
        scored_by(chosen, lambda metrics: evaluation_of(known, data, metrics, rule, profile, counter))
    )


def checked_dataset(dataset: Any) -> Dataset:
    """Return a dataset, or the one of a name or path; raise unless there are queries to ask."""
    if isinstance(dataset, (str, os.PathLike)):
        dataset = load_dataset(dataset)
    elif isinstance(dataset, (list, tuple)):
        dataset = Dataset.from_dict(dataset)
    if not isinstance(dataset, Dataset):
        raise ConfigurationError(
            f"dataset: found a {type(dataset).__name__}; expected a Dataset, from load_dataset() or "
            "Dataset.from_dict(), the name or path of one, or a list, as [{'question': …, 'passages': […]}]"
        )
    if not dataset.queries:
        raise ConfigurationError(f"dataset: found no questions in {dataset.name!r}; expected at least one")
    return dataset


def _check_candidates(config: Settings) -> None:
    """Raise for a number of candidates that nothing would be asked for."""
    is_plain = config.depth == "deployed" and (config.reranker is None or config.reranker in ("none", [], ()))
    if config.candidates is not None and is_plain:
        raise ConfigurationError(
            f"candidates: found {config.candidates!r} without a reranker, for a system that is asked as it is "
            "deployed; expected a reranker that gets them, or depth='deep' (--depth deep)"
        )
