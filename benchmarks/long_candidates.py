"""What late interaction makes of candidates that are longer than the model reads.

For each chunker: NDCG@10 before reranking, after late interaction over the first tokens of each candidate alone (as
many as the model reads at once), and over all of them; and how a candidate's score depends on its length. Run it as

    python benchmarks/long_candidates.py [DATASET] [--chunkers NAME ...] [--retriever dense|bm25]
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from raglift import evaluate
from raglift.adapters import chunker_by_name
from raglift.datasets import load_dataset
from raglift.metrics import NDCG
from raglift.retrieval import (
    BM25Retriever,
    DenseRetriever,
    LateInteractionReranker,
    SentenceTransformerEmbedder,
    build_index,
    load_sentence_transformer,
)
from raglift.retrieval.batches import token_counts
from raglift.running import rerank
from raglift.running.systems import chunks_of
from raglift.types import Hit, Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift import Evaluation

CHUNKERS = ("recursive:1000/100", "llama_index.SentenceSplitter:1024/200")
METRIC = NDCG @ 10
BANDS = (0, 128, 256, 512, 1024)


class BeginningAlone:
    """Late interaction over the first tokens of each candidate: as many as the model reads at once."""

    def __init__(self, reranker: LateInteractionReranker) -> None:
        self._reranker = reranker
        self._model = load_sentence_transformer(reranker.model, reranker.dtype)

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Sort the hits of each ranking by the scores of their beginnings."""
        texts = dict.fromkeys(hit.chunk.text for ranking in rankings for hit in ranking)
        beginnings = {text: self._beginning(text) for text in texts}
        scores = self._reranker.scores(
            sorted(
                {
                    (query, beginnings[hit.chunk.text])
                    for query, ranking in zip(queries, rankings, strict=True)
                    for hit in ranking
                }
            )
        )
        return [
            Ranking.of(
                (hit.chunk, scores[query, beginnings[hit.chunk.text]])
                for hit in sorted(ranking, key=lambda hit: -scores[query, beginnings[hit.chunk.text]])
            )
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    def _beginning(self, text: str) -> str:
        tokenizer, room = self._model.tokenizer, self._model.max_seq_length - 2
        places = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
        return text if len(places) <= room else text[: places[room - 1][1]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?", default="shop_support")
    parser.add_argument("--chunkers", nargs="+", default=CHUNKERS)
    parser.add_argument("--retriever", choices=("dense", "bm25"), default="dense")
    asked = parser.parse_args(arguments)
    data = load_dataset(asked.dataset)
    whole = LateInteractionReranker()
    sys.stdout.write(f"{data.name}, {asked.retriever}, {whole}, {METRIC}\n")
    for name in asked.chunkers:
        chunks = chunks_of(data, chunker_by_name(name))
        retriever = (
            BM25Retriever(chunks)
            if asked.retriever == "bm25"
            else DenseRetriever(build_index(chunks, SentenceTransformerEmbedder()))
        )
        retrieved = evaluate(retriever, data, metrics=[METRIC], depth="deep")  # 50 candidates
        before = retrieved.scores.mean(retrieved.after, METRIC)
        beginning = rerank(retrieved, BeginningAlone(whole))
        after = rerank(retrieved, whole)
        means = [one.scores.mean(one.after, METRIC) for one in (beginning, after)]
        found = f"before {before:.4f}, beginning {means[0]:.4f}, whole {means[1]:.4f}"
        sys.stdout.write(f"{name}: {len(chunks)} chunks; {found}\n")
        for title, one in (("beginning", beginning), ("whole", after)):
            sys.stdout.write(f"  {title:9}  {_by_length(one, whole)}\n")
    return 0


def _by_length(evaluation: Evaluation, reranker: LateInteractionReranker) -> str:
    """Return how the scores of candidates that match no label depend on their tokens.

    Scores of different queries do not compare, so each is taken as its distance from the mean over its query's
    candidates, for each token of the query.
    """
    model = load_sentence_transformer(reranker.model, reranker.dtype)
    texts = list(dict.fromkeys(hit.chunk.text for ranking in _last(evaluation) for hit in ranking))
    tokens = dict(zip(texts, token_counts(model, texts), strict=True))
    lengths, distances, correlations = [], [], []
    for query, ranking, relevant in zip(
        evaluation.dataset.queries, _last(evaluation), _relevant(evaluation), strict=True
    ):
        hits: list[Hit] = [hit for hit in ranking if hit.rank not in relevant]
        if len(hits) < 2:
            continue
        length = np.array([tokens[hit.chunk.text] for hit in hits])
        score = np.array([hit.score for hit in hits], dtype=float) / token_counts(model, [query.text])[0]
        lengths.append(length)
        distances.append(score - score.mean())
        correlations.append(spearmanr(length, score).statistic)
    every, distance = np.concatenate(lengths), np.concatenate(distances)
    bands = [
        f"{low + 1}–{high}: {distance[inside].mean():+.3f} ({inside.sum():,})"
        for low, high in pairwise(BANDS)
        if (inside := (every > low) & (every <= high)).any()
    ]
    return f"Spearman {np.nanmean(correlations):+.2f}; by tokens {', '.join(bands)}"


def _last(evaluation: Evaluation) -> list[Ranking]:
    return [trace.stages[-1].ranking for trace in evaluation.run.traces]


def _relevant(evaluation: Evaluation) -> list[set[int]]:
    table = evaluation.match_table[-1]
    found: list[set[int]] = [set() for _ in evaluation.dataset.queries]
    for rank, fact in zip(table.matches.rank.tolist(), table.matches.fact.tolist(), strict=True):
        found[int(table.facts.query[fact])].add(rank)
    return found


if __name__ == "__main__":
    sys.exit(main())
