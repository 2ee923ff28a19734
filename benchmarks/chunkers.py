"""What chunkers do for BM25 and for the embedded model on a bundled corpus, as many hits each or as many tokens.

Chunks of different sizes are not compared at a number of hits: ten long chunks hold more than ten short ones. So each
row has NDCG over the first 10 hits, and over what fits into 2,000 tokens of context. Labels are matched by coverage;
the model computes in float32. `minilm(late)` is late chunking, `+headings` are contextual headers. Run it as

    python benchmarks/chunkers.py [--corpus NAME] [--chunker NAME ...] [--embedding NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import raglift as rl
from raglift.adapters import chunker_by_name, embedder_by_name
from raglift.components import BM25Retriever, DenseRetriever, build_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.components import Retriever
    from raglift.records import Chunk

CORPUS = "shop_support"
CHUNKERS = (
    "recursive:1000/100",
    "token:250/25",
    "sentence:1000/100",
    "chonkie.SentenceChunker:250/25",
    "chonkie.RecursiveChunker:250",
    "markdown:1000",
    "langchain.MarkdownHeaderTextSplitter:1000",
    "html:1000",
    "semantic(model=minilm):1000",
    "langchain.SemanticChunker(model=minilm):1000",
    "chonkie.SemanticChunker(model=minilm,threshold=0.5):250",
    "recursive:1000/100+headings",
    "sentence:1000/100+headings",
    "markdown:1000+headings",
)
BM25 = "bm25"
EMBEDDINGS = (BM25, "minilm", "minilm(late)")
METRICS = NDCG, BUDGET = "ndcg@10", "ndcg@tokens(2000)"


@dataclass(frozen=True)
class Row:
    """What one chunker does."""

    chunker: str
    chunks: int
    characters: float
    """The mean of their lengths."""
    found: dict[str, dict[str, float]]
    """Means by what retrieves, and by metric."""


def measured(dataset: rl.Dataset, chunker: str, embeddings: Sequence[str]) -> Row:
    """Return what BM25 and embedding models find in the chunks of a chunker."""
    with warnings.catch_warnings():  # of chunks that have no offsets
        warnings.simplefilter("ignore", UserWarning)
        chunks = chunker_by_name(chunker).split(dataset.documents)
    found = {}
    for name in embeddings:
        evaluation = rl.evaluate(
            _retriever(dataset, chunks, name),
            dataset,
            metrics=METRICS,
            match="coverage",
            depth="deep",
            candidates=50,
            progress=False,
        )
        found[name] = {metric: evaluation.scores.mean("retrieve", metric) for metric in METRICS}
    return Row(chunker, len(chunks), sum(len(chunk.text) for chunk in chunks) / len(chunks), found)


def _retriever(dataset: rl.Dataset, chunks: Sequence[Chunk], name: str) -> Retriever:
    if name == BM25:
        return BM25Retriever(chunks)
    embedder = embedder_by_name(name, dtype="float32")
    return DenseRetriever(build_index(chunks, embedder, documents=dataset.documents, progress=False))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", default=CORPUS)
    parser.add_argument("--chunker", nargs="+", default=CHUNKERS)
    parser.add_argument("--embedding", nargs="+", default=EMBEDDINGS)
    asked = parser.parse_args()
    dataset = rl.load_dataset(asked.corpus)
    say(f"{dataset.name}: {len(dataset.documents):,} documents, {len(dataset):,} queries; {NDCG}, and {BUDGET}")
    say("| chunker | chunks | mean characters | " + " | ".join(asked.embedding) + " |")
    say("|---|--:|--:|" + "--:|" * len(asked.embedding))
    for chunker in asked.chunker:
        say(line_of(measured(dataset, chunker, asked.embedding)))


def line_of(row: Row) -> str:
    """Return a row of the table."""
    figures = [", ".join(f"{found[metric]:.3f}" for metric in METRICS) for found in row.found.values()]
    return f"| `{row.chunker}` | {row.chunks:,} | {row.characters:,.0f} | {' | '.join(figures)} |"


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
