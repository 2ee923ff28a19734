"""How fast a sweep is, against the straightforward loop and against the models alone.

3 chunk sizes × {dense, BM25, hybrid} × {no reranker, late interaction} over the first 300,000 characters of War and
Peace. The loop is what a tutorial's code does for each of the 18 systems: split, embed, index, retrieve, rerank each
query's 50 candidates, score. The models alone are each distinct text, and each distinct pair of a query and a text,
once through the same library calls in batches of the same size, with nothing around them. All start with models loaded
and empty caches. Run it as

    python benchmarks/sweep.py [--queries 20] [--repetitions 3] [--dtype float32]

The book is not part of raglift: `raglift corpus fetch war_and_peace` gets it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.datasets.loading import load_dataset
from raglift.errors import CorpusMissing
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.devices import resolve_device, resolve_dtype
from raglift.retrieval.models import minilm_path, quiet_loading
from raglift.sweep.engine import run_sweep
from raglift.sweep.specification.record import Sweep
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.sweep.result import SweepResult

CHARACTERS = 300_000
SIZES = ((500, 50), (1000, 100), (2000, 200))
CANDIDATES = 50
BATCH = 32
CONSTANT = 60
RETRIEVERS = ("dense", "bm25", "hybrid")
KS = (1, 5, 10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Time all three, compare what they found, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--characters", type=int, default=CHARACTERS)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="float32")
    asked = parser.parse_args(arguments)
    try:
        book = load_dataset("war_and_peace")
    except CorpusMissing as missing:
        say(str(missing))
        return 1
    dataset = first_part(book, asked.characters, asked.queries)
    _device.append(resolve_device(asked.device))
    dtype = resolve_dtype(asked.dtype)
    say(
        f"{asked.characters:,} characters, {len(dataset)} queries, {len(SIZES)} chunk sizes × {len(RETRIEVERS)} "
        f"retrievers × 2, {dtype}; median of {asked.repetitions} rounds in which each has its turn"
    )
    contestants: dict[str, Callable[[], Any]] = {
        "raglift sweep": lambda: sweep(dataset, dtype),
        "straightforward loop": lambda: loop(dataset, dtype),
        "models alone": lambda: models_alone(dataset, pairs, dtype),
    }
    models(dtype)
    pairs = candidate_pairs(dataset, dtype)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    found: dict[str, Any] = {}
    for _ in range(asked.repetitions):
        for name, run in contestants.items():
            started = time.perf_counter()
            found[name] = run()
            times[name].append(time.perf_counter() - started)
    compare(found["raglift sweep"], found["straightforward loop"])
    ours = statistics.median(times["raglift sweep"])
    for name, taken in times.items():
        middle = statistics.median(taken)
        ratio = "" if name == "raglift sweep" else f"   {middle / ours:.2f} × the sweep"
        say(f"  {name:34} {middle:7.1f} s ({min(taken):.1f} to {max(taken):.1f}){ratio}")
    alone = statistics.median(times["models alone"])
    say(f"the sweep takes {ours / alone:.2f} × the time of the models alone")
    return 0


def first_part(book: Dataset, characters: int, queries: int) -> Dataset:
    """Return the first part of the book, and queries: first those that it answers."""
    text = book.documents[0].text[:characters]
    ends = [max((p.end or 0) for fact in query.facts for p in fact.passages) for query in book.queries]
    answered = [query for query, end in zip(book.queries, ends, strict=True) if end <= characters]
    others = [replace(query, facts=()) for query, end in zip(book.queries, ends, strict=True) if end > characters]
    return Dataset((*answered, *others)[:queries], (Document(book.documents[0].id, text),), "war_and_peace")


def sweep(dataset: Dataset, dtype: str) -> SweepResult:
    """Run raglift's sweep, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAGLIFT_CACHE"] = str(Path(folder) / "cache")
        asked = Sweep(
            dataset=dataset,
            chunkers=[f"recursive:{size}/{overlap}" for size, overlap in SIZES],
            embeddings=["minilm"],
            retrievers=RETRIEVERS,
            rerankers=["none", "late-interaction"],
            candidates=CANDIDATES,
            ks=KS,
            primary=f"ndcg@{KS[-1]}",
            dtype=dtype,  # type: ignore[arg-type]
            device=_device[-1],
        )
        result = run_sweep(asked, Path(folder) / "sweep", progress=False)
        if result.failed:
            raise SystemExit(f"a cell failed: {result.failed[0].error}")
        return result


