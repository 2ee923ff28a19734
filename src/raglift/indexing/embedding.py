"""Texts to vectors, each distinct text once, in batches that do not depend on what the cache holds."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from raglift.cache import Cache, content_key
from raglift.models import (
    EMBEDDED_MODEL,
    Dtype,
    has_known_revision,
    load_sentence_transformer,
    model_identity,
    one_thread,
    resolve_dtype,
)
from raglift.progress import track

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Embedder", "Embedding", "SentenceTransformerEmbedder", "embed"]

Kind = Literal["document", "query"]
BATCH_SIZE = 32
_READ_IN_PART = {b"\x00": False, b"\x01": True}
_NOT_KNOWN = b"\xff"


class Embedder(Protocol):
    """A model that turns texts into vectors."""

    @property
    def identity(self) -> str:
        """Everything that decides a vector besides the text: model, revision, dtype, settings."""
        ...

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Put distinct texts into batches, in an order that depends on nothing but the texts; longest last."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Return one row a text, shape (len(texts), dimensions)."""
        ...

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:
        """Return, for each text, whether the model reads only its beginning; None when it cannot be known."""
        ...


@dataclass(frozen=True, eq=False)
class Embedding:
    """The vectors of some texts."""

    vectors: NDArray[np.float32]
    """Unit length, shape (texts, dimensions)."""
    read_in_part: int | None
    """How many distinct texts are longer than the model reads; None when it cannot be known."""
    computed: int
    """How many distinct texts went through the model; the others were in the cache."""


class SentenceTransformerEmbedder:
    """A sentence-transformers model as an Embedder, loaded when the first text needs it.

    Args:
        model: `minilm` (the embedded model), a folder, or a hub id.
        dtype: what to compute in; `auto` is bfloat16 where the processor has it.
    """

    def __init__(self, model: str = EMBEDDED_MODEL, *, dtype: Dtype = "auto") -> None:
        self.model = model
        self.dtype = resolve_dtype(dtype)

    @property
    def identity(self) -> str:
        """The model's name and revision, and the number type."""
        if not has_known_revision(self.model):
            load_sentence_transformer(self.model, self.dtype)  # downloads it, so that its revision is known
        return f"sentence-transformers:{model_identity(self.model)}:{self.dtype}"

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Sort by tokens, so that a batch is hardly padded: by characters, a sixth of the work would be padding."""
        model = load_sentence_transformer(self.model, self.dtype)
        if not callable(model.tokenizer):
            return batches_by_length(texts, [len(text) for text in texts])
        ids = model.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]
        return batches_by_length(texts, [len(tokens) for tokens in ids])

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Return one unit vector a text, with the model's own query or document prompt if it has one."""
        model = load_sentence_transformer(self.model, self.dtype)
        encode = model.encode_query if kind == "query" else model.encode_document
        with one_thread() if len(texts) == 1 else nullcontext():
            vectors = encode(list(texts), batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:
        """Count the tokens of each text against the model's maximum."""
        model = load_sentence_transformer(self.model, self.dtype)
        limit = model.max_seq_length
        if limit is None or not callable(model.tokenizer):  # a static model reads texts of any length
            return None
        ids = model.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]
        return [len(tokens) > limit for tokens in ids]


def batches_by_length(texts: Sequence[str], lengths: Sequence[int]) -> list[list[str]]:
    """Return the texts in batches of equal size, sorted by length, then by text."""
    ordered = [text for _, text in sorted(zip(lengths, texts, strict=True))]
    return [ordered[begin : begin + BATCH_SIZE] for begin in range(0, len(ordered), BATCH_SIZE)]


def embed(
    embedder: Embedder, texts: Sequence[str], kind: Kind, cache: Cache, *, progress: bool | None = None
) -> Embedding:
    """Embed texts, asking the cache first.

    Batches are planned from the whole list sorted by length, whatever the cache holds, and a batch with anything
    missing goes through the model whole: the composition of a batch changes the last bits of a vector, so a resumed
    run must compute in the batches of an uninterrupted one. Where nothing is missing, the model is not loaded.

    Args:
        embedder: the model.
        texts: any number of texts, repeats allowed.
        kind: whether they are documents or queries; some models treat them differently.
        cache: where vectors are looked up and kept; each finished batch is kept at once.
        progress: whether to show progress; None decides by the terminal.
    """
    if not texts:
        return Embedding(np.zeros((0, 0), dtype=np.float32), 0, 0)
    identity = embedder.identity
    distinct = sorted(set(texts))
    keys = {text: content_key("vector", identity, kind, text) for text in distinct}
    entries = cache.get_many(keys.values())
    computed = sum(keys[text] not in entries for text in distinct)
    batches: list[list[str]] = []
    if computed:
        # One query a batch, so that its vector does not depend on which other questions are asked
        batches = [[text] for text in distinct] if kind == "query" else embedder.plan(distinct)
    missing = [batch for batch in batches if any(keys[text] not in entries for text in batch)]
    unit = "queries" if kind == "query" else "chunks"
    with track(f"embed {unit}", sum(map(len, missing)), unit, show=progress) as advance:
        for batch in reversed(missing):  # longest first, so that the time left is not underestimated
            made = _entries_of(embedder, batch, kind)
            new = {keys[text]: value for text, value in zip(batch, made, strict=True) if keys[text] not in entries}
            cache.put_many(new)
            entries.update(new)
            advance(len(batch))
    flags = [entries[keys[text]][:1] for text in distinct]
    known = all(flag in _READ_IN_PART for flag in flags)
    return Embedding(
        vectors=np.stack([np.frombuffer(entries[keys[text]], dtype="<f4", offset=1) for text in texts]),
        read_in_part=sum(_READ_IN_PART[flag] for flag in flags) if known else None,
        computed=computed,
    )


def _entries_of(embedder: Embedder, texts: Sequence[str], kind: Kind) -> list[bytes]:
    """Embed one batch; an entry is one byte that says whether the text was read in part, then the vector."""
    vectors = np.asarray(embedder.embed(texts, kind), dtype=np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, np.where(norms == 0, 1, norms), dtype=np.float32)
    parts = embedder.read_in_part(texts)
    flags = [_NOT_KNOWN] * len(texts) if parts is None else [b"\x01" if part else b"\x00" for part in parts]
    return [flag + vector.astype("<f4").tobytes() for flag, vector in zip(flags, vectors, strict=True)]
