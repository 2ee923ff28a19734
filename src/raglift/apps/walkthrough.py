"""The War and Peace retrieval tutorial, step by step, on the real book.

Load, split, embed, normalize, index, retrieve with cosine similarities, rerank; then Hit, Precision, Recall and F1 at
k, reciprocal rank and average precision, and graded DCG and NDCG, before and after reranking. Every number is printed
with what it means and the k it was taken at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raglift.adapters.embeddings import embedder_by_name
from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.graded_measures import DCG, IDCG, NDCG
from raglift.metrics.rank_measures import AP, F1, RR, HitRate, Precision, Recall
from raglift.rendering.document import Column, Detail, Table, table_from
from raglift.rendering.terminal import print_document, write
from raglift.report.views.evaluation import evaluation_view
from raglift.retrieval.embedding import build_index
from raglift.retrieval.models import CROSS_ENCODER
from raglift.retrieval.retrievers import DenseRetriever
from raglift.running.evaluation import evaluate
from raglift.running.systems import LocalSystem, chunks_of
from raglift.types.labels import Query, passage_text
from raglift.utilities.display import excerpt, printable

if TYPE_CHECKING:
    from rich.console import Console

    from raglift.analysis.explanation import ExplainedHit
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.metric import Metric


TUTORIAL_METRICS = (HitRate, Precision, Recall, F1, RR, AP, DCG, IDCG, NDCG)
"""What the tutorial takes, in its order."""
_WORDS = 40
"""Characters of a hit that are shown."""


@dataclass(frozen=True)
class Settings:
    """What the walkthrough runs with."""

    system: LocalSystem = field(default_factory=LocalSystem)
    """Chunk size, embedding model, dtype."""
    reranker: str = CROSS_ENCODER
    """The name of a reranker."""
    k: int = 10
    """How many hits are retrieved, reranked and scored."""
    profile: str = "tutorial"
    """Whose metric conventions."""
    ks: tuple[int, ...] = ()
    """Smaller depths, at which metrics are printed too; by default 1, 3 and 5."""


def walk(dataset: Dataset, questions: list[Query], settings: Settings, console: Console) -> Evaluation:
    """Print every step of the tutorial for one question or many."""
    if not questions:
        raise ConfigurationError("walkthrough: found no question; expected at least one")
    retriever = _index(dataset, settings, console)
    evaluation = evaluate(
        retriever,
        replace(dataset, queries=tuple(questions)),
        reranker=settings.reranker,
        ks=sorted({*(settings.ks or (1, 3, 5)), settings.k} & set(range(1, settings.k + 1))),
        depth="deep",
        candidates=settings.k,
        profile=settings.profile,
        metrics=TUTORIAL_METRICS,
        dtype=settings.system.dtype,
        device=settings.system.device,
    )
    if len(questions) == 1:
        _show_hits(evaluation, settings, console)
        if evaluation.scores.mean(evaluation.before, HitRate @ settings.k) == 0:
            _show_where_the_labels_are(evaluation, retriever, console)
    else:
        _heading(console, 4, f"Ask {len(questions)} questions, retrieve the {settings.k} most similar chunks to each")
        for stage in evaluation.run.stages[1:]:
            _heading(console, 5, f"Rerank them: {stage.system}")
    show_metrics(evaluation, settings.k, console)
    _heading(console, 9, "All of it, at every depth")
    print_document(evaluation_view(evaluation, detail=Detail.DETAILS), Detail.DETAILS, console=console)
    return evaluation


def _index(dataset: Dataset, settings: Settings, console: Console) -> DenseRetriever:
    _heading(console, 1, "Load the text")
    for document in dataset.documents:
        say(
            console,
            f"{document.id}: {len(document.text):,} characters, without its publisher's header and licence",
            wrap=True,
        )
    for note in dataset.resolution.notes:
        say(console, f"! {note}", wrap=True)
    _heading(console, 2, f"Split it: {settings.system.chunker}")
    chunks = chunks_of(dataset, settings.system.chunker)
    lengths = sorted(len(chunk.text) for chunk in chunks)
    say(console, f"{len(chunks):,} chunks; the median has {lengths[len(lengths) // 2]:,} characters", wrap=True)
    _heading(console, 3, "Embed the chunks, normalize the vectors, index them in FAISS by inner product")
    embedder = embedder_by_name(settings.system.embedding, dtype=settings.system.dtype, device=settings.system.device)
    index = build_index(chunks, embedder, progress=None)
    say(console, f"model: {embedder.identity}")
    distinct = len({chunk.text for chunk in chunks})
    say(
        console,
        f"{index.vectors.shape[0]:,} vectors of {index.vectors.shape[1]} dimensions and length 1, so that the inner "
        f"product is the cosine similarity; {index.computed:,} of {distinct:,} distinct chunks embedded now, "
        "the others were in the cache",
        wrap=True,
    )
    if index.read_in_part:
        say(
            console,
            f"! {index.read_in_part:,} chunks are longer than the model reads: their beginning was embedded",
            wrap=True,
        )
    return DenseRetriever(index)


def _show_hits(evaluation: Evaluation, settings: Settings, console: Console) -> None:
    """Print the hits of one question before and after reranking, and which label each one matches."""
    query = evaluation.dataset.queries[0]
    _heading(console, 4, f"Ask, and retrieve the {settings.k} most similar chunks")
    say(console, f"question: {query.text}", wrap=True)
    for number, fact in enumerate(query.facts, start=1):
        for alternative, passage in enumerate(fact.passages):
            say(console, f"  {'     or' if alternative else f'label {number}'}: {passage_text(passage)}", wrap=True)
    first = {hit.chunk.id: hit.rank for hit in evaluation.hits(query.id, evaluation.before)}
    for number, stage in enumerate(evaluation.run.stages):
        if number:
            _heading(console, 5, f"Rerank them: {stage.system}")
        hits = evaluation.explain(query.id, stage=stage.name).hits
        write(console, [_hits_table(hits, first if number else None)])


def _hits_table(hits: Sequence[ExplainedHit], first: Mapping[str, int] | None) -> Table:
    """Return a row per hit: rank, the rank it had at first, score, the labels it matches, its chunk, and words."""

    def score(each: ExplainedHit) -> str:
        return "–" if each.hit.score is None else f"{each.hit.score:.4f}"

    def labels(each: ExplainedHit) -> str:
        return ", ".join(map(str, sorted({overlap.fact for overlap in each.overlaps if overlap.counts})))

    columns: list[Column[ExplainedHit]] = [
        Column("rank", lambda each: str(each.hit.rank)),
        Column("cosine" if first is None else "score", score),
        Column("label", labels),
        Column("chunk", lambda each: each.hit.chunk.id, words=True),
        Column("text", lambda each: excerpt(each.hit.chunk.text, _WORDS), words=True),
    ]
    if first is not None:
        columns.insert(1, Column("was", lambda each: str(first.get(each.hit.chunk.id, "–"))))
    return table_from(columns, hits, "The hits, and the labels they match")


def _show_where_the_labels_are(evaluation: Evaluation, retriever: DenseRetriever, console: Console) -> None:
    """Say at which ranks of the whole index the labels of one question are first matched."""
    query = evaluation.dataset.queries[0]
    ranking = retriever.retrieve([query.text], len(retriever.index.chunks))[0]
    matched = match_rankings([query], [[ranking]], MatchRule.for_profile(evaluation.profile))[0].matches
    first: dict[int, int] = {}
    for fact, rank in zip(matched.fact.tolist(), matched.rank.tolist(), strict=True):
        first[fact] = min(rank, first.get(fact, rank))
    places = [
        f"label {fact + 1} at rank {first[fact]:,}" if fact in first else f"label {fact + 1} in no chunk"
        for fact in range(len(query.facts))
    ]
    say(
        console,
        "\nNone of the labels is among these hits, so every figure below is 0. In the ranking of all "
        f"{len(ranking):,} chunks: {', '.join(places)}. A sweep measures what more candidates, smaller chunks or "
        "hybrid retrieval would change.",
        wrap=True,
    )


def show_metrics(evaluation: Evaluation, k: int, console: Console) -> None:
    """Print each metric at k, before and after, and what it means."""
    single = len(evaluation.dataset) == 1
    tutorial = evaluation.profile == "tutorial"
    hits = f"the first {k} hits"
    _heading(console, 6, f"Unordered metrics at k = {k}: what is among {hits}, in whatever order")
    share = "is 1 when" if single else "the share of questions for which"
    _line(evaluation, HitRate @ k, f"{share} at least one label is among {hits}", console)
    _line(evaluation, Precision @ k, f"how many of {hits} match a label, divided by {k}", console)
    what = "ground-truth texts" if tutorial else "facts"
    _line(evaluation, Recall @ k, f"how many of the {what} are found by {hits}, divided by all of them", console)
    _line(
        evaluation,
        F1 @ k,
        "the harmonic mean of the two" + ("" if single else ", question by question"),
        console,
    )
    if len(evaluation.scores.stages) > 1:
        say(
            console,
            f"The reranker puts the same {k} hits in another order, so at k = {k} these four cannot change; "
            "at a smaller k they can (step 9).",
            wrap=True,
        )
    _heading(console, 7, f"Rank-aware metrics at k = {k}: how early the labels are found")
    _line(
        evaluation,
        RR @ k,
        "1 / the rank of the first hit that matches" + ("" if single else "; the mean is MRR"),
        console,
    )
    _line(evaluation, AP @ k, "precision at each rank where a label is found, averaged over all labels", console)
    _heading(console, 8, f"Graded metrics at k = {k}: how good, and how early")
    _line(evaluation, DCG @ k, "the sum of grade / log2(rank + 1)", console)
    ideal = "the retrieved hits, sorted by grade" if tutorial else "all labels, the best first"
    _line(evaluation, IDCG @ k, f"the DCG of the ideal order of {ideal}", console)
    _line(evaluation, NDCG @ k, "DCG / IDCG", console)
    if tutorial:
        say(console, _ndcg_with_all_labels(evaluation, k), wrap=True)


def _ndcg_with_all_labels(evaluation: Evaluation, k: int) -> str:
    from raglift.running.scoring import rescore

    strict = rescore(evaluation, metrics=[NDCG @ k], ks=(k,), profile="default").scores
    values = ", ".join(f"{strict.mean(stage, NDCG @ k):.4f} at {stage}" for stage in strict.stages)
    return (
        f"The tutorial's ideal holds only what was retrieved, so a label that was missed costs nothing. "
        f"Against all labels (raglift's default, as in trec_eval) NDCG@{k} is {values}."
    )


def say(console: Console, text: str, *, wrap: bool = False) -> None:
    """Print text that may come from a corpus: no markup is read in it, and no control character gets through."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=not wrap)


def _line(evaluation: Evaluation, metric: Metric, meaning: str, console: Console) -> None:
    from raglift.metrics.computing import mean_title, title

    scores = evaluation.scores
    name = title(metric) if len(evaluation.dataset) == 1 else mean_title(metric)
    values = [scores.mean(stage, metric) for stage in dict.fromkeys((evaluation.before, evaluation.after))]
    text = f"{name:<13} {figures(metric, values, decimals=4 if len(evaluation.dataset) > 1 else None)}"
    if len(evaluation.dataset) > 1:
        text += f"  (n = {scores.n(evaluation.before, metric):,})"
    say(console, f"{text}  {meaning}")


def _heading(console: Console, number: int, text: str) -> None:
    console.print(f"\n{number}. {printable(text)}", style="bold", markup=False, highlight=False, soft_wrap=True)


def figures(metric: Metric, values: Sequence[float], *, decimals: int | None = None) -> str:
    """Return a metric's values from stage to stage; of one question as the tutorial prints them by default."""
    # One question is hit or not, the rest with two decimals
    places = decimals if decimals is not None else 0 if metric.name == HitRate.name else 2
    return " → ".join("–" if math.isnan(value) else f"{value:.{places}f}" for value in values)
