"""How many of 50 planted label errors are among the first suspects.

Fifty labels of the corpus shop_support are made wrong, ten of each kind, and the first 50 and 100 suspects are compared
with them. Kinds: the passage of another question; a passage of another document that reads like an answer; a neighbour
of the right passage; a copy of a labelled passage elsewhere in the corpus that nobody labelled; an alternative that was
taken away. The corpus has label errors of its own, which count as false alarms here, so the true precision is higher.
Run it as

    python benchmarks/suspects.py [--seeds 0 1 2] [--each 10]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from raglift.auditing import suspects
from raglift.components.bm25 import BM25Retriever
from raglift.components.chunkers import RecursiveChunker
from raglift.datasets.loading import load_dataset
from raglift.records.dataset import Dataset
from raglift.records.documents import Document
from raglift.records.labels import Fact, Passage, Query

KINDS = ("another question's", "another document's", "neighbour", "unlabelled copy", "missing alternative")


@dataclass(frozen=True)
class Planted:
    """A dataset with wrong labels."""

    dataset: Dataset
    wrong: dict[str, str]
    """The kind of each, by the query's id."""


def plant(dataset: Dataset, each: int = 10, seed: int = 0) -> Planted:
    """Make labels wrong: at most one of a query, so that the query's id tells which."""
    chance = random.Random(seed)  # noqa: S311 — no secret
    queries = {query.id: query for query in dataset}
    documents = list(dataset.documents)
    searcher = BM25Retriever(RecursiveChunker(300, 0).split(documents))
    free = [query.id for query in dataset if query.is_labelled]
    chance.shuffle(free)
    wrong: dict[str, str] = {}
    for kind in KINDS:
        count = 0
        for query_id in list(free):
            if count == each:
                break
            made = _MADE[kind](queries[query_id], dataset, documents, searcher, chance)
            if made is None:
                continue
            queries[query_id] = made
            wrong[query_id] = kind
            free.remove(query_id)
            count += 1
    return Planted(Dataset(tuple(queries.values()), tuple(documents), dataset.name), wrong)


def _replaced(query: Query, passage: Passage | None) -> Query | None:
    """Return the query with this as the only passage of its first fact."""
    return None if passage is None else replace(query, facts=(Fact((passage,)), *query.facts[1:]))


def _of_another_question(
    query: Query, dataset: Dataset, _documents: list[Document], _searcher: BM25Retriever, chance: random.Random
) -> Query | None:
    own = {passage.doc_id for fact in query.facts for passage in fact.passages}
    others = [fact.passages[0] for other in dataset for fact in other.facts if fact.passages[0].doc_id not in own]
    return _replaced(query, chance.choice(others))


def _of_another_document(
    query: Query, _dataset: Dataset, _documents: list[Document], searcher: BM25Retriever, chance: random.Random
) -> Query | None:
    own = {passage.doc_id for fact in query.facts for passage in fact.passages}
    (ranking,) = searcher.retrieve([query.text], 15)
    found = [hit.chunk for hit in ranking.hits if hit.chunk.doc_id not in own]
    if not found:
        return None
    chunk = chance.choice(found[:5])
    return _replaced(query, Passage(chunk.text, chunk.doc_id, chunk.start, chunk.end))


def _neighbour(
    query: Query, dataset: Dataset, _documents: list[Document], _searcher: BM25Retriever, chance: random.Random
) -> Query | None:
    passage = query.facts[0].passages[0]
    if passage.doc_id is None or passage.start is None or passage.end is None or len(query.facts[0].passages) > 1:
        return None
    taken = [
        (one.start or 0, one.end or 0) for fact in query.facts for one in fact.passages if one.doc_id == passage.doc_id
    ]
    text = dataset.document_by_id[passage.doc_id].text
    lines, at = [], 0
    for line in text.split("\n"):
        start, end = at, at + len(line)
        at = end + 1
        if len(line) >= 60 and all(end <= first or last <= start for first, last in taken):
            lines.append((start, end))
    if not lines:
        return None
    nearest = sorted(lines, key=lambda line: abs(line[0] - (passage.start or 0)))[:2]
    start, end = chance.choice(nearest)
    return _replaced(query, Passage(text[start:end], passage.doc_id, start, end))


def _copy(
    query: Query, dataset: Dataset, documents: list[Document], _searcher: BM25Retriever, chance: random.Random
) -> Query | None:
    passage = query.facts[0].passages[0]
    words = (passage.text or "").split()
    labelled = sum(passage in fact.passages for other in dataset for fact in other.facts)
    if len(words) < 12 or labelled > 1:
        return None
    del words[chance.randrange(1, len(words) - 1)]  # as when texts are edited
    documents.append(Document(f"copied/{query.id}.md", f"# Notes\n\n{' '.join(words)}\n"))
    return query


def _without_alternative(
    query: Query, _dataset: Dataset, _documents: list[Document], _searcher: BM25Retriever, chance: random.Random
) -> Query | None:
    for number, fact in enumerate(query.facts):
        if len(fact.passages) > 1:
            gone = chance.randrange(len(fact.passages))
            kept = tuple(one for place, one in enumerate(fact.passages) if place != gone)
            facts = (*query.facts[:number], replace(fact, passages=kept), *query.facts[number + 1 :])
            return replace(query, facts=facts)
    return None


_Made = Callable[[Query, Dataset, list[Document], BM25Retriever, random.Random], Query | None]
_MADE: dict[str, _Made] = dict(
    zip(KINDS, (_of_another_question, _of_another_document, _neighbour, _copy, _without_alternative), strict=True)
)


@dataclass(frozen=True)
class Found:
    """What the first suspects are."""

    precision: dict[int, float]
    """Of the first so many suspects: which share is planted, each planted error counted once."""
    recall: dict[str, float]
    """Of each kind, which share is among the first 100."""


def measured(planted: Planted, depths: tuple[int, ...] = (50, 100)) -> Found:
    """Return how many planted errors are among the first suspects."""
    ranked = suspects(planted.dataset).suspects
    precision = {
        depth: len({one.query_id for one in ranked[:depth]} & planted.wrong.keys()) / depth for depth in depths
    }
    first = {one.query_id for one in ranked[: max(depths)]}
    kinds = Counter(planted.wrong.values())
    found = Counter(kind for query, kind in planted.wrong.items() if query in first)
    return Found(precision, {kind: found[kind] / kinds[kind] for kind in KINDS if kinds[kind]})


def main(arguments: list[str]) -> None:
    """Print the precision of each seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--each", type=int, default=10)
    given = parser.parse_args(arguments)
    dataset = load_dataset("shop_support")
    for seed in given.seeds:
        found = measured(plant(dataset, given.each, seed))
        precision = ", ".join(f"{share:.0%} of the first {depth}" for depth, share in found.precision.items())
        by_kind = ", ".join(f"{kind} {share:.0%}" for kind, share in found.recall.items())
        sys.stdout.write(f"seed {seed}: {precision}; found among them: {by_kind}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
