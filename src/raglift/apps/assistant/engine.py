"""The assistant without its screen: a question is searched for and answered with citations."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.adapt import adapt_reranker, adapt_system, named_stages
from raglift.adapters.stages import Policy, RetrieveStage
from raglift.base.normalization import normalize
from raglift.base.progress import quiet
from raglift.components.bm25 import BM25Retriever
from raglift.components.retrievers import DenseRetriever, HybridRetriever
from raglift.errors import ConfigurationError, ModelOutputError
from raglift.judging.prompts import load_prompt
from raglift.llm.language_models import language_model
from raglift.matching.match import match_rankings
from raglift.matching.provenance import Provenance
from raglift.metrics.computing import rankings_by_stage, score
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import AP, F1, RR, HitRate, Precision, Recall
from raglift.records.dataset import Dataset
from raglift.records.labels import Query
from raglift.records.rankings import Run, StageInfo
from raglift.running.execution import run_stages
from raglift.running.latency import OneAtATime
from raglift.running.notes import run_notes
from raglift.running.options import positive
from raglift.running.scoring import checked_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from raglift.adapters.stages import Stage
    from raglift.llm.replies import FilledPrompt
    from raglift.matching.matches import MatchTable
    from raglift.matching.rule import MatchRule
    from raglift.metrics.computing import Scores
    from raglift.records.rankings import Hit, Ranking, Trace


# The assistant's results: one turn per question.


@dataclass(frozen=True)
class StageHits:
    """What one stage of the system made of the question."""

    name: str
    """The stage's name: `retrieve`, `rerank`, …"""
    system: str
    """What did the work: class, model, settings that matter."""
    score_name: str
    """What its scores are: `cosine`, `bm25`, `fused`, or `score` on a scale of the stage's own."""
    ranking: Ranking
    """Its hits, best first."""
    labels: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each rank whose hit matches any: the numbers of the question's labels (its facts), from 1."""


@dataclass(frozen=True)
class Citation:
    """A number in square brackets in an answer, and the chunk it stands for."""

    number: int
    """As in the answer: the passage's number in the prompt, which is its rank after the last stage."""
    hit: Hit
    """The passage that was shown to the model under that number."""


@dataclass(frozen=True)
class Answer:
    """What the model said, as far as it came."""

    model: str
    """Who answered, as `openai:gpt-4o-mini`."""
    text: str
    """The answer; what came of it where it was stopped or failed."""
    citations: tuple[Citation, ...] = ()
    """The passages it cites, in the order in which it first does."""
    unknown: tuple[int, ...] = ()
    """Numbers it cites under which it was shown nothing."""
    says_unknown: bool = False
    """Whether it says that it does not know."""
    stopped: bool = False
    """Whether the reader stopped it."""
    error: str | None = None
    """Why it broke off, or never began; None when it is whole."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it came."""
        return not self.stopped and self.error is None


@dataclass(frozen=True)
class Turn:
    """One question, what was found, and what was answered."""

    query: Query
    """The question; one of the labelled set, with its labels, where it is in there."""
    stages: tuple[StageHits, ...]
    """The hits after each stage that finished, in order."""
    k: int
    """The depth at which metrics were taken."""
    is_known: bool = False
    """Whether the question is in the labelled set."""
    near: Query | None = None
    """For a question that is not: one of the labelled set that reads almost the same, whose labels it does not get."""
    scores: Scores | None = None
    """Every metric at every stage, where the question has labels."""
    profile: str = "default"
    """Whose metric conventions were used."""
    context: tuple[Hit, ...] = ()
    """The passages that the answer may rest on: the first hits after the last stage."""
    prompt: FilledPrompt | None = None
    """What the model is told; None without hits."""
    answer: Answer | None = None
    """None if no model was asked."""
    error: str | None = None
    """Why the system failed on the question, and in which stage; None when it did not."""

    def __str__(self) -> str:
        from raglift.apps.assistant.conversation import text_of

        return text_of(self)


# An answer's citations, and whether it says that it does not know.


# [1], [1, 3] and [1–3]; as some models write them, [passage 1] and 【1】
_CITED = re.compile(r"[\[【［](?:passages?\s+)?(\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*)[\]】］]", re.IGNORECASE)
_PARTS = re.compile(r"(\d+)\s*[–-]\s*(\d+)|(\d+)")
_LONGEST_RANGE = 50  # [1805-1812] cites two passages that were not shown, not eight
_DOES_NOT_KNOW = re.compile(r"\bi (?:do not|don't|cannot|can't) (?:know|say|tell)\b")


