"""Random evaluations of every kind: labels by span, text and id, alternatives, grades, tags, ties, failures."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import raglift as rl
from raglift.metrics.parsing import parse
from raglift.results.evaluation import Evaluation
from raglift.retrieval.rerankers import Pair, PairReranker
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Metric

WORDS = (
    "amber",
    "bell",
    "cliff",
    "dusk",
    "ember",
    "fog",
    "gull",
    "jetty",
    "keel",
    "lamp",
    "mast",
    "oar",
    "pier",
    "rope",
)
KINDS = ("spans", "texts", "ids")
READ = ("recall_area", "prompt_recall")
METRICS = [
    *map(
        parse, ["ndcg", "ndcg(gain=exponential)", "recall", "rr", "hit_rate", "precision", "f1", "ap", "context_tokens"]
    ),
    *map(Metric, READ),
]
BUDGET = 400
"""Of the measures of what is read, where a setting has no other."""


class Shuffling(PairReranker):
    """Scores pairs by their letters, in few steps, so that many are tied."""

    identity = "letters"

    def score(self, batch: Sequence[Pair]) -> list[float]:
        return [float(sum(map(ord, query + text)) % 5) for query, text in batch]


def corpus(draw: random.Random) -> list[Document]:
    return [
        Document(f"d{n}", " ".join(draw.choices(WORDS, k=draw.randint(60, 160)))) for n in range(draw.randint(3, 6))
    ]


def passage_of(draw: random.Random, kind: str, documents: Sequence[Document], chunks: Sequence[Any]) -> Passage:
    grade = draw.choice([1, 1, 1, 2, 3])
    if kind == "ids":
        return Passage(chunk_id=draw.choice(chunks).id, grade=grade)
    document = draw.choice(documents)
    words = document.text.split(" ")
    first = draw.randrange(len(words) - 8)
    start = len(" ".join(words[:first])) + (first > 0)
    text = " ".join(words[first : first + draw.randint(4, 14)])
    if kind == "texts":
        return Passage(text, grade=grade)
    return Passage(text, document.id, start, start + len(text), grade=grade)


def questions(draw: random.Random, kind: str, documents: Sequence[Document], chunks: Sequence[Any]) -> Iterator[Query]:
    """Some have several facts with alternatives of several grades, some none, and some have no answer."""
    for number in range(draw.choice([9, 16, 30, 90])):
        what = draw.random()
        facts: dict[tuple[Passage, ...], None] = {}
        while what > 0.15 and len(facts) < draw.choice([1, 1, 2, 3]):
            passages = (passage_of(draw, kind, documents, chunks) for _ in range(draw.choice([1, 1, 2, 3])))
            facts[tuple(dict.fromkeys(passages))] = None
        tags = tuple(draw.sample(["easy", "hard", "old"], draw.choice([0, 1, 1, 2])))
        facts_of = tuple(map(Fact, facts))
        yield Query(f"q{number}", f"where is {number}?", facts_of, tags, answerable=bool(facts_of) or what > 0.07)


def order_of(draw: random.Random, query: Query, chunks: Sequence[Any], deep: int) -> list[Any]:
    """A random order of all chunks, in which most of those that match something come early."""
    order = draw.sample(chunks, len(chunks))
    for passage in (passage for fact in query.facts for passage in fact.passages):
        begins = (passage.text or "")[:20]
        for chunk in chunks:
            if (chunk.id == passage.chunk_id or (begins and begins in chunk.text)) and draw.random() < 0.7:
                order.remove(chunk)
                order.insert(draw.randrange(deep), chunk)
    return order


@dataclass(frozen=True)
class Measured:
    """A system of random hits on random labels, some of whose questions fail."""

    seed: int

    def evaluation(self, candidates: int | None = None, least: int | None = None) -> Evaluation:
        draw = random.Random(self.seed)  # noqa: S311 — test data
        kind = KINDS[self.seed % 3]
        documents = corpus(draw)
        chunks = rl.RecursiveChunker(draw.choice([60, 120]), overlap=draw.choice([0, 20])).split(documents)
        queries = tuple(questions(draw, kind, documents, chunks))
        deep = min(len(chunks), draw.choice([6, 12, 20]))
        orders = {query.text: order_of(draw, query, chunks, deep) for query in queries}
        failing = {query.text for query in queries if draw.random() < 0.05}
        rule = draw.choice(["coverage", "containment"]) if kind != "ids" else "containment"
        share = draw.choice([0.5, 1.0])

        def search(question: str, k: int) -> list[Any]:
            if question in failing:
                raise ValueError("no answer")
            return orders[question][:k]

        asked = candidates or deep
        return rl.evaluate(
            search,
            Dataset(tuple(graded(queries, least)), tuple(documents), f"random {self.seed}"),
            reranker=Shuffling() if self.seed % 4 else None,
            candidates=asked,
            depth="deep",
            metrics=list(map(str, METRICS)),
            ks=[1, min(5, asked)],
            match=rl.MatchRule(rule, minimum_length=5, threshold=share if rule == "coverage" else None),
            chunks=chunks if self.seed % 5 else None,
            on_error="keep",
            retries=0,
            latency=0,
        )


def graded(queries: Sequence[Query], least: int | None) -> list[Query]:
    """The questions without the passages below a grade."""
    found = []
    for query in queries:
        left = [tuple(one for one in fact.passages if one.grade >= (least or 1)) for fact in query.facts]
        found.append(replace(query, facts=tuple(Fact(one) for one in left if one)))
    return found
