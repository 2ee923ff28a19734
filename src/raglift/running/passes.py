"""How a system is asked the queries: as deployed, deeper, or until prompts are full; what its models did not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.adapt import named_stages
from raglift.adapters.asking import FrameworkReranker
from raglift.adapters.stages import RerankStage, RetrieveStage, Stage, asked_of
from raglift.analysis.warnings import vocabulary_warnings
from raglift.errors import ConfigurationError
from raglift.matching.provenance import Provenance
from raglift.retrieval.rerankers import PairReranker
from raglift.retrieval.vocabulary import vocabularies
from raglift.running.depth import Probe, deployed_and_candidates, probe
from raglift.running.execution import is_batched, run_stages, takes_filters
from raglift.running.filling import Prompt, fill, unfilled_note
from raglift.running.latency import CostMeter, OneAtATime
from raglift.running.notes import run_notes
from raglift.running.settings import DEFAULT_CANDIDATES, DEFAULT_KS, Settings
from raglift.running.spec import spec_of
from raglift.types.rankings import CANDIDATES, Cost, ReadInPart, Run, StageInfo, Trace
from raglift.utilities.display import describe_error
from raglift.utilities.progress import notice, steps

if TYPE_CHECKING:
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


RERANKED = "no more came back from the reranker, which gets its candidates alone"
"""Why prompts of reranked hits are not full."""
_FIXED = "no more come back than by the system's own settings"
_NO_MORE = "no more came back"


@dataclass(frozen=True)
class Depths:
    """How many hits are asked for."""

    k: int
    """As deployed, where the system takes the number as an argument."""
    candidates: int
    """For a reranker that is tried, and where depth is asked for."""

    @classmethod
    def of(cls, config: Settings, metrics: Sequence[Metric]) -> Depths:
        """Return the depths that settings ask for, and that metrics need."""
        most = DEFAULT_CANDIDATES if config.candidates is None else config.candidates
        depths = [metric.k for metric in metrics if metric.k is not None]
        # Nobody knows how many hits fill a budget
        budgets = [most] if any(metric.budget is not None for metric in metrics) else []
        deployed = max(DEFAULT_KS[-1], *depths, *budgets, 1) if config.k is None else config.k
        return cls(deployed, max(most, *depths, config.k or 1))


@dataclass(frozen=True)
class Measurement:
    """How a system is asked the queries of a dataset."""

    dataset: Dataset
    config: Settings
    depths: Depths
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
        found = self._probe(stages, deeper_stages, k, candidates)
        note = found.note(stages[-1].name)
        if not found.agrees and not added:
            return self.deployed(stages, note)
        if not found.agrees:
            return self._two_passes(stages, deeper_stages, added, note)
        if not _has_own_depth(stages[0]):
            return self._one_pass(named_stages([*deeper_stages, *added]), candidates, ())
        return self._deeper_pass(named_stages([*deeper_stages, *added]), candidates, found, note)

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
        why = RERANKED if is_reranked else _FIXED
        if not is_reranked and not run.stages[0].has_own_depth:
            run, why = self._with_more_hits(run, deeper_stages if _has_own_depth(stages[0]) else stages, prompt)
        return replace(run, notes=(*run.notes, *unfilled_note(run, queries, prompt, why)))

    def _deep_enough(self, stages: Sequence[Stage], deeper_stages: Sequence[Stage], prompt: Prompt) -> Run:
        """Ask a system with a depth of its own for hits that fill prompts, if it begins with the deployed ones."""

        def needed(answers: Sequence[Trace]) -> int:
            if prompt.needed is not None:
                return prompt.needed
            return prompt.needed_after([one.stages[-1].ranking for one in answers if one.error is None])

        found = self._probe(stages, deeper_stages, self.depths.k, needed)
        if found.asked <= found.returned:
            return self.deployed(stages)
        note = found.note(stages[-1].name)
        if not found.agrees:
            return self.deployed(stages, note)
        return self._deeper_pass(deeper_stages, found.asked, found, note)

    def _probe(
        self,
        stages: Sequence[Stage],
        deeper_stages: Sequence[Stage],
        k: int,
        candidates: int | Callable[[Sequence[Trace]], int],
    ) -> Probe:
        return probe(
            stages,
            deeper_stages,
            self.dataset.queries,
            k=k,
            candidates=candidates,
            policy=self.config,
            provenance=self._provenance(),
            is_timed=bool(self.config.latency),
        )

    def _deeper_pass(self, stages: Sequence[Stage], k: int, found: Probe, note: str) -> Run:
        """Ask a system at a depth at which it begins with the hits that it returns as deployed."""
        run = self._one_pass(stages, k, [note] if found.is_deeper else [])
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
        return self._recorded(stages, traces, k, [*run_notes(stages, provenance), *notes], meter.cost(traces))

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
        return self._recorded(recorded, traces, self.depths.candidates, notes, meter.cost(deeper))

    def _recorded(
        self, stages: Sequence[Stage], traces: tuple[Trace, ...], k: int, notes: Sequence[str], cost: Cost | None
    ) -> Run:
        """Return the run that traces are of."""
        traces, filtered = _with_matching_chunks(stages, self.dataset.queries, traces, k, self.chunks)
        infos, reading = stage_infos(stages, self.dataset.queries, traces)
        notes = [*self.dataset.resolution.notes, *notes, *reading]
        returned = max((len(trace.stages[0].ranking) for trace in traces if trace.stages), default=0)
        candidates = max(k, returned) if infos[0].has_own_depth else k
        spec = {**spec_of(self.dataset, self.config), "candidates": candidates, **filtered}
        batched = [info.name for info in infos if info.batched]
        if self.config.timeout is not None and batched:
            all_at_once = "takes all questions at once, so the timeout of one question does not apply"
            notes = [*notes, f"{', '.join(batched)}: {all_at_once}"]
        return Run(infos, traces, spec, tuple(notes), cost=cost)

    def _provenance(self) -> Provenance:
        return Provenance(self.dataset, self.config.doc_key)

    def _meter(self, stages: Sequence[Stage], k: int) -> CostMeter:
        alone = OneAtATime(stages, k, self.config, self._provenance())
        return CostMeter(alone, self.dataset.queries, self.config.latency or 0)


def _has_own_depth(stage: Stage) -> bool:
    return isinstance(stage, RetrieveStage) and stage.has_own_depth


def _with_matching_chunks(
    stages: Sequence[Stage], queries: Sequence[Query], traces: tuple[Trace, ...], k: int, chunks: Sequence[Chunk] | None
) -> tuple[tuple[Trace, ...], dict[str, Any]]:
    """Return the traces with the number of chunks that match each query's filter, and what the spec says of filters.

    The stage that filters is the one whose hits rerankers get: the last that retrieves.

    Args:
        stages: of the system.
        queries: what was asked.
        traces: what was answered.
        k: how many hits the system was asked for.
        chunks: all chunks of the index; None if they are not known.
    """
    if not any(query.filter is not None for query in queries):
        return traces, {}
    retrieving = [stage for stage in stages if isinstance(stage, RetrieveStage)]
    stage = next((stage for stage in retrieving if stage.name == CANDIDATES), retrieving[0])
    if stage.has_own_depth:
        k = max((len(done.ranking) for trace in traces for done in trace.stages if done.stage == stage.name), default=1)
    spec = {"filtered": {"stage": stage.name, "k": max(k, 1), "taken": takes_filters(stage)}}
    if chunks is None:
        return traces, spec
    filters = {query.filter for query in queries if query.filter is not None}
    matching = {given: sum(given.matches(chunk.metadata) for chunk in chunks) for given in filters}
    return tuple(
        trace if query.filter is None else replace(trace, matching=matching[query.filter])
        for query, trace in zip(queries, traces, strict=True)
    ), spec


def stage_infos(
    stages: Sequence[Stage], queries: Sequence[Query], traces: Sequence[Trace]
) -> tuple[tuple[StageInfo, ...], list[str]]:
    """Return how each stage was run, and notes of what is not known of it.

    Args:
        stages: the last stages of the traces, as they were run.
        queries: what was asked.
        traces: one per query, in the order of the queries.
    """
    infos, notes = [], []
    texts = [query.text for query in queries]
    for stage in stages:
        found: ReadInPart | None = None
        try:
            found = _read_in_part(stage, queries, traces)
        except Exception as error:  # noqa: BLE001 — rankings that are there are not lost because of a count
            message = describe_error(error, secrets=stage.clearing.secrets)
            notes.append(f"{stage.name}: whether it read its candidates whole is not known: {message}")
        has_own_depth = isinstance(stage, RetrieveStage) and stage.has_own_depth and not stage.depth_fixed
        infos.append(
            StageInfo(
                stage.name,
                stage.clearing.message(stage.system),
                tuple(map(stage.clearing.message, stage.depth_fixed)),
                is_batched(stage),
                read_in_part=found,
                has_own_depth=has_own_depth,
                vocabularies=tuple(vocabularies(asked_of(stage), [*texts, *_hit_texts(traces)])),
                chunks_read_in_part=tuple(_truncating_indexes(getattr(stage, "retriever", None))),
                by_pair=isinstance(asked_of(stage), PairReranker | FrameworkReranker) and asked_of(stage).by_pair,
            )
        )
    return tuple(infos), notes


def say_what_models_do_not_know(stages: Sequence[Stage], dataset: Dataset, *, progress: bool | None) -> None:
    """Say before anything is asked which models cannot read the texts, as far as documents and queries tell."""
    texts = [*(query.text for query in dataset.queries), *(document.text for document in dataset.documents)]
    found = [known for stage in stages for known in vocabularies(asked_of(stage), texts)]
    for warning in vocabulary_warnings(found):
        notice(f"! {warning}", show=progress)


def _hit_texts(traces: Sequence[Trace]) -> list[str]:
    """Return what came back first and last to each query, as far as anything did."""
    rankings = [stage.ranking for trace in traces for stage in trace.stages[:1] if stage.ranking.hits]
    return [hit.chunk.text for ranking in rankings for hit in (ranking.hits[0], ranking.hits[-1])]


def _read_in_part(stage: Stage, queries: Sequence[Query], traces: Sequence[Trace]) -> ReadInPart | None:
    """Ask a reranker how much of its candidates it read in part, over the queries that came through it."""
    count = getattr(getattr(stage, "reranker", None), "read_in_part", None)
    if not callable(count):
        return None
    given = [
        (query.text, before.ranking)
        for query, trace in zip(queries, traces, strict=True)
        for before, after in zip(trace.stages, trace.stages[1:], strict=False)
        if after.stage == stage.name
    ]
    found = count([text for text, _ in given], [ranking for _, ranking in given])
    return found if isinstance(found, ReadInPart) else None


def _truncating_indexes(retriever: Any) -> Iterator[tuple[int, int]]:
    """Yield, for each index that a retriever searches, how many chunks its model truncated, if any, of how many."""
    index = getattr(retriever, "index", None)
    count, distinct = getattr(index, "read_in_part", None), getattr(index, "distinct", None)
    if isinstance(count, int) and isinstance(distinct, int) and count > 0:
        yield count, distinct
    parts = getattr(retriever, "retrievers", ())
    for part in parts if isinstance(parts, tuple) else ():
        yield from _truncating_indexes(part)
