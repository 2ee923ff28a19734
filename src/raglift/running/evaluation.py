"""`evaluate()` and `rerank()`: a system is run over a dataset, or another reranker over a saved retrieval."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.adapt import adapt_reranker, adapt_system, all_chunks, named_stages
from raglift.adapters.policy import Policy
from raglift.adapters.stages import RerankStage, RetrieveStage, clearing_of
from raglift.base.progress import steps
from raglift.base.tokens import EstimatedTokens, TokenCounts, is_encoding_available
from raglift.components.batches import BATCH_SIZE
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError
from raglift.matching.provenance import Provenance
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import choose_metrics, counts_tokens
from raglift.records.dataset import Dataset
from raglift.records.metric import Tokens
from raglift.records.rankings import CANDIDATES, Cost, Run, Trace
from raglift.running.agents import agent_of, check_agent, check_asked_once, evaluate_agent
from raglift.running.answers import KeptAnswers, keeping_answers
from raglift.running.depth import deployed_and_candidates, probe
from raglift.running.execution import run_stages
from raglift.running.filling import Prompt, fill, unfilled_note, without_filling
from raglift.running.filtering import with_matching_chunks
from raglift.running.finishing import inventory_of_chunks, require_answers, scored_by
from raglift.running.latency import CostMeter, OneAtATime
from raglift.running.notes import run_notes, usual_depths
from raglift.running.reading import say_what_models_do_not_know, stage_infos
from raglift.running.scoring import checked_rule, evaluation_of, require_chunks, require_encoding
from raglift.running.settings import DEFAULT_CANDIDATES, DEFAULT_KS, Settings, with_settings
from raglift.running.spec import spec_of
from raglift.running.systems import opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.adapters.stages import Stage
    from raglift.components.devices import Dtype
    from raglift.records.documents import Chunk
    from raglift.records.labels import Query
    from raglift.records.metric import Metric
    from raglift.results.evaluation import Evaluation


_OF_PROMPTS = ("recall_area", "prompt_recall")
"""The metrics that are taken of a prompt."""
_RERANKED = "no more came back from the reranker, which gets its candidates alone"
_FIXED = "no more come back than by the system's own settings"
_NO_MORE = "no more came back"


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
        raise ConfigurationError(f"reranker: found {reranker!r}; expected one, as 'late-interaction'")
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
        reranked = replace(reranked, notes=(*others, *unfilled_note(reranked, dataset.queries, prompt, _RERANKED)))
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
def evaluate(system: Any, dataset: Dataset | str | os.PathLike[str], settings: Settings) -> Evaluation:
    """Measure a retrieval system as it is deployed, before and after reranking.

    Every query runs once; each stage's ranking is kept, matched to the labels, and scored. Every part of the system is
    asked with its own settings, and no figures are given at depths that a stage does not return. With `reranker`, a new
    system is tried: it gets `candidates` hits, and *before* is the system as deployed. A few queries are then asked
    both ways; where more hits change which come first, *before* and the candidates are two stages, each with figures.

    Args:
        system: a LangChain retriever, vector store or Runnable (a chain, graph or agent); a LlamaIndex retriever, query
            engine, index, agent or workflow; a Haystack retriever or pipeline; a function from a query's text to
            results; the address of an HTTP service, or a `raglift.components.services.HttpRetriever`; an MCP server, as
            `mcp:python server.py#search`, or a `raglift.components.services.McpRetriever`; or an object with
            `retrieve(queries, k)`. A composite (a `ContextualCompressionRetriever`, a query engine with postprocessors,
            a pipeline with a ranker) is opened into its stages. An agent, a graph or a workflow makes its own searches,
            so each query becomes a session: see `evaluate_sessions`. It is never changed: depths are set on copies.
        dataset: labelled queries, from `load_dataset` or `Dataset.from_dict`, or what `load_dataset` takes: the name
            or path of a dataset.
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
    system: Any, dataset: Dataset | str | os.PathLike[str], config: Settings, answers: KeptAnswers | None
) -> Evaluation:
    """Evaluate as `evaluate` says."""
    data, ks = checked_dataset(dataset), config.ks
    metrics = choose_metrics(config.metrics, ks, data)
    require_encoding(metrics)
    # Nobody who only wants full prompts, as in a sweep, needs tokens counted exactly
    estimates = config.budget is not None and not is_encoding_available() and not any(map(counts_tokens, metrics))
    counter = EstimatedTokens() if estimates else TokenCounts(progress=config.progress)
    rule, profile = checked_rule(config.match, config.profile), config.profile
    depths = _Depths.of(config, metrics)
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
        return _with_answers([replace(stage, shared=clearing) for stage in stages], answers, part, then)

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

    measurement = _Measurement(data, config, depths, known_chunks, prompt)
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