def models(dtype: str) -> tuple[Any, Any]:
    """Return the embedding model, and its token embeddings for late interaction; loaded once a number type."""
    if dtype not in _loaded:
        import torch
        from sentence_transformers import MultiVectorEncoder, SentenceTransformer
        from sentence_transformers.base.modules import Normalize
        from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

        with quiet_loading():
            dense = SentenceTransformer(
                str(minilm_path()), device=_device[-1], model_kwargs={"dtype": getattr(torch, dtype)}
            )
        late = MultiVectorEncoder(modules=[dense[0], MultiVectorMask(), Normalize("token_embeddings")])
        _loaded[dtype] = (dense, late)
    return _loaded[dtype]


_loaded: dict[str, tuple[Any, Any]] = {}
_device = ["cpu"]
"""Where models compute: the last."""


def loop(dataset: Dataset, dtype: str) -> dict[tuple[int, str, str], list[list[str]]]:
    """Return the texts that each of the 18 systems finds for each query, everything done anew for each."""
    found = {}
    for size, overlap in SIZES:
        for retriever in RETRIEVERS:
            for reranker in ("none", "late-interaction"):
                chunks = split(dataset.documents[0].text, size, overlap)
                rankings = retrieve(retriever, chunks, dataset, dtype)
                if reranker != "none":
                    rankings = [rerank(q.text, r, dtype) for q, r in zip(dataset.queries, rankings, strict=True)]
                score(dataset, rankings)
                found[size, retriever, reranker] = rankings
    return found


def split(text: str, size: int, overlap: int) -> list[str]:
    """Split as the tutorial does."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap).split_text(text)


def retrieve(retriever: str, chunks: list[str], dataset: Dataset, dtype: str) -> list[list[str]]:
    """Return the best texts of each query."""
    rankings = []
    if retriever in ("dense", "hybrid"):
        rankings.append(retrieve_dense(chunks, dataset, dtype))
    if retriever in ("bm25", "hybrid"):
        rankings.append(retrieve_bm25(chunks, dataset))
    if len(rankings) == 1:
        return [[chunks[number] for number in row] for row in rankings[0]]
    fused = []
    for rows in zip(*rankings, strict=True):
        scores: dict[int, float] = {}
        for row in rows:
            for rank, number in enumerate(row, start=1):
                scores[number] = scores.get(number, 0.0) + 1 / (CONSTANT + rank)
        best = sorted(scores, key=lambda number: -scores[number])[:CANDIDATES]
        fused.append([chunks[number] for number in best])
    return fused


def retrieve_dense(chunks: list[str], dataset: Dataset, dtype: str) -> list[list[int]]:
    """Embed, index, search."""
    import faiss

    model, _ = models(dtype)
    vectors = model.encode(chunks, batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True)
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    texts = [query.text for query in dataset.queries]
    asked = model.encode(texts, batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True)
    _, numbers = index.search(np.ascontiguousarray(asked, dtype=np.float32), min(CANDIDATES, len(chunks)))
    rows: list[list[int]] = numbers.tolist()
    return rows


def retrieve_bm25(chunks: list[str], dataset: Dataset) -> list[list[int]]:
    """Index the words, search."""
    retriever = BM25Retriever([Chunk(chunk, id=str(number)) for number, chunk in enumerate(chunks)])
    rankings = retriever.retrieve([query.text for query in dataset.queries], CANDIDATES)
    return [[int(hit.chunk.id) for hit in ranking] for ranking in rankings]


def rerank(query: str, texts: list[str], dtype: str) -> list[str]:
    """Encode the query and its candidates, and sort them by MaxSim."""
    _, model = models(dtype)
    documents = model.encode_document(texts, batch_size=BATCH, show_progress_bar=False)
    (asked,) = model.encode_query([query], show_progress_bar=False)
    scores = [maxsim(asked, document) for document in documents]
    return [texts[place] for place in sorted(range(len(texts)), key=lambda place: -scores[place])]


def maxsim(query: Any, document: Any) -> float:
    """Return the sum over the query's tokens of the greatest similarity to any token of the document."""
    return float((query.float() @ document.float().T).max(dim=1).values.sum())


