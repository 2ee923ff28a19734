"""Chunks embedded, and the index of their vectors."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from raglift.errors import ConfigurationError, ModelOutputError
from raglift.retrieval.batches import (
    BATCH_SIZE,
    HERE,
    SHAPES,
    Workers,
    can_be_padded,
    checked_batch_size,
    compute_by_shape,
    fixed_rows,
    in_parts,
    is_small,
    parts_by_length,
    prompt_of,
    token_counts,
    token_limit,
)
from raglift.retrieval.devices import (
    AUTO,
    Dtype,
    computed_on,
    here,
    require_device,
    resolve_device,
    resolve_dtype,
)
from raglift.retrieval.exact_search import faiss_module
from raglift.retrieval.models import (
    MINILM,
    has_known_revision,
    identity_of,
    load_sentence_transformer,
    one_thread,
    seconds_loading,
)
from raglift.types.rankings import IndexCost
from raglift.utilities.cache import Cache, content_key, default_cache
from raglift.utilities.progress import track

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from raglift.types.documents import Chunk


# Embedding of texts, each distinct text once; a vector depends only on its text, not on what else is embedded.


Kind = Literal["document", "query"]
_READ_WHOLE, _READ_IN_PART, _NOT_KNOWN = 0, 1, 255
"""What is kept of a text beside its vector: whether the model read all of it."""


class Embedder(Protocol):
    """A model that turns texts into vectors."""

    @property
    def identity(self) -> str:
        """Everything that decides a vector besides the text: model, revision, dtype, settings."""

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Put distinct texts into parts, longest last, each of which is embedded, and then cached, at once."""

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Return one row per text, shape (len(texts), dimensions)."""

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:
        """Return, for each text, whether the model truncates it; None when it cannot be known."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """The vectors of some texts."""

    vectors: NDArray[np.float32]
    """Unit length, shape (texts, dimensions)."""
    read_in_part: int | None
    """How many distinct texts are longer than the model reads; None when it cannot be known."""
    computed: int
    """How many distinct texts went through the model; the others were in the cache."""
    distinct: int
    """How many distinct texts there are."""


class SentenceTransformerEmbedder:
    """A sentence-transformers model as an Embedder, loaded when the first text needs it.

    On a CPU a vector depends on its text alone (`raglift.retrieval.batches`); on an accelerator, and with a model that
    cannot be given what to pad to, its last bits depend on its batch as well.

    Args:
        model: `minilm`, a folder, or a hub id.
        dtype: what to compute in; `auto` is the model's own number type.
        device: where to compute: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`; `auto` is the best that is there.
        batch_size: the most texts of a batch.

    Raises:
        ConfigurationError: a device or a number type that does not exist, or a device that is not there.
    """

    def __init__(
        self,
        model: str = MINILM,
        *,
        dtype: Dtype = "auto",
        device: str = AUTO,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self.model = model
        self.device = resolve_device(device)
        self.dtype = resolve_dtype(dtype, self.device)
        self.batch_size = checked_batch_size(batch_size)

    @property
    def identity(self) -> str:
        """The model's name and revision, the number type, how texts are padded, and an accelerator's kind."""
        named = identity_of(self.model, self.dtype, lambda: self._loaded)
        return f"sentence-transformers:{named}:{SHAPES}{computed_on(self.device, self.batch_size)}"

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be determined without loading the model: not for a hub model not yet downloaded."""
        return has_known_revision(self.model)

    @property
    def _loaded(self) -> SentenceTransformer:
        return load_sentence_transformer(self.model, self.dtype, here(self.device))

    batches_queries = True
    """Whether queries may be embedded many at a time: a vector does not depend on the others."""

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Put texts of about one length together, shortest first."""
        return parts_by_length(texts, len, self.batch_size)

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Return one vector a text, with the model's own query or document prompt if it has one.

        Raises:
            ConfigurationError: the device is not there.
        """
        require_device(self.device, self.dtype)
        model = self._loaded

        def compute(batch: list[str], settings: dict[str, Any]) -> list[NDArray[np.float32]]:
            encode = model.encode_query if kind == "query" else model.encode_document
            with one_thread() if is_small(len(batch), settings) else nullcontext():
                vectors = encode(batch, batch_size=len(batch), show_progress_bar=False, **settings)
            return [*np.asarray(vectors, dtype=np.float32)]

        if not can_be_padded(model):
            size = 1 if kind == "query" else self.batch_size
            return np.stack([row for batch in in_parts(texts, size) for row in compute(batch, {})])
        return np.stack(
            compute_by_shape(
                compute,
                texts,
                token_counts(model, texts, prompt_of(model, kind)),
                limit=token_limit(model),
                rows=fixed_rows(model),
                size=self.batch_size,
            )
        )

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:
        """Count the tokens of each text against the model's maximum."""
        model = self._loaded
        limit = token_limit(model)
        if limit is None or not callable(model.tokenizer):  # a static model reads texts of any length
            return None
        return [count > limit for count in token_counts(model, texts, prompt_of(model, "document"))]


def embed(
    embedder: Embedder,
    texts: Sequence[str],
    kind: Kind,
    cache: Cache,
    *,
    progress: bool | None = None,
    workers: Workers = HERE,
) -> Embedding:
    """Embed texts, asking the cache first; only what it lacks goes through the model.

    Each finished batch is kept at once, by the calling process alone, so a stopped run repeats no finished batch.
    If nothing is missing, the model is not loaded.

    Raises:
        ModelOutputError: the model gave a vector that is not all finite numbers, or vectors of different lengths.
        CacheError: the cache cannot be written.
    """
    if not texts:
        return Embedding(np.zeros((0, 0), dtype=np.float32), 0, 0, 0)
    identity = embedder.identity
    keys = {text: content_key("vector", identity, kind, text) for text in texts}
    entries = cache.get_many(keys.values())
    missing = sorted(text for text, key in keys.items() if key not in entries)
    unit = "questions" if kind == "query" else "chunks"
    with track(f"embed {unit}", len(missing), unit, show=progress) as advance:
        # Longest first, so that the time left is not underestimated
        batches = _batches(embedder, missing, kind)[::-1]
        for batch, made in workers.map(partial(_computed, embedder, identity, kind), batches):
            new = {keys[text]: entry for text, entry in zip(batch, made, strict=True)}
            cache.put_many(new)
            entries.update(new)
            advance(len(batch))
    _require_one_width(identity, {len(entry) // 4 for entry in entries.values()})
    flags = [entries[key][0] for key in keys.values()]
    in_part = flags.count(_READ_IN_PART) if set(flags) <= {_READ_WHOLE, _READ_IN_PART} else None
    vectors = np.stack([np.frombuffer(entries[keys[text]], dtype="<f4", offset=1) for text in texts])
    return Embedding(vectors, in_part, len(missing), len(flags))


def _require_one_width(identity: str, widths: set[int]) -> None:
    """Raise unless all vectors have the same number of dimensions."""
    if len(widths) > 1:
        found = " and ".join(f"{width:,}" for width in sorted(widths))
        raise ModelOutputError(
            f"{identity}: found vectors of {found} dimensions; expected as many of each text: if the model was "
            "changed, name it otherwise or delete the cache, which has vectors of the former one"
        )


def missing_texts(embedder: Embedder, texts: Sequence[str], kind: Kind, cache: Cache) -> list[str]:
    """Return the distinct texts whose vectors the cache lacks, sorted, without loading the model."""
    if not getattr(embedder, "has_known_identity", True):
        return sorted(set(texts))
    keys = {text: content_key("vector", embedder.identity, kind, text) for text in texts}
    entries = cache.get_many(keys.values())
    return sorted(text for text, key in keys.items() if key not in entries)


def _batches(embedder: Embedder, texts: Sequence[str], kind: Kind) -> list[list[str]]:
    """Return the batches that the texts are embedded in.

    Each query alone, as it is when it is the only one, unless the embedder says that batches make no difference.
    """
    if kind == "query" and not getattr(embedder, "batches_queries", False):
        return [[text] for text in texts]
    return embedder.plan(texts) if texts else []


def _computed(embedder: Embedder, identity: str, kind: Kind, texts: Sequence[str]) -> list[bytes]:
    """Embed one batch of distinct texts: of each a byte that says whether it was truncated, and its unit vector."""
    vectors = np.asarray(embedder.embed(texts, kind), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ModelOutputError(
            f"{identity}: found an array of shape {vectors.shape} for {len(texts):,} texts; expected a row for each"
        )
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unusable = int(np.count_nonzero(~np.isfinite(norms)))  # as it is of a vector with NaN
    if unusable:
        raise ModelOutputError(
            f"{identity}: found {unusable:,} vectors of {len(texts):,} texts that are not numbers, or too large; "
            "expected finite numbers: the model's weights may be damaged, or float16 too small for them (try "
            "dtype='float32')"
        )
    vectors = np.divide(vectors, np.where(norms == 0, 1, norms), dtype=np.float32)
    parts = embedder.read_in_part(texts)
    flags = bytes([_NOT_KNOWN]) * len(texts) if parts is None else bytes(map(bool, parts))
    return [bytes([flag]) + vector.tobytes() for flag, vector in zip(flags, vectors.astype("<f4"), strict=True)]


# Exact search over the vectors of chunks: inner product of unit vectors, which is cosine similarity.


@dataclass(frozen=True, eq=False)
class DenseIndex:
    """Chunks and their vectors, which are searched exactly."""

    chunks: tuple[Chunk, ...]
    """In index order."""
    vectors: NDArray[np.float32]
    """Unit vectors, shape (chunks, dimensions)."""
    embedder: Embedder
    """The model, for the queries."""
    cache: Cache
    """Where vectors are kept."""
    read_in_part: int | None
    """How many distinct chunks are longer than the model reads; None when it cannot be known."""
    computed: int
    """How many distinct chunks went through the model when the index was built."""
    distinct: int
    """How many distinct texts the chunks have."""
    seconds: float | None = None
    """Wall time of embedding, without loading the model; None when vectors came from the cache."""

    @property
    def cost(self) -> IndexCost:
        """What the index took to build, and the size of its vectors."""
        return IndexCost(
            chunks=len(self.chunks),
            distinct_texts=self.distinct,
            embedded_now=self.computed,
            seconds=self.seconds,
            bytes=self.vectors.nbytes,
            read_in_part=self.read_in_part,
        )

    def query_vectors(self, queries: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries as the model gives them.

        Raises:
            ModelOutputError: they have other dimensions than those of the chunks.
        """
        width = self.vectors.shape[1]
        if not queries:
            return np.zeros((0, width), dtype=np.float32)
        vectors = embed(self.embedder, queries, "query", self.cache).vectors
        _require_one_width(self.embedder.identity, {width, vectors.shape[1]})
        return vectors


def build_index(
    chunks: Iterable[Chunk],
    embedder: Embedder,
    *,
    cache: Cache | None = None,
    progress: bool | None = None,
) -> DenseIndex:
    """Embed chunks and index their vectors, for exact search.

    Args:
        chunks: at least one.
        embedder: the model.
        cache: where vectors are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.

    Raises:
        ConfigurationError: there is no chunk.
        MissingDependency: faiss is not installed.
        CacheError: there is no room for the cache.
    """
    held = tuple(chunks)
    if not held:
        raise ConfigurationError("build_index: found no chunks; expected at least one (are the documents empty?)")
    faiss_module()
    cache = default_cache() if cache is None else cache
    started = time.perf_counter() - seconds_loading()
    embedding = embed(embedder, [chunk.indexed_text for chunk in held], "document", cache, progress=progress)
    seconds = time.perf_counter() - seconds_loading() - started
    return DenseIndex(
        held,
        embedding.vectors,
        embedder,
        cache,
        embedding.read_in_part,
        embedding.computed,
        embedding.distinct,
        seconds=seconds if embedding.computed == embedding.distinct else None,
    )