def _with_answers(
    stages: Sequence[Any], answers: KeptAnswers | None, part: str, then: Sequence[RerankStage] = ()
) -> list[Any]:
    """Return stages whose answers are kept, where that is asked for: see `KeptAnswers.of`."""
    return list(stages) if answers is None else answers.of(stages, part, then)


@dataclass(frozen=True)
class _Depths:
    """How many hits are asked for."""

    k: int
    """As deployed, where the system takes the number as an argument."""
    candidates: int
    """For a reranker that is tried, and where depth is asked for."""

    @classmethod
    def of(cls, config: Settings, metrics: Sequence[Metric]) -> _Depths:
        most = DEFAULT_CANDIDATES if config.candidates is None else config.candidates
        depths = [metric.k for metric in metrics if metric.k is not None]
        # Nobody knows how many hits fill a budget
        budgets = [most] if any(metric.budget is not None for metric in metrics) else []
        deployed = max(DEFAULT_KS[-1], *depths, *budgets, 1) if config.k is None else config.k
        return cls(deployed, max(most, *depths, config.k or 1))


@dataclass(frozen=True)
class _Measurement:
    """How a system is asked the queries of a dataset."""

    dataset: Dataset
    config: Settings
    depths: _Depths
    chunks: Sequence[Chunk] | None
    """All chunks of the index; None if they are not known."""
    prompt: Prompt | None = None
    """What the hits of each query are to fill; None for what the other settings give."""

    def deployed(self, stages: Sequence[Stage], *notes: str) -> Run:
        """Ask each stage with its own settings."""
        if not _has_own_depth(stages[0]):
            k = self.depths.k
            if self.prompt is not None and self.config.k is None:
                k = max(k, self.prompt.needed or DEFAULT_CANDIDATES)
            run = self._one_pass(stages, k, notes)
            return replace(run, spec={**run.spec, "k": k})
        if self.config.k is not None:
            unused = (
                f"{stages[0].name}: returns as many hits as its own settings say, so k={self.config.k} has no effect"
            )
            notes = (*notes, f"{unused}; the depths of metrics are ks (-k)")
        return self._one_pass(stages, self.depths.k, notes)

    def deeper(self, stages: Sequence[Stage], deeper_stages: Sequence[Stage], added: Sequence[RerankStage]) -> Run:
        """Ask for candidates: in one pass if the system then begins with the same hits as when deployed.

        Args:
            stages: the stages with their own settings.
            deeper_stages: the stages with their depths raised.
            added: rerankers that are tried on the system.
        """
        candidates = self.depths.candidates
        k = min(self.depths.k, candidates)
        one_way = not _has_own_depth(stages[0]) and (not added or k == candidates)
        if one_way or _has_own_depth(deeper_stages[0]):  # it would be asked alike
            return self._one_pass(named_stages([*deeper_stages, *added]), candidates, ())
        found = probe(
            stages,
            deeper_stages,
            self.dataset.queries,
            k=k,
            candidates=candidates,
            policy=self.config,
            provenance=self._provenance(),
            is_timed=bool(self.config.latency),
        )
        note = found.note(stages[-1].name)
        if not found.agrees and not added:
            return self.deployed(stages, note)
        if not found.agrees:
            return self._two_passes(stages, deeper_stages, added, note)
        if not _has_own_depth(stages[0]):
            return self._one_pass(named_stages([*deeper_stages, *added]), candidates, ())
        run = self._one_pass(named_stages([*deeper_stages, *added]), candidates, [note] if found.is_deeper else [])
        return replace(run, spec={**run.spec, "deployed_depth": found.returned}) if found.returned else run

    def filled(self, stages: Sequence[Stage], deeper_stages: Sequence[Stage], added: Sequence[RerankStage]) -> Run:
        """Ask as without a budget, and for as many hits as fill the prompts where no reranker decides what they hold.

        Args:
            stages: the stages with their own settings.
            deeper_stages: the stages with their depths raised.
            added: rerankers that are tried on the system.
        """
        prompt, queries = self.prompt, self.dataset.queries
        assert prompt is not None  # noqa: S101 — the caller asks for filled prompts only where there are any
        is_reranked = len(deeper_stages) > 1 or bool(added)
        if self.config.depth == "deep" or added:
            run = self.deeper(stages, deeper_stages, added)
        elif is_reranked or not _has_own_depth(stages[0]) or _has_own_depth(deeper_stages[0]):
            run = self.deployed(stages)
        else:
            run = self._deep_enough(stages, deeper_stages, prompt)
        why = _RERANKED if is_reranked else _FIXED
        if not is_reranked and not run.stages[0].has_own_depth:
            run, why = self._with_more_hits(run, deeper_stages if _has_own_depth(stages[0]) else stages, prompt)
        return replace(run, notes=(*run.notes, *unfilled_note(run, queries, prompt, why)))

    def _deep_enough(self, stages: Sequence[Stage], deeper_stages: Sequence[Stage], prompt: Prompt) -> Run:
        """Ask a system with a depth of its own for hits that fill prompts, if it begins with the deployed ones."""

        def needed(answers: Sequence[Trace]) -> int:
            if prompt.needed is not None:
                return prompt.needed
            return prompt.needed_after([one.stages[-1].ranking for one in answers if one.error is None])

        found = probe(
            stages,
            deeper_stages,
            self.dataset.queries,
            k=self.depths.k,
            candidates=needed,
            policy=self.config,
            provenance=self._provenance(),
            is_timed=bool(self.config.latency),
        )
        if found.asked <= found.returned:
            return self.deployed(stages)
        note = found.note(stages[-1].name)
        if not found.agrees:
            return self.deployed(stages, note)
        run = self._one_pass(deeper_stages, found.asked, [note] if found.is_deeper else [])
        return replace(run, spec={**run.spec, "deployed_depth": found.returned}) if found.returned else run

    def _with_more_hits(self, run: Run, stages: Sequence[Stage], prompt: Prompt) -> tuple[Run, str]:
        """Return a run with more hits behind its own where prompts are not full, and why some are not even so."""
        policy = replace(self.config, on_error="keep", progress=False)
        reached = ""

        def ask(queries: Sequence[Query], k: int) -> Sequence[Trace]:
            nonlocal reached
            try:
                return run_stages(stages, queries, k, policy, self._provenance())
            except ConfigurationError as error:  # a service that refuses so many hits
                reached = str(error)
            return [Trace(query.id, (), reached) for query in queries]

        found = fill(run, self.dataset.queries, prompt, int(run.spec["candidates"]), ask)
        why = f"asked for more, the system ranks otherwise: {found.example}" if found.example else _NO_MORE
        if found.deepest:
            run = replace(run, traces=found.traces, spec={**run.spec, "filled": found.deepest})
        return run, reached or why

    def _one_pass(self, stages: Sequence[Stage], k: int, notes: Sequence[str]) -> Run:
        queries, provenance = self.dataset.queries, self._provenance()
        meter = self._meter(stages, k)
        meter.warm_up()
        with steps(len(stages)):
            traces = run_stages(stages, queries, k, self.config, provenance, watch=meter.watch)
        return self.recorded(stages, traces, k, [*run_notes(stages, provenance), *notes], meter.cost(traces))

    def _two_passes(
        self, stages: Sequence[Stage], deeper_stages: Sequence[Stage], added: Sequence[RerankStage], note: str
    ) -> Run:
        """Ask the deployed system, then the one at the greater depth, whose hits the rerankers get."""
        queries, policy, provenance = self.dataset.queries, self.config, self._provenance()
        candidates = [replace(deeper_stages[-1], name=CANDIDATES)]
        recorded = named_stages([*stages, *candidates, *added])
        later = [
            *(replace(stage, name=f"{stage.name} (deep)") for stage in deeper_stages[:-1]),
            *recorded[len(stages) :],
        ]
        meter = self._meter(later, self.depths.candidates)
        meter.warm_up()
        with steps(len(stages) + len(later)):
            deployed = run_stages(stages, queries, self.depths.k, policy, provenance)
            retrieving = later[: len(deeper_stages)]
            deeper = run_stages(retrieving, queries, self.depths.candidates, policy, provenance, watch=meter.watch)
            traces = run_stages(
                later[len(deeper_stages) :],
                queries,
                self.depths.candidates,
                policy,
                provenance,
                after=deployed_and_candidates(deployed, deeper, queries),
                watch=meter.watch,
            )
        notes = [*run_notes(recorded, provenance), note]
        return self.recorded(recorded, traces, self.depths.candidates, notes, meter.cost(deeper))

    def recorded(
        self, stages: Sequence[Stage], traces: tuple[Trace, ...], k: int, notes: Sequence[str], cost: Cost | None
    ) -> Run:
        """Return the run that traces are of."""
        traces, filtered = with_matching_chunks(stages, self.dataset.queries, traces, k, self.chunks)
        infos, reading = stage_infos(stages, self.dataset.queries, traces)
        notes = [*self.dataset.resolution.notes, *notes, *reading]
        returned = max((len(trace.stages[0].ranking) for trace in traces if trace.stages), default=0)
        candidates = max(k, returned) if infos[0].has_own_depth else k
        spec = {**spec_of(self.dataset, self.config), "candidates": candidates, **filtered}
        batched = [info.name for info in infos if info.batched]
        if self.config.timeout is not None and batched:
            all_at_once = "takes all queries at once, so the timeout of one query does not apply"
            notes = [*notes, f"{', '.join(batched)}: {all_at_once}"]
        return Run(infos, traces, spec, tuple(notes), cost=cost)

    def _provenance(self) -> Provenance:
        return Provenance(self.dataset, self.config.doc_key)

    def _meter(self, stages: Sequence[Stage], k: int) -> CostMeter:
        alone = OneAtATime(stages, k, self.config, self._provenance())
        return CostMeter(alone, self.dataset.queries, self.config.latency or 0)


def _has_own_depth(stage: Stage) -> bool:
    return isinstance(stage, RetrieveStage) and stage.has_own_depth


def checked_dataset(dataset: Any) -> Dataset:
    """Return a dataset, or the one of a name or path; raise unless there are queries to ask."""
    if isinstance(dataset, (str, os.PathLike)):
        dataset = load_dataset(dataset)
    if not isinstance(dataset, Dataset):
        raise ConfigurationError(
            f"dataset: found a {type(dataset).__name__}; expected a Dataset, from load_dataset() or "
            "Dataset.from_dict(), or the name or path of one"
        )
    if not dataset.queries:
        raise ConfigurationError(f"dataset: found no queries in {dataset.name!r}; expected at least one")
    return dataset


def _check_candidates(config: Settings) -> None:
    """Raise for a number of candidates that nothing would be asked for."""
    is_plain = config.depth == "deployed" and (config.reranker is None or config.reranker in ("none", [], ()))
    if config.candidates is not None and is_plain:
        raise ConfigurationError(
            f"candidates: found {config.candidates!r} without a reranker, for a system that is asked as it is "
            "deployed; expected a reranker that gets them, or depth='deep' (--depth deep)"
        )
