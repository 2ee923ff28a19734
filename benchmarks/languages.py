r"""What BM25 and two embedding models find in any language, beside published figures and a BM25 over `\w+` words.

The collections are BEIR's SciFact and XQuAD, which are not part of raglift: `../shared/corpora` or the folder that
RAGLIFT_CORPORA names holds `scifact` (corpus.jsonl, queries.jsonl, qrels/test.tsv) and `xquad` (xquad.en.json and any
further languages, in the form of SQuAD 1.1). A document is a title with its abstract, or a distinct paragraph; a query
is a claim, or a question without white space around it. all-MiniLM-L6-v2 computes in float32, as MTEB's published runs
of it do, and bge-small-en-v1.5 in 8-bit integers. Where MiniLM knows none of the words of two documents it gives them
the same score, and the last bit of a sum decides which comes first: what the figures are at worst and at best is
printed too. Run it as

    python benchmarks/languages.py [--corpora FOLDER] [--collection xquad.th ...] [--retriever bm25 dense ...]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import bm25s

import raglift as rl
from raglift.adapters import embedder_by_name
from raglift.retrieval import DenseRetriever, build_index, parse_retriever
from raglift.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.retrieval import Retriever

ANSERINI = "bm25(stemmer=porter,k1=0.9,b=0.4)"
DENSE, BGE = "minilm", "bge-small"
RETRIEVERS = ("bm25", ANSERINI, DENSE, BGE)
NDCG, MAP, RECALL = METRICS = "ndcg@10", "map@10", "recall@100"
DEPTH = 100
TIED = 1e-6
"""Scores that differ by less are equal but for rounding."""
PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    "scifact": {
        ANSERINI: {NDCG: 0.6789, RECALL: 0.9253},
        DENSE: {NDCG: 0.64508, MAP: 0.59593, RECALL: 0.925},
        BGE: {NDCG: 0.7127},
    },
    "xquad.en": {DENSE: {NDCG: 0.94357, MAP: 0.92807}, BGE: {NDCG: 0.953}},
    "xquad.zh": {DENSE: {NDCG: 0.24225, MAP: 0.20207}},
    "xquad.th": {DENSE: {NDCG: 0.10145}},
}
"""Anserini's flat BM25 with k1 = 0.9 and b = 0.4 (https://castorini.github.io/pyserini/2cr/beir.html), and MTEB's
results of all-MiniLM-L6-v2 and, in float32, bge-small-en-v1.5 (https://github.com/embeddings-benchmark/results)."""


@dataclass(frozen=True)
class Collection:
    """Texts to search in, and questions with the texts that answer them."""

    name: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    relevant: Mapping[str, Sequence[str]]


def scifact(folder: Path) -> Collection:
    """Read the queries of the test set, and all documents."""
    documents, texts = (_by_id(folder / name) for name in ("corpus.jsonl", "queries.jsonl"))
    relevant: dict[str, list[str]] = {}
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if int(row["score"]) > 0:
                relevant.setdefault(row["query-id"], []).append(row["corpus-id"])
    return Collection("scifact", documents, {query: texts[query] for query in relevant}, relevant)


def _by_id(file: Path) -> dict[str, str]:
    with file.open(encoding="utf-8") as lines:
        records = map(json.loads, lines)
        return {record["_id"]: f"{record.get('title', '')} {record['text']}".strip() for record in records}


def xquad(file: Path) -> Collection:
    """Read one language of XQuAD: every distinct paragraph, every distinct question."""
    found: dict[str, str] = {}
    relevant: dict[str, list[str]] = {}
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            document = found.setdefault(paragraph["context"], str(len(found)))
            for question in paragraph["qas"]:
                answers = relevant.setdefault(question["question"].strip(), [])
                answers += [] if document in answers else [document]
    documents = {document: text for text, document in found.items()}
    return Collection(file.stem, documents, {text: text for text in relevant}, relevant)


def collections(folder: Path) -> Iterator[Collection]:
    """Yield what there is in a folder."""
    if (folder / "scifact").is_dir():
        yield scifact(folder / "scifact")
    for file in sorted((folder / "xquad").glob("xquad.*.json")):
        yield xquad(file)


Rankings = dict[str, list[tuple[str, float]]]
"""The documents that each query found, with their scores, best first."""


def ranked(collection: Collection, retriever: str) -> Rankings:
    """Return what one of raglift's retrievers finds."""
    chunks = [Chunk(text, id=document) for document, text in collection.documents.items()]
    made: Retriever
    if retriever in (DENSE, BGE):
        made = DenseRetriever(build_index(chunks, embedder_by_name(retriever, dtype="float32")))
    else:
        made = parse_retriever(retriever).bm25.retriever(chunks)
    found = made.retrieve(list(collection.queries.values()), DEPTH)
    return {
        query: [(hit.chunk.id, hit.score or 0.0) for hit in ranking]
        for query, ranking in zip(collection.queries, found, strict=True)
    }


def ranked_by_words(collection: Collection) -> Rankings:
    r"""Return what bm25s finds with its defaults where `\w+` is a word, as raglift 0.1.0 did."""
    documents = list(collection.documents)
    model = bm25s.BM25()
    model.index([_words(text) for text in collection.documents.values()], show_progress=False)
    rankings = {}
    for query, text in collection.queries.items():
        places, scores = model.retrieve([_words(text)], k=min(DEPTH, len(documents)), show_progress=False)
        found = zip(places[0].tolist(), scores[0].tolist(), strict=True)
        rankings[query] = [(documents[place], score) for place, score in found if score > 0]
    return rankings


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def in_order_of_ties(rankings: Rankings, collection: Collection, *, relevant_first: bool) -> Rankings:
    """Return rankings with the relevant ones of hits of equal scores before all others, or after them."""
    ordered: Rankings = {}
    for query, ranking in rankings.items():
        wanted = set(collection.relevant[query])
        ordered[query] = [
            hit
            for group in _of_equal_scores(ranking)
            for hit in sorted(group, key=lambda hit: (hit[0] in wanted) is not relevant_first)
        ]
    return ordered


def _of_equal_scores(ranking: list[tuple[str, float]]) -> list[list[tuple[str, float]]]:
    groups: list[list[tuple[str, float]]] = []
    for hit in ranking:
        if groups and groups[-1][-1][1] - hit[1] < TIED:
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return groups


def figures(collection: Collection, rankings: Rankings) -> dict[str, float]:
    """Return NDCG@10, MAP@10 and Recall@100."""
    ids = {query: [document for document, _ in ranking] for query, ranking in rankings.items()}
    scores = rl.score_rankings(ids, collection.relevant, METRICS)
    return {metric: scores.mean(metric) for metric in METRICS}


def main() -> None:
    """Print a table for each collection."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    beside = Path(__file__).parents[1] / ".." / "shared" / "corpora"
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("RAGLIFT_CORPORA", beside)))
    parser.add_argument("--collection", nargs="+", help="as scifact or xquad.zh; all by default")
    parser.add_argument("--retriever", nargs="+", default=RETRIEVERS)
    asked = parser.parse_args()
    there = [each for each in collections(asked.corpora) if asked.collection is None or each.name in asked.collection]
    if not there:
        sys.exit(f"{asked.corpora}: found no collection; expected scifact or xquad: see --help")
    for collection in there:
        print_figures(collection, asked.retriever)


def print_figures(collection: Collection, retrievers: Sequence[str]) -> None:
    """Print what each retriever finds in a collection, with what is published of it."""
    say(f"{collection.name}: {len(collection.queries):,} queries, {len(collection.documents):,} documents")
    say(f"  {'':36} {'NDCG@10':>9} {'MAP@10':>9} {'R@100':>9}  empty")
    for retriever in retrievers:
        rankings = ranked(collection, retriever)
        say_figures(retriever, figures(collection, rankings), sum(not ranking for ranking in rankings.values()))
        worst, best = (
            figures(collection, in_order_of_ties(rankings, collection, relevant_first=first)) for first in (False, True)
        )
        if retriever == DENSE and worst[NDCG] < best[NDCG]:
            say_figures("  ties at worst", worst)
            say_figures("  ties at best", best)
        if published := PUBLISHED.get(collection.name, {}).get(retriever):
            say_figures("  published", published)
    words = ranked_by_words(collection)
    say_figures(
        r"\w+ words, k1=1.5, b=0.75", figures(collection, words), sum(not ranking for ranking in words.values())
    )
    say("")


def say_figures(name: str, found: Mapping[str, float], empty: int | None = None) -> None:
    """Print a row of the table."""
    shown = " ".join(f"{found[metric]:9.5f}" if metric in found else f"{'':9}" for metric in METRICS)
    say(f"  {name:36} {shown}" + ("" if empty is None else f" {empty:6,}"))


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line.rstrip() + "\n")


if __name__ == "__main__":
    main()
