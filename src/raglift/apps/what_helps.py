"""The last step of the walkthrough: what more candidates, hybrid retrieval and smaller chunks do to the labels' ranks.

Everything is measured when it runs, with the walkthrough's own models, on the same questions and labels by the same
match rule: more candidates, then these with hybrid retrieval, with smaller chunks, and with both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.rank_measures import Recall
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.embedding import SentenceTransformerEmbedder, build_index
from raglift.retrieval.retrievers import DenseRetriever, HybridRetriever
from raglift.retrieval.static_model import StaticEmbedder
from raglift.running.evaluation import evaluate
from raglift.running.systems import chunks_of
from raglift.utilities.display import counted, printable
from raglift.utilities.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from raglift.results.evaluation import Evaluation
    from raglift.retrieval.chunkers import Chunker
    from raglift.retrieval.retrievers import Retriever
    from raglift.running.systems import LocalSystem
    from raglift.types.dataset import Dataset
    from raglift.types.rankings import Ranking


CANDIDATES = 100
"""How many candidates the trials retrieve and rerank."""
_SMALLER = 2 / 5
"""The size of the smaller chunks, as a part of the walkthrough's."""
_LABEL_WIDTH = 10
_COLUMN_WIDTH = 13


@dataclass(frozen=True)
class Trial:
    """One way to retrieve, and what it makes of the labels."""

    name: str
    """What is different from the walkthrough."""
    candidates: int
    """How many hits were retrieved, and reranked."""
    retrieved: tuple[int | None, ...]
    """For each fact of each question, the rank of the first hit that matches it, as retrieved; None if none does. Of
    one question in the ranking of all chunks, of several among the candidates."""
    reranked: tuple[int | None, ...]
    """The same after reranking, or without a reranker as retrieved, among the candidates."""
    is_reranked: bool
    """Whether there is a reranker."""

    def found(self, k: int, *, reranked: bool = True) -> int:
        """Return how many facts are among the first hits."""
        ranks = self.reranked if reranked else self.retrieved
        return sum(rank is not None and rank <= k for rank in ranks)


def try_what_helps(
    evaluation: Evaluation, retriever: DenseRetriever, chunker: Chunker, reranker: str, computing: LocalSystem
) -> tuple[Trial, ...]:
    """Measure the walkthrough with more candidates, with hybrid retrieval, with smaller chunks, and with all of them.

    Smaller chunks are left out where the embedding model is not on this machine: they would be paid for.

    Args:
        evaluation: of the walkthrough.
        retriever: its retriever.
        chunker: its chunker.
        reranker: its reranker.
        computing: in which number type and where its models compute.

    Returns:
        The walkthrough itself, then the trials.
    """
    first = evaluation.run.spec["candidates"]
    more = max(CANDIDATES, first)

    def measure(name: str, system: Retriever) -> Trial:
        tried = evaluate(
            system,
            evaluation.dataset,
            reranker=reranker,
            ks=(more,),
            depth="deep",
            candidates=more,
            profile=evaluation.profile,
            metrics=[Recall],
            dtype=computing.dtype,
            device=computing.device,
        )
        return _trial(name, tried, system)

    trials = [_trial(f"as above: {first} candidates", evaluation, retriever)]
    # Of one question the whole ranking is shown, of which the candidates are then the beginning
    whole = len(evaluation.dataset) == 1

    def fused(dense: DenseRetriever) -> HybridRetriever:
        return HybridRetriever([dense, BM25Retriever(dense.chunks)], depth=len(dense.chunks) if whole else None)

    hybrid = f"hybrid (dense and BM25), {more} candidates"
    steps: list[Callable[[], Trial]] = [
        lambda: measure(f"{more} candidates", retriever),
        lambda: measure(hybrid, fused(retriever)),
    ]
    smaller = _smaller(chunker)
    if smaller is not None and isinstance(retriever.index.embedder, (SentenceTransformerEmbedder, StaticEmbedder)):
        named = f"chunks {smaller}".removesuffix(":characters")
        finer: list[DenseRetriever] = []

        def with_smaller_chunks() -> Trial:
            cut, _documents = chunks_of(evaluation.dataset, smaller), evaluation.dataset.documents
            finer.append(DenseRetriever(build_index(cut, retriever.index.embedder)))
            return measure(f"{named}, {more} candidates", finer[0])

        def with_everything() -> Trial:
            return measure(f"{named}, {hybrid}", fused(finer[0]))

        steps += [with_smaller_chunks, with_everything]
    with track("what would have helped", len(steps), "trials") as advance:
        for step in steps:
            trials.append(step())
            advance(1)
    return tuple(trials)


