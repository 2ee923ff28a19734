"""The assistant without a screen: search, then answer from what was found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.assistant.citations import answer_of
from raglift.assistant.questions import Questions
from raglift.assistant.records import StageHits, Turn
from raglift.errors import ConfigurationError, ModelOutputError
from raglift.evaluation.notes import run_notes
from raglift.evaluation.options import positive
from raglift.evaluation.scored import checked_rule
from raglift.execution import Policy, RetrieveStage, run_stages
from raglift.integrations.adapt import adapt_reranker, adapt_system, named_stages
from raglift.integrations.language_models import language_model
from raglift.judging.prompts import load_prompt
from raglift.latency import OneAtATime
from raglift.matching import Provenance, judge
from raglift.metrics import AP, F1, NDCG, RR, HitRate, Precision, Recall
from raglift.progress import quiet
from raglift.records import Dataset, Query, Run, StageInfo
from raglift.retrieval import BM25Retriever, DenseRetriever, HybridRetriever
from raglift.scoring import rankings_by_stage, score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raglift.execution import Stage
    from raglift.matching import Judgements, MatchRule
    from raglift.records import Trace
    from raglift.result_records import Scores

__all__ = ["METRICS", "Assistant", "labels_by_rank"]

METRICS = (HitRate, Precision, Recall, F1, RR, AP, NDCG)
"""What is taken of a labelled question, at k."""
_SCORES = {DenseRetriever: "cosine", BM25Retriever: "bm25", HybridRetriever: "fused"}


class Assistant:
    """Answers questions about a corpus from what a retrieval system finds, and measures it where there are labels.

    Each question stands alone: nothing of earlier turns is searched for, or told to the model.

    Args:
        system: as for `evaluate`: a retriever of raglift's, LangChain's or LlamaIndex's, or a function.
        dataset: the labelled questions, and the documents that hits are from; `Dataset(())` for none.
        reranker: as for `evaluate`.
        model: as for `language_model`; None for retrieval alone.
        k: how many hits are scored.
        context: how many of the last stage's hits the answer may rest on; at most k.
        candidates: how many hits are retrieved for the reranker; by default k.
        profile: whose metric conventions: "default", "tutorial", "autorag", "trec", "llamaindex" or "ragas".

    Raises:
        ConfigurationError: a number or a profile that cannot be used; the model's key is missing.
        UnsupportedSystem: a system or a reranker that no adapter knows.
    """

    def __init__(
        self,
        system: Any,
        dataset: Dataset,
        *,
        reranker: Any = None,
        model: Any = None,
        k: int = 10,
        context: int = 5,
        candidates: int | None = None,
        profile: str = "default",
    ) -> None:
        self.dataset = dataset
        self.k, self.profile = positive("k", k), profile
        self.context = min(positive("context", context), self.k)
        self._depth = max(self.k, 1 if candidates is None else positive("candidates", candidates))
        self._rule: MatchRule = checked_rule("containment", profile)
        self._stages: list[Stage] = named_stages([*adapt_system(system), *adapt_reranker(reranker, progress=False)])
        self._provenance = Provenance(dataset)
        self._questions = Questions(dataset.queries)
        self.model = None if model is None else language_model(model)

    def warm_up(self) -> None:
        """Ask the system something that nobody reads, so that models are loaded before the first question."""
        OneAtATime(self._stages, self._depth, Policy(retries=0), self._provenance).warm_up(["What is this about?"])

    @property
    def system(self) -> str:
        """The stages in words."""
        return ", then ".join(stage.system for stage in self._stages)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of the hits should know: chunks that were embedded in part, depths that could not be set."""
        return tuple(run_notes(self._stages, self._provenance))

    def ask(self, question: str) -> Turn:
        """Search and answer.

        Args:
            question: a text, or the id of a labelled question.

        Raises:
            ConfigurationError: there is no question.
            RagliftError: the system cannot work at all.
        """
        return self.answer(self.search(question))

    def search(self, question: str) -> Turn:
        """Put a question through the system, and score what came back where the question has labels.

        Args and Raises: as `ask`.
        """
        if not question.strip():
            raise ConfigurationError("question: found nothing; expected a text, or the id of a labelled question")
        known = self._questions.named(question)
        query = known[0] if known else Query("asked", question.strip())
        with quiet():
            (trace,) = run_stages(self._stages, [query], self._depth, Policy(progress=False), self._provenance)
        labels, scores = self._measured(query, trace)
        infos = zip(self._stages, trace.stages, strict=False)
        stages = tuple(
            StageHits(stage.name, stage.system, _score_name(stage), done.ranking, labels.get(stage.name, {}))
            for stage, done in infos
        )
        whole = stages and trace.error is None
        context = stages[-1].ranking.hits[: self.context] if whole else ()
        return Turn(
            query,
            stages,
            self.k,
            is_known=bool(known),
            near=None if known else self._questions.nearest(question),
            scores=scores,
            profile=self.profile,
            context=context,
            prompt=load_prompt("answer").fill(question=query.text, passage=[hit.chunk.text for hit in context])
            if context
            else None,
            error=trace.error,
        )

    def answer(
        self, turn: Turn, *, heard: Callable[[str], None] = lambda _piece: None, stoppable: bool = False
    ) -> Turn:
        """Return the turn with the model's answer; as it is where there is no model or nothing was found.

        A provider that fails is no error here: what came is kept, and `Answer.error` says why no more did.

        Args:
            turn: from `search`.
            heard: called with each piece of the answer as it comes.
            stoppable: let Ctrl-C end the answer alone, and keep what came.
        """
        if self.model is None or turn.prompt is None:
            return turn
        pieces: list[str] = []
        stopped, error = False, None
        try:
            for piece in self.model.stream(turn.prompt):
                pieces.append(piece)
                heard(piece)
        except ModelOutputError as failure:
            error = str(failure)
        except KeyboardInterrupt:
            if not stoppable:
                raise
            stopped = True
        said = answer_of(self.model.name, "".join(pieces), turn.context, stopped=stopped, error=error)
        return replace(turn, answer=said)

    def _measured(
        self, query: Query, trace: Trace
    ) -> tuple[Mapping[str, Mapping[int, tuple[int, ...]]], Scores | None]:
        """Return which hits of each stage match which labels, and every metric at every stage."""
        if not query.is_labelled:
            return {}, None
        infos = tuple(StageInfo(stage.name, stage.system, stage.depth_fixed) for stage in self._stages)
        run = Run(infos, (trace,), {})
        judged = judge([query], rankings_by_stage(run), self._rule)
        metrics = [metric @ self.k for metric in METRICS]
        scores = score(run, Dataset((query,)), judged, metrics, self.profile)
        return {info.name: labels_by_rank(each) for info, each in zip(infos, judged, strict=True)}, scores


def labels_by_rank(judged: Judgements) -> dict[int, tuple[int, ...]]:
    """Return, for each rank of one question's hits that matches any label, the numbers of these labels from 1."""
    found: dict[int, set[int]] = {}
    for rank, fact in zip(judged.matches.rank.tolist(), judged.matches.fact.tolist(), strict=True):
        found.setdefault(rank, set()).add(fact + 1)
    return {rank: tuple(sorted(numbers)) for rank, numbers in found.items()}


def _score_name(stage: Stage) -> str:
    """Return what a stage's scores are, where they are raglift's own."""
    return _SCORES.get(type(stage.retriever), "score") if isinstance(stage, RetrieveStage) else "score"
