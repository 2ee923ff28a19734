"""Late chunking: a document goes through the model before it is cut, so that each chunk's vector knows what is around.

Günther et al., “Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding Models” (2024): the token
embeddings of the whole document are averaged over each chunk. A document longer than the model reads goes through it in
windows that overlap; of the tokens that two windows share, each takes the half that is nearer to its middle.
"""

from __future__ import annotations

import itertools
import json
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.base.batches import (
    ROWS,
    can_be_padded,
    compute_by_shape,
    fixed_rows,
    prompt_of,
    token_counts,
    token_limit,
)
from raglift.components.devices import require_device, split_device
from raglift.components.embedding import SentenceTransformerEmbedder
from raglift.components.models import STATIC_MODEL
from raglift.components.truncation import OVERLAP, between_words, can_be_windowed
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from raglift.components.embedding import Kind
    from raglift.records.documents import Chunk, Document


LATE = "(late)"
"""What stands behind the name of an embedding model for late chunking."""
_VERSION = 1
"""Raised whenever the same chunks get other vectors."""
_SPARE = 2
"""Tokens left free in each window, because a word that is cut may have more of them."""

Part = tuple[str, int, int]
"""A window's text, and the span in it whose tokens are averaged."""


def is_late(name: str) -> bool:
    """Whether the name of an embedding model asks for late chunking."""
    return split_device(name)[0].rstrip().endswith(LATE)


def base_of(name: str) -> str:
    """Return the name of the model, without what asks for late chunking and a device.

    Raises:
        ConfigurationError: a model that has no token embeddings.
    """
    base = split_device(name)[0].strip().removesuffix(LATE).strip()
    if base in ("", STATIC_MODEL):
        raise ConfigurationError(
            f"embedding: found {name!r}; expected late chunking of a model with token embeddings, as minilm{LATE}"
        )
    return base


@dataclass(frozen=True)
class _Window:
    """A piece of a text that the model reads at once."""

    begin: int
    end: int
    first: int
    """The first character whose tokens are taken from this window."""
    last: int
    """One past the last of them."""


class LateChunkingEmbedder(SentenceTransformerEmbedder):
    """A sentence-transformers model that averages token embeddings: chunks of a document share one run of it.

    What it embeds as a document is not a text, but what `inputs` returns for a chunk: the windows that the chunk lies
    in and its span in each. So a vector depends on these alone, is kept in the cache by them, and can be computed
    anywhere. Queries are embedded as always.

    Args:
        model: `minilm` (the embedded model), a folder, or a hub id.
        dtype: what to compute in, as for `SentenceTransformerEmbedder`.
        device: where to compute.
        batch_tokens: how many tokens a batch may hold.
    """

    @property
    def identity(self) -> str:
        """The model's identity, and how documents are put through it."""
        return f"{super().identity}:late chunking {_VERSION}"

    def inputs(self, chunks: Sequence[Chunk], documents: Iterable[Document]) -> list[str]:
        """Return what is embedded of each chunk.

        A chunk without offsets, or of a document that is not there, is a document of its own. The context of a chunk
        stands at the beginning of its windows and is read with them; only the chunk's own tokens are averaged.

        Args:
            chunks: any number of chunks.
            documents: those that they were cut from.
        """
        texts = {document.id: document.text for document in documents}
        reader = _Reader(self._model)
        found = []
        for chunk in chunks:
            text, start, end = texts.get(chunk.doc_id or ""), chunk.start, chunk.end
            if text is None or start is None or end is None:
                text, start, end = chunk.text, 0, len(chunk.text)
            found.append(json.dumps(reader.parts_of(text, start, end, chunk.context), ensure_ascii=False))
        return found

    @property
    def _model(self) -> Any:
        model = self._loaded
        _check(model, self.model)
        return model

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Put chunks of the same windows together; given are what `inputs` returned, sorted, or queries."""
        batches: list[list[str]] = []
        windows: set[str] = set()
        for text in texts:
            wanted = {window for window, _, _ in _parts(text)}
            if not batches or len(windows | wanted) > ROWS:
                batches.append([])
                windows = set()
            batches[-1].append(text)
            windows |= wanted
        return batches

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Return one vector for each query, or for each chunk that `inputs` described."""
        if kind == "query":
            return super().embed(texts, kind)
        require_device(self.device, self.dtype)
        model = self._model
        parts = [_parts(text) for text in texts]
        windows = list(dict.fromkeys(window for each in parts for window, _, _ in each))
        limit = token_limit(model)

        def compute(batch: list[str], settings: dict[str, Any]) -> list[NDArray[np.float32]]:
            made = model.encode(
                batch, output_value="token_embeddings", batch_size=len(batch), show_progress_bar=False, **settings
            )
            return [tokens.float().cpu().numpy() for tokens in made]

        tokens = token_counts(model, windows)
        by_window = compute_by_shape(compute, windows, tokens, limit=limit, rows=fixed_rows(model), room=self._room)
        encoded = model.tokenizer(windows, truncation=True, max_length=limit, return_offsets_mapping=True)
        known = dict(zip(windows, zip(by_window, encoded["offset_mapping"], strict=True), strict=True))
        return np.stack([_pooled([(*known[window], first, last) for window, first, last in each]) for each in parts])

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:
        """Return that all is read: windows are made to fit."""
        return [False] * len(texts)