def score(dataset: Dataset, rankings: list[list[str]]) -> dict[str, float]:
    """Return hit rate, recall and reciprocal rank by plain containment, as a tutorial computes them."""
    totals: dict[str, float] = {}
    for query, ranking in zip(dataset.queries, rankings, strict=True):
        passages = [p.text for fact in query.facts for p in fact.passages if p.text]
        for k in KS:
            matched = [rank for rank, text in enumerate(ranking[:k], 1) if any(p in text for p in passages)]
            totals[f"hit@{k}"] = totals.get(f"hit@{k}", 0) + bool(matched)
            totals[f"rr@{k}"] = totals.get(f"rr@{k}", 0) + (1 / matched[0] if matched else 0)
    return totals


def models_alone(dataset: Dataset, pairs: Sequence[tuple[str, str]], dtype: str) -> int:
    """Put each distinct text, and each distinct pair, through the models once; return how many there were."""
    dense, late = models(dtype)
    chunkings = [split(dataset.documents[0].text, size, overlap) for size, overlap in SIZES]
    texts = list(dict.fromkeys(chunk for chunks in chunkings for chunk in chunks))
    dense.encode(texts, batch_size=BATCH, normalize_embeddings=True)
    for query in dataset.queries:
        dense.encode([query.text], normalize_embeddings=True)
    asked = {query: late.encode_query([query], show_progress_bar=False)[0] for query in {q for q, _ in pairs}}
    wanted = list(dict.fromkeys(text for _, text in pairs))
    documents = dict(zip(wanted, late.encode_document(wanted, batch_size=BATCH, show_progress_bar=False), strict=True))
    return len([maxsim(asked[query], documents[text]) for query, text in pairs]) + len(texts)


def candidate_pairs(dataset: Dataset, dtype: str) -> list[tuple[str, str]]:
    """Return the distinct pairs of each query with its candidates in any system; finding them out is not timed."""
    pairs: dict[tuple[str, str], None] = {}
    for size, overlap in SIZES:
        chunks = split(dataset.documents[0].text, size, overlap)
        for retriever in RETRIEVERS:
            rankings = retrieve(retriever, chunks, dataset, dtype)
            pairs |= {(q.text, t): None for q, r in zip(dataset.queries, rankings, strict=True) for t in r}
    return list(pairs)


def compare(result: SweepResult, found: dict[tuple[int, str, str], list[list[str]]]) -> None:
    """Say how far the sweep and the loop found the same first ten; padding moves near ties in bfloat16.

    The sweep fills prompts behind the candidates, which the loop does not.
    """
    shared = total = 0
    depth = min(10, CANDIDATES)
    for entry in result.finished:
        if entry.evaluation is None or entry.cell.chunker is None:
            continue
        size = int(entry.cell.chunker.split(":")[1].split("/")[0])
        rankings = found[size, str(entry.cell.retriever), entry.cell.reranker]
        for trace, texts in zip(entry.evaluation.run.traces, rankings, strict=True):
            ours = {chunk.text for chunk in trace.stages[-1].ranking.chunks[:depth]}
            shared += len(ours & set(texts[:depth]))
            total += len(ours)
    say(f"of the first ten hits of every query and system, {shared / total:.1%} are the loop's as well")


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