def _smaller(chunker: Chunker) -> Chunker | None:
    """Return a chunker like another, of smaller chunks; None if that is not known to be possible."""
    from raglift.retrieval.chunkers import RecursiveChunker, TokenChunker

    if not isinstance(chunker, (RecursiveChunker, TokenChunker)):
        return None
    size = int(chunker.size * _SMALLER)
    return replace(chunker, size=size, overlap=int(chunker.overlap * _SMALLER)) if size else None


def _trial(name: str, evaluation: Evaluation, system: Retriever) -> Trial:
    """Return the ranks of the facts in an evaluation; of one question in all that the system ranks."""
    dataset, run = evaluation.dataset, evaluation.run
    stages = [[trace.stages[0].ranking for trace in run.traces], [trace.stages[-1].ranking for trace in run.traces]]
    if len(dataset) == 1:
        stages[0] = system.retrieve([query.text for query in dataset], _chunks_in(system))
    retrieved, reranked = (first_ranks(dataset, rankings, evaluation.profile) for rankings in stages)
    return Trial(name, run.spec["candidates"], retrieved, reranked, is_reranked=len(run.stages) > 1)


def _chunks_in(system: Retriever) -> int:
    part = system.retrievers[0] if isinstance(system, HybridRetriever) else system
    return len(part.chunks)  # type: ignore[attr-defined]


def first_ranks(dataset: Dataset, rankings: Sequence[Ranking], profile: str) -> tuple[int | None, ...]:
    """Return, for each fact of each query, the rank of the first hit that matches it; None if none does."""
    rule = MatchRule.for_profile(profile)
    ranks: list[int | None] = []
    for query, ranking in zip(dataset, rankings, strict=True):
        judged = match_rankings([query], [[ranking]], rule)[0].matches
        first: dict[int, int] = {}
        for fact, rank in zip(judged.fact.tolist(), judged.rank.tolist(), strict=True):
            first[fact] = min(rank, first.get(fact, rank))
        ranks += [first.get(number) for number in range(len(query.facts))]
    return tuple(ranks)


def say(console: Console, text: str, *, wrap: bool = False) -> None:
    """Print text that may come from a corpus: no markup is read in it, and no control character gets through."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=not wrap)


def show_trials(trials: Sequence[Trial], questions: int, k: int, console: Console) -> None:
    """Print what each trial changes, the ranks of the labels, and what helped.

    Args:
        trials: the walkthrough itself, then the trials.
        questions: of how many questions; of one, each label has its row.
        k: the depth that counts.
        console: where to print.
    """
    for number, trial in enumerate(trials, start=1):
        say(console, f"  {number}  {trial.name}", wrap=True)
    labels = len(trials[0].reranked)
    say(console, "")
    say(console, f"{'':{_LABEL_WIDTH}}" + "".join(f"{number:>{_COLUMN_WIDTH}}" for number in range(1, len(trials) + 1)))
    if questions == 1:
        for label in range(labels):
            cells = [_cell(each, _rank(each.retrieved[label]), _rank(each.reranked[label])) for each in trials]
            say(console, _row(f"label {label + 1}", cells))
    else:
        say(console, _row("candidates", [f"{each.found(each.candidates):,}" for each in trials]))
    cells = [_cell(each, f"{each.found(k, reranked=False):,}", f"{each.found(k):,}") for each in trials]
    say(console, _row(f"first {k}", cells))
    say(console, _meaning(trials[0], counted(labels, "label"), questions, k), wrap=True)
    say(console, _what_helped(trials, labels, k), wrap=True)


def _cell(trial: Trial, retrieved: str, reranked: str) -> str:
    return f"{retrieved} → {reranked}" if trial.is_reranked else retrieved


def _row(title: str, cells: Sequence[str]) -> str:
    return f"{title:<{_LABEL_WIDTH}}" + "".join(f"{cell:>{_COLUMN_WIDTH}}" for cell in cells)


def _rank(rank: int | None) -> str:
    return "–" if rank is None else f"{rank:,}"


def _meaning(trial: Trial, labels: str, questions: int, k: int) -> str:
    """Say what the rows are."""
    first = f"first {k}: how many are among the first {k} hits" + (", → reranked." if trial.is_reranked else ".")
    if questions > 1:
        return f"candidates: how many of the {labels} of {questions:,} questions are among them. {first}"
    then = " → among the candidates, reranked" if trial.is_reranked else ""
    return f"label: its rank among all chunks, as retrieved{then} (– where it is in none of them). {first}"


def _what_helped(trials: Sequence[Trial], labels: int, k: int) -> str:
    base = trials[0].found(k)
    most = max(trial.found(k) for trial in trials)
    if most <= base:
        return f"None of it brings more labels into the first {k} hits: try another --embedding or --reranker."
    best = [str(number) for number, trial in enumerate(trials, start=1) if trial.found(k) == most]
    now = f"{most:,} of {counted(labels, 'label')} among the first {k} hits"
    return f"Most with {' and '.join(best)}: {now}, against {base:,} above."
