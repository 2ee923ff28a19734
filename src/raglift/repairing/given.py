"""The parts of a system that its user hands over, asked again as the run asked them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from raglift.adapters.adapt import adapt_reranker, adapt_system
from raglift.adapters.base import adapter_of
from raglift.adapters.stages import RerankStage, RetrieveStage, Stage
from raglift.errors import ConfigurationError
from raglift.matching.provenance import Provenance
from raglift.repairing.windows import WindowedReranker
from raglift.retrieval.rerankers import PairReranker
from raglift.types.rankings import CANDIDATES, Ranking
from raglift.utilities.event_loops import result_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.repairing.records import Change
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.labels import Query


@dataclass(eq=False)
class Given:
    """The parts of a system of the user's, to be asked again."""

    stages: Sequence[Stage]
    """As they were asked in the run."""
    deeper: Sequence[Stage]
    """The same with their depths raised, for more hits than in the run."""
    candidates: int
    """How many hits were retrieved in the run, at most."""
    k: int
    """By which rank a fact is to be found, as far as the run's rankings go."""
    provenance: Provenance
    """Finds the document of every hit, as in the run."""
    unfiltered: tuple[Sequence[Stage], Sequence[Stage]] | None = None
    """The stages, and the deeper ones, without filters of its own; None if it has none."""
    has_new_texts: bool = False
    """Whether a reranker adds texts that were not retrieved, so that it may find what is not among the candidates."""
    failed: int = 0
    """How many times a part raised an error, which counts as no hits."""

    @classmethod
    def of(cls, system: Any, reranker: Any, evaluation: Evaluation, k: int, dataset: Dataset) -> Given:
        """Return the parts of the system of an evaluation, and of what reranks its hits, if that is an object.

        Args:
            system: of the user's.
            reranker: that goes with it.
            evaluation: of both.
            k: by which rank a fact is to be found.
            dataset: with the documents that were searched.

        Raises:
            UnsupportedSystem: an object that no adapter knows.
            ConfigurationError: an agent.
        """
        run, doc_key = evaluation.run, evaluation.run.spec.get("doc_key")
        # Deeper candidates of a fusion, or a higher top_n, would be another system than the one that lost the facts
        is_deployed = run.stages[0].has_own_depth and all(stage.name != CANDIDATES for stage in run.stages)
        keeps_top_n = run.spec.get("depth") == "deployed"
        adapt = partial(adapt_system, doc_key=doc_key)
        own, deeper = (adapt(system, as_deployed=one) for one in (is_deployed, False))
        adapter = adapter_of(system)
        bare = None if adapter is None else adapter.without_filters(system)
        unfiltered = None if bare is None else (adapt(bare, as_deployed=is_deployed), adapt(bare, as_deployed=False))
        if not isinstance(own[0], RetrieveStage) or own[0].is_agent:
            raise ConfigurationError("system: found an agent; expected what searches once for each question")
        if reranker is not None and (len(own) > 1 or not isinstance(reranker, str)):
            own += adapt_reranker(reranker, as_deployed=keeps_top_n)
            deeper += adapt_reranker(reranker)
        candidates, cut = int(run.spec["candidates"]), evaluation.truncated
        returned = min(candidates, cut.get(evaluation.candidates or evaluation.before, candidates))
        read = min(k, cut.get(evaluation.after, k))
        provenance = Provenance(dataset, doc_key)
        return cls(own, deeper, returned, read, provenance, unfiltered, bool(evaluation.beyond_candidates))

    @property
    def rerankers(self) -> list[Any]:
        """What reranks its hits."""
        return [stage.reranker for stage in self.stages if isinstance(stage, RerankStage)]

    def in_code(self, change: Change) -> Change:
        """Return a change without options to type if it is made in the code of the user: of a depth, or a reranker."""
        return replace(change, settings="") if self.rerankers or change.settings.startswith("-k") else change

    def retriever(self, k: int, *, is_filtered: bool = True) -> Any:
        """Return what retrieves so many hits, with its own filters or without them."""
        stages, deeper = (self.stages, self.deeper) if is_filtered or self.unfiltered is None else self.unfiltered
        (first, *_) = stages if k <= self.candidates else deeper
        return cast("RetrieveStage", first).retriever

    def retrieve(self, queries: Sequence[Query], k: int, *, is_filtered: bool) -> list[Ranking]:
        """Return the hits of each query, with its filter if the retriever takes it, and the retriever's own."""
        retriever = self.retriever(k, is_filtered=is_filtered)
        texts, takes = [query.text for query in queries], getattr(retriever, "takes_filters", False) and is_filtered
        filters = [query.filter for query in queries] if takes and any(query.filter for query in queries) else None
        if hasattr(retriever, "retrieve"):
            found = self._all(retriever.retrieve, texts, k, *(() if filters is None else (filters,)))
        else:
            found = [
                self._one(retriever, "retrieve_one", text, k, *(() if filters is None else (filters[place],)))
                for place, text in enumerate(texts)
            ]
        return list(map(self.provenance.check, found))

    def rerank(self, texts: Sequence[str], rankings: Sequence[Ranking], k: int, *, scores_whole: bool) -> list[Ranking]:
        """Return what its rerankers make of rankings, one after the other, of which the first k are read."""
        found = list(rankings)
        for stage in (self.stages if k <= self.k else self.deeper)[1:]:
            reranker: Any = cast("RerankStage", stage).reranker
            if scores_whole and isinstance(reranker, PairReranker):
                reranker = WindowedReranker(reranker)
            if hasattr(reranker, "rerank"):
                found = self._all(reranker.rerank, texts, found)
            else:
                pairs = zip(texts, found, strict=True)
                found = [self._one(reranker, "rerank_one", text, ranking) for text, ranking in pairs]
            found = list(map(self.provenance.check, found))
        return found

    def _one(self, part: Any, method: str, *asked: Any) -> Ranking:
        """Ask a part for one query."""
        sync = getattr(part, method, None)
        (found,) = self._all(
            lambda *_: [sync(*asked) if sync else result_of(getattr(part, f"a{method}")(*asked))], [""]
        )
        return found

    def _all(self, method: Callable[..., Sequence[Ranking]], texts: Sequence[str], *more: Any) -> list[Ranking]:
        """Ask a part for some queries; an error of the user's code counts as no hits."""
        try:
            return list(method(texts, *more))
        except Exception:  # noqa: BLE001 — it is the user's
            self.failed += len(texts)
            return [Ranking(())] * len(texts)
