"""What do vector indexes lose of 100,000 chunks, in facts and hits, and is a filter that is applied too late found?

The chunks are those of War and Peace, whose labels are asked, and of the documentation and docstrings of the installed
packages whose licence allows it: read where they are installed, deduplicated, and written nowhere. Vectors are those of
the static model that comes with raglift. Each index is compared with exact search over the same vectors.

    RAGLIFT_CORPORA=FOLDER python benchmarks/indexes.py [--chunks 100000]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from package_texts import package_texts

import raglift as rl
from raglift.adapters.embeddings import embedder_by_name
from raglift.components import DenseIndex, DenseRetriever, RecursiveChunker, approximate, build_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.results import Evaluation

    Index = tuple[str, str | None]


INDEXES: tuple[Index, ...] = (
    ("flat", None),
    ("hnsw(M=32,ef=64)", None),
    ("ivf(nlist=1024,nprobe=8)", None),
    ("int8", None),
    ("binary", None),
    ("binary+rescore", None),
    ("pq(m=64)", None),
    ('faiss("IVF1024,PQ32",nprobe=8)', None),
    ("flat", "128"),
    ("flat", "pca(128)"),
)
"""The indexes that are compared, and to how many dimensions the vectors are reduced first."""
CHUNKER = RecursiveChunker(800, 0)
CHUNKS = 100_000
CORPUS = "war_and_peace"
DEPTH = 50
"""The rank by which facts are looked for."""
PARTS = 10
"""Into so many parts the book is divided, for the filter."""


# The chunks.


def chunks_of(book: rl.Dataset, most: int) -> list[rl.Chunk]:
    """Return the chunks of the book, then those of the packages, each text once, until there are enough."""
    found: dict[str, rl.Chunk] = {}
    own = CHUNKER.split(book.documents)
    for number, chunk in enumerate(own):
        part = PARTS * number // len(own)
        found.setdefault(chunk.text, replace(chunk, metadata={**chunk.metadata, "part": part}))
    for number, text in enumerate(package_texts()):
        if len(found) >= most:
            break
        for chunk in CHUNKER.split([rl.Document(f"package {number}", text)]):
            found.setdefault(chunk.text, replace(chunk, metadata={"part": number % PARTS}))
    return list(found.values())[:most]


# The indexes, and a filter that is applied too late.


def measured(dense: DenseIndex, dataset: rl.Dataset, index: Index) -> Evaluation:
    """Evaluate one index beside exact search."""
    retriever = DenseRetriever(approximate(dense, *index))
    return rl.evaluate(retriever, dataset, ks=(10, DEPTH), match="coverage", progress=False)


def row(evaluation: Evaluation, k: int = DEPTH) -> str:
    """Return what an index loses, and what it costs, as a line of the table."""
    losses = evaluation.index_losses(k)
    both, index, compression = (losses.step(name) for name in ("together", "index", "compression"))
    cost = losses.cost
    if cost is None or cost.build_seconds is None or cost.queries_per_second is None:
        raise ValueError(f"{losses.index}: found no build time or speed; expected both")
    difference = both.difference
    interval = "" if np.isnan(difference.low) else f"[{difference.low:+.3f}, {difference.high:+.3f}]"
    found = f"{both.before} → {both.after}"
    return (
        f"{losses.index:32}{found:>12}{index.lost:>11}{compression.lost:>8}{1 - both.overlap:>9.1%}"
        f"{difference.mean:>+9.3f} {interval:17}{both.p:>7.3f}{cost.build_seconds:>10.1f}"
        f"{cost.bytes / 1e6:>8.1f}{cost.queries_per_second:>11,.0f}"
    )


HEADER = (
    f"{'':49}{'lost by':^16}\n"
    f"{'index':32}{'facts found':>12}{'index':>11}{'compr.':>8}{'hits':>9}{'recall [95%]':>18}{'p':>16}{'build s':>10}"
    f"{'MB':>8}{'queries/s':>11}"
)


def filtered(dataset: rl.Dataset, chunks: Sequence[rl.Chunk]) -> rl.Dataset:
    """Return the queries whose first passage lies in a chunk, each with the part of that chunk as its filter."""
    by_place = [(chunk.doc_id, chunk.start or 0, chunk.end or 0, chunk.metadata["part"]) for chunk in chunks]
    kept = []
    for query in dataset.queries:
        passage = query.facts[0].passages[0] if query.facts else None
        if passage is None or passage.start is None:
            continue
        parts = [part for name, start, end, part in by_place if name == passage.doc_id and start <= passage.start < end]
        if parts:
            kept.append(replace(query, filter={"part": parts[0]}))  # type: ignore[arg-type]  # it becomes a Filter
    return rl.Dataset(tuple(kept), dataset.documents, dataset.name)


def store_of(dense: DenseIndex) -> object:
    """Return LangChain's FAISS store of the same vectors, which filters what it has found."""
    from langchain_community.vectorstores import FAISS
    from langchain_core.embeddings import Embeddings

    class Own(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            found: list[list[float]] = dense.embedder.embed(texts, "document").tolist()
            return found

        def embed_query(self, text: str) -> list[float]:
            found: list[float] = dense.embedder.embed([text], "query")[0].tolist()
            return found

    pairs = [(chunk.text, vector.tolist()) for chunk, vector in zip(dense.chunks, dense.vectors, strict=True)]
    metadatas = [{"part": chunk.metadata["part"], "doc_id": chunk.doc_id} for chunk in dense.chunks]
    return FAISS.from_embeddings(pairs, Own(), metadatas=metadatas)


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of the indexes, and what is said of the filter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    most = parser.parse_args(arguments).chunks
    book = rl.load_dataset(CORPUS)
    started = time.perf_counter()
    chunks = chunks_of(book, most)
    own = sum("package" not in str(chunk.doc_id) for chunk in chunks)
    characters = sum(len(chunk.text) for chunk in chunks)
    say(
        f"{len(chunks):,} distinct chunks, {own:,} of them of {CORPUS}, {characters / 1e6:.1f} million characters, "
        f"read in {time.perf_counter() - started:.0f} s; {len(book):,} queries"
    )
    dense = build_index(chunks, embedder_by_name("minilm-static"), progress=False)
    say(f"{dense.vectors.shape[1]} dimensions; facts by rank {DEPTH}, match by coverage\n\n{HEADER}")
    for index in INDEXES:
        say(row(measured(dense, book, index)))
    asked = filtered(book, dense.chunks)
    store = store_of(dense)
    for title, fetched in (("20, the default", {}), ("all", {"fetch_k": len(chunks)})):
        retriever = store.as_retriever(search_kwargs={"k": 10, **fetched})  # type: ignore[attr-defined]
        evaluation = rl.evaluate(retriever, asked, exact=True, match="coverage", ks=(10,), progress=False)
        losses = evaluation.failure_analysis(10)
        lost = losses.of("lost_by_filter").facts
        say(f"\nLangChain's FAISS, filtering the nearest chunks ({title}): {lost} facts lost by the filter")
        say("\n".join(note for note in evaluation.notes if "filter" in note) or "no warning about filters")


if __name__ == "__main__":
    main()