def _check(model: Any, name: str) -> None:
    """Raise for a model whose vectors are no averages of token embeddings, or whose tokens have no places."""
    modes = {getattr(module, "pooling_mode", "mean") for module in model}
    if not (can_be_windowed(model) and can_be_padded(model) and modes == {"mean"}):
        raise ConfigurationError(
            f"embedding: found '{name}{LATE}'; expected a model that averages its token embeddings and whose tokenizer "
            "tells their places, as minilm"
        )
    if prompt_of(model, "document"):
        raise ConfigurationError(
            f"embedding: found '{name}{LATE}', which puts a prompt before each document; expected a model without one"
        )


def _parts(text: str) -> list[Part]:
    return [(window, first, last) for window, first, last in json.loads(text)]


def _pooled(parts: Iterable[tuple[NDArray[np.float32], Sequence[tuple[int, int]], int, int]]) -> NDArray[np.float32]:
    """Return the mean of the token embeddings in some spans; of all where a span holds no token, as white space."""
    given = list(parts)
    rows = [
        vectors[place]
        for vectors, places, first, last in given
        for place, (begin, end) in enumerate(places[: len(vectors)])
        if max(begin, first) < min(end, last)
    ]
    found: NDArray[np.float32] = np.mean(rows or np.concatenate([each[0] for each in given]), axis=0, dtype=np.float32)
    return found


class _Reader:
    """Puts texts into windows, each text once."""

    def __init__(self, model: Any) -> None:
        self._tokenizer = model.tokenizer
        limit = token_limit(model)
        # A model that reads anything reads the whole document at once
        self._room = 10**9 if limit is None else max(limit - token_counts(model, [""])[0] - _SPARE, 1)
        self._windows = lru_cache(maxsize=64)(self._windows_of)
        self._context = lru_cache(maxsize=1024)(self._context_of)

    def parts_of(self, text: str, start: int, end: int, context: str) -> list[Part]:
        before, taken = self._context(context) if context else ("", 0)
        windows = self._windows(text, self._room - taken)
        low = bisect_right(windows, start, key=attrgetter("first")) - 1
        high = max(bisect_left(windows, end, key=attrgetter("first")), low + 1)
        return [
            (
                before + text[window.begin : window.end],
                len(before) + max(start, window.first) - window.begin,
                len(before) + min(end, window.last) - window.begin,
            )
            for window in windows[low:high]
        ]

    def _tokens(self, text: str) -> tuple[list[tuple[int, int]], list[int | None]]:
        encoded = self._tokenizer(
            text, truncation=False, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        return encoded["offset_mapping"], encoded.word_ids(0)

    def _context_of(self, context: str) -> tuple[str, int]:
        """Return a context as it stands before a window, and its tokens: at most half of what the model reads."""
        places, _ = self._tokens(context)
        most = max(self._room // 2, 1)
        if len(places) > most:
            context, places = context[: places[most - 1][1]], places[:most]
        return f"{context}\n\n", len(places)

    def _windows_of(self, text: str, room: int) -> list[_Window]:
        places, words = self._tokens(text)
        if len(places) <= room:
            return [_Window(0, len(text), 0, len(text))]
        overlap, slack = min(OVERLAP, room // 3), room // 8
        spans: list[tuple[int, int]] = []
        begin = 0
        while begin + room < len(places):
            end = between_words(words, begin + room, slack)
            spans.append((begin, end))
            begin = max(between_words(words, end - overlap, slack), begin + 1)
        spans.append((begin, len(places)))
        middles = [
            between_words(words, (following[0] + span[1] + 1) // 2, slack)
            for span, following in itertools.pairwise(spans)
        ]
        firsts = [0, *(places[middle][0] for middle in middles)]
        lasts = [*firsts[1:], len(text)]
        begins = [0, *(places[span[0]][0] for span in spans[1:])]
        ends = [*(places[span[1] - 1][1] for span in spans[:-1]), len(text)]
        return [_Window(*each) for each in zip(begins, ends, firsts, lasts, strict=True)]
