"""How fast queries are embedded, and what `evaluate` with late interaction takes beside its model.

Queries: 10,000 pieces of sentences of the bundled corpora, 3 to 24 words each, are embedded by raglift, by
sentence-transformers' own `encode` (which sorts by length, 32 at a time), and by sentence-transformers one at a time
(a part of them). Same model, number type and threads; processor time. Then 10 neighbours of each query are found among
2,000 pieces, and compared: how many rankings change when queries are embedded together, and by how much a similarity.

Late interaction: `evaluate` reranks 20 candidates of each query, with rankings that are ready before and an empty
cache; the model alone encodes each distinct text and query once, in the same batches. Run it as

    python benchmarks/model_time.py [--queries 10000] [--repetitions 3] [--threads 1] [--device auto] [--dtype float32]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import raglift
from raglift.datasets.corpora.catalogue import known_corpora
from raglift.datasets.loading import load_dataset
from raglift.errors import RagliftError
from raglift.retrieval.batches import compute_by_shape, token_counts, token_limit
from raglift.retrieval.devices import resolve_device, resolve_dtype
from raglift.retrieval.embedding import SentenceTransformerEmbedder, embed
from raglift.retrieval.late_interaction import LateInteractionReranker
from raglift.retrieval.models import load_sentence_transformer
from raglift.types.dataset import Dataset
from raglift.types.labels import Query
from raglift.types.rankings import Ranking
from raglift.utilities.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

BATCH = 32
NEIGHBOURS = 10
PIECES = 2000
CANDIDATES = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Time all, compare what they found, print the ratios."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--asked", type=int, default=300, help="Queries of the evaluation with late interaction.")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="float32")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(asked.threads)
    device = resolve_device(asked.device)
    dtype = resolve_dtype(asked.dtype)
    texts = pieces(asked.queries + PIECES + asked.asked)
    say(f"{device}, {dtype}, {asked.threads} threads; processor time, median of {asked.repetitions} rounds in turn")
    time_queries(texts[: asked.queries], texts[-PIECES:], dtype, device, asked.repetitions)
    time_late_interaction(texts[asked.queries : asked.queries + asked.asked], dtype, device, asked.repetitions)
    return 0


def pieces(count: int) -> list[str]:
    """Return distinct pieces of the documents of the bundled corpora, of 3 to 24 words, in random order."""
    words: list[str] = []
    for corpus in known_corpora():
        try:
            words += [word for document in load_dataset(corpus.name).documents for word in document.text.split()]
        except RagliftError:  # a corpus whose text must be fetched first
            continue
    random_ = random.Random(0)  # noqa: S311 — no secret
    found: dict[str, None] = {}
    while len(found) < count:
        begin = random_.randrange(len(words) - 24)
        found[" ".join(words[begin : begin + random_.randint(3, 24)])] = None
    return list(found)


def time_queries(queries: list[str], chunks: list[str], dtype: str, device: str, repetitions: int) -> None:
    """Print how fast queries are embedded, and which rankings change."""
    embedder = SentenceTransformerEmbedder(dtype=dtype, device=device)  # type: ignore[arg-type]
    model = load_sentence_transformer("minilm", dtype, device)
    some = queries[:: max(len(queries) // 500, 1)]
    ways: dict[str, Callable[[], Any]] = {
        "raglift": lambda: embed(embedder, queries, "query", Cache(None), progress=False).vectors,
        "sentence-transformers, sorted by length": lambda: unit(model, queries, BATCH),
        "sentence-transformers, one at a time": lambda: unit(model, some, 1),
    }
    taken, found = timed(ways, repetitions)
    per_query = {name: taken[name] / len(found[name]) * 1e6 for name in ways}
    say(f"\n{len(queries):,} queries embedded")
    for name, microseconds in per_query.items():
        times = "" if name == "raglift" else f"   raglift is {microseconds / per_query['raglift']:.2f} times as fast"
        say(f"  {name:42} {microseconds:8.0f} µs a query{times}")
    alone = np.stack([embed(embedder, [query], "query", Cache(None)).vectors[0] for query in some])
    together = found["raglift"][:: max(len(queries) // 500, 1)]
    indexed = embed(embedder, chunks, "document", Cache(None), progress=False).vectors
    say("what embedding many at a time changes, against one at a time:")
    for name, vectors, reference in (
        ("raglift", together, alone),
        (
            "sentence-transformers",
            found["sentence-transformers, sorted by length"][:: max(len(queries) // 500, 1)],
            found["sentence-transformers, one at a time"],
        ),
    ):
        changed, most = changes(vectors @ indexed.T, reference @ indexed.T)
        say(f"  {name:22} {changed} of {len(reference)} rankings of {NEIGHBOURS}; a similarity by at most {most:.1e}")


def changes(similarities: NDArray[np.float32], before: NDArray[np.float32]) -> tuple[int, float]:
    """Return how many rankings have other neighbours or another order, and the largest change of a similarity."""
    best = [np.argsort(-each, axis=1, kind="stable")[:, :NEIGHBOURS] for each in (similarities, before)]
    return int((best[0] != best[1]).any(axis=1).sum()), float(np.abs(similarities - before).max())


def unit(model: Any, texts: list[str], batch: int) -> NDArray[np.float32]:
    """Return vectors of unit length, by sentence-transformers alone."""
    if batch == 1:
        vectors = np.concatenate([model.encode([text], show_progress_bar=False) for text in texts])
    else:
        vectors = model.encode(texts, batch_size=batch, show_progress_bar=False)
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def time_late_interaction(queries: list[str], dtype: str, device: str, repetitions: int) -> None:
    """Print what an evaluation with late interaction takes beside its model."""
    documents = [document for name in ("shop_support", "lighthouse") for document in load_dataset(name).documents]
    chunks = raglift.RecursiveChunker(800, 0).split(documents)
    random_ = random.Random(1)  # noqa: S311 — no secret
    ready = {query: random_.sample(range(len(chunks)), min(CANDIDATES, len(chunks))) for query in queries}
    texts = list(dict.fromkeys(chunks[number].text for numbers in ready.values() for number in numbers))
    dataset = Dataset(tuple(Query(f"q{n}", query) for n, query in enumerate(queries)), tuple(documents), "pieces")

    class Ready:
        """Returns rankings that are known before."""

        def retrieve(self, asked: Sequence[str], k: int) -> list[Ranking]:
            return [Ranking.of((chunks[number], None) for number in ready[query][:k]) for query in asked]

    def reranker() -> LateInteractionReranker:
        return LateInteractionReranker(dtype=dtype, device=device, cache=Cache(None))  # type: ignore[arg-type]

    ways: dict[str, Callable[[], Any]] = {
        "evaluate with late interaction": lambda: raglift.evaluate(
            Ready(),
            dataset,
            reranker=reranker(),
            candidates=CANDIDATES,
            k=CANDIDATES,
            metrics=["ndcg@10"],
            progress=False,
        ),
        "the model alone": lambda: encoded(token_encoder(dtype, device), texts, queries),
    }
    raglift.evaluate(Ready(), replace(dataset, queries=dataset.queries[:1]), reranker=reranker(), progress=False)
    encoded(token_encoder(dtype, device), texts[:1], queries[:1])  # libraries are loaded by then
    taken, _ = timed(ways, repetitions)
    pairs = len(queries) * len(next(iter(ready.values())))
    say(f"\nlate interaction: {len(queries):,} queries, {len(texts):,} distinct texts, {pairs:,} pairs")
    for name, seconds in taken.items():
        say(f"  {name:42} {seconds:8.2f} s")
    say(f"evaluate takes {taken['evaluate with late interaction'] / taken['the model alone']:.2f} × its model's time")


def token_encoder(dtype: str, device: str) -> Any:
    """Return what gives token embeddings, by sentence-transformers alone."""
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    transformer = load_sentence_transformer("minilm", dtype, device)[0]
    return MultiVectorEncoder(modules=[transformer, MultiVectorMask(), Normalize("token_embeddings")])


def encoded(model: Any, texts: list[str], queries: list[str]) -> int:
    """Encode each text and each query once, in raglift's batches, and nothing else."""
    for encode, some in ((model.encode_document, texts), (model.encode_query, queries)):

        def compute(batch: list[str], settings: dict[str, Any], encode: Any = encode) -> list[Any]:
            return list(encode(batch, batch_size=len(batch), show_progress_bar=False, **settings))

        compute_by_shape(compute, some, token_counts(model, some), limit=token_limit(model))
    return len(texts) + len(queries)


def timed(ways: dict[str, Callable[[], Any]], repetitions: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the median of the processor time of each way, and what it returned."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, Any] = {}
    for _ in range(repetitions):
        for name, way in ways.items():
            began = time.process_time()
            found[name] = way()
            times[name].append(time.process_time() - began)
    return {name: statistics.median(each) for name, each in times.items()}, found


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
