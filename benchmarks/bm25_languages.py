r"""What BM25 finds in English, Chinese and Thai, beside Anserini's published figures and a BM25 over `\w+` words.

The collections are BEIR's SciFact and XQuAD, which are not part of raglift: `../shared/corpora` or the folder that
RAGLIFT_CORPORA names holds `scifact` (corpus.jsonl, queries.jsonl, qrels/test.tsv) and `xquad` (xquad.en.json and
further languages, in the form of SQuAD 1.1). A document is a title with its abstract, or a distinct paragraph; a query
is a claim, or a question without white space around it. Run it as

    python benchmarks/bm25_languages.py [--corpora FOLDER] [--retriever bm25 ...]
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
from raglift.components import parse_retriever
from raglift.records import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ANSERINI = "bm25(stemmer=porter,k1=0.9,b=0.4)"
RETRIEVERS = ("bm25", ANSERINI)
NDCG, RECALL = "ndcg@10", "recall@100"
DEPTH = 100
PUBLISHED = {"scifact": {NDCG: 0.6789, RECALL: 0.9253}}
"""Anserini's flat BM25 (https://castorini.github.io/pyserini/2cr/beir.html), with k1 = 0.9 and b = 0.4."""


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
    return Collection(file.stem.replace(".", " "), documents, {text: text for text in relevant}, relevant)


def collections(folder: Path) -> Iterator[Collection]:
    """Yield what there is in a folder."""
    if (folder / "scifact").is_dir():
        yield scifact(folder / "scifact")
    for file in sorted((folder / "xquad").glob("xquad.*.json")):
        yield xquad(file)


Rankings = dict[str, list[str]]


def ranked(collection: Collection, retriever: str) -> Rankings:
    """Return what raglift's BM25 finds."""
    chunks = [Chunk(text, id=document) for document, text in collection.documents.items()]
    made = parse_retriever(retriever).bm25.retriever(chunks)
    found = made.retrieve(list(collection.queries.values()), DEPTH)
    return {query: [hit.chunk.id for hit in ranking] for query, ranking in zip(collection.queries, found, strict=True)}


def ranked_by_words(collection: Collection) -> Rankings:
    r"""Return what bm25s finds with its defaults where `\w+` is a word, as raglift 0.1.0 did."""
    documents = list(collection.documents)
    model = bm25s.BM25()
    model.index([_words(text) for text in collection.documents.values()], show_progress=False)
    rankings = {}
    for query, text in collection.queries.items():
        places, scores = model.retrieve([_words(text)], k=min(DEPTH, len(documents)), show_progress=False)
        found = zip(places[0].tolist(), scores[0].tolist(), strict=True)
        rankings[query] = [documents[place] for place, score in found if score > 0]
    return rankings


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def figures(collection: Collection, rankings: Rankings) -> tuple[float, float, int]:
    """Return NDCG@10, Recall@100 and how many queries came back empty."""
    scores = rl.score_rankings(rankings, collection.relevant, [NDCG, RECALL])
    return scores.mean(NDCG), scores.mean(RECALL), sum(not ranking for ranking in rankings.values())


def main() -> None:
    """Print a table for each collection."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    beside = Path(__file__).parents[1] / ".." / "shared" / "corpora"
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("RAGLIFT_CORPORA", beside)))
    parser.add_argument("--retriever", nargs="+", default=RETRIEVERS)
    asked = parser.parse_args()
    there = list(collections(asked.corpora))
    if not there:
        sys.exit(f"{asked.corpora}: found neither scifact nor xquad; expected one of them: see --help")
    for collection in there:
        say(f"{collection.name}: {len(collection.queries):,} queries, {len(collection.documents):,} documents")
        say(f"  {'':38}NDCG@10  R@100  empty")
        rows = {retriever: ranked(collection, retriever) for retriever in asked.retriever}
        for name, rankings in {**rows, r"\w+ words, k1=1.5, b=0.75": ranked_by_words(collection)}.items():
            ndcg, recall, empty = figures(collection, rankings)
            say(f"  {name:38} {ndcg:.4f} {recall:.4f} {empty:6,}")
        if published := PUBLISHED.get(collection.name):
            say(f"  {'Anserini, published':38} {published[NDCG]:.4f} {published[RECALL]:.4f}")
        say("")


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