def answer_of(
    model: str, text: str, shown: Sequence[Hit], *, stopped: bool = False, error: str | None = None
) -> Answer:
    """Return an answer with its citations split into passages that were shown and other numbers.

    Args:
        model: who answered.
        text: as far as it came.
        shown: the passages, in the order of their numbers.
        stopped: whether the reader stopped it.
        error: why it broke off.
    """
    cited = tuple(dict.fromkeys(cited_numbers(text)))
    return Answer(
        model,
        text,
        citations=tuple(Citation(number, shown[number - 1]) for number in cited if 1 <= number <= len(shown)),
        unknown=tuple(number for number in cited if not 1 <= number <= len(shown)),
        says_unknown=_DOES_NOT_KNOW.search(normalize(text, unicode_folding=True)) is not None,
        stopped=stopped,
        error=error,
    )


def cited_numbers(text: str) -> Iterator[int]:
    """Yield the numbers that stand in square brackets, in the order of the text."""
    for group in _CITED.finditer(text):
        for first, last, single in _PARTS.findall(group[1]):
            if single:
                yield int(single)
            elif 0 <= int(last) - int(first) <= _LONGEST_RANGE:
                yield from range(int(first), int(last) + 1)
            else:
                yield from (int(first), int(last))


# Choice of a question of a labelled set from the user's input.


_ALMOST_THE_SAME = 85.0


class Questions:
    """The questions of a labelled set, to be found by their id or their text.

    Texts are compared in normal form: letter case, white space, the forms of quotes and dashes, and a question mark at
    the end do not count.

    Args:
        queries: the labelled set.
    """

    def __init__(self, queries: Sequence[Query]) -> None:
        self._by_id: dict[str, list[Query]] = {}
        self._by_text: dict[str, list[Query]] = {}
        for query in queries:
            self._by_id.setdefault(_form(query.id), []).append(query)
            self._by_text.setdefault(_form(query.text), []).append(query)

    def named(self, asked: str) -> tuple[Query, ...]:
        """Return the questions whose id is the given text, else those whose text is."""
        form = _form(asked)
        return tuple(self._by_id.get(form) or self._by_text.get(form) or ())

    def containing(self, asked: str) -> tuple[Query, ...]:
        """Return the questions that have the given words somewhere in their text."""
        form = _form(asked)
        return tuple(query for text, queries in self._by_text.items() if form and form in text for query in queries)

    def nearest(self, asked: str) -> Query | None:
        """Return the question that reads almost the same, if there is one."""
        from rapidfuzz import fuzz, process

        found = process.extractOne(_form(asked), self._by_text.keys(), scorer=fuzz.ratio, score_cutoff=_ALMOST_THE_SAME)
        return None if found is None else self._by_text[found[0]][0]


def _form(text: str) -> str:
    form = normalize(text, unicode_folding=True)
    return form.rstrip(" ?") or form


# The assistant's engine: search, then answer from the hits.


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
        """Notes for readers of the hits: truncated chunks, depths that could not be set."""
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

        A provider that fails is not an error here: what came is kept, and `Answer.error` says why no more did.

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
        judged = match_rankings([query], rankings_by_stage(run), self._rule)
        metrics = [metric @ self.k for metric in METRICS]
        scores = score(run, Dataset((query,)), judged, metrics, self.profile)
        return {info.name: labels_by_rank(each) for info, each in zip(infos, judged, strict=True)}, scores


def labels_by_rank(judged: MatchTable) -> dict[int, tuple[int, ...]]:
    """Return, for each rank of one question's hits that matches any label, the numbers of these labels from 1."""
    found: dict[int, set[int]] = {}
    for rank, fact in zip(judged.matches.rank.tolist(), judged.matches.fact.tolist(), strict=True):
        found.setdefault(rank, set()).add(fact + 1)
    return {rank: tuple(sorted(numbers)) for rank, numbers in found.items()}


def _score_name(stage: Stage) -> str:
    """Return what a stage's scores are, where they are raglift's own."""
    return _SCORES.get(type(stage.retriever), "score") if isinstance(stage, RetrieveStage) else "score"
