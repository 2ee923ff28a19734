"""Late interaction (ColBERT's MaxSim) over the token embeddings of an ordinary embedding model.

The query and the text are encoded apart, each query token finds its most similar text token, and the similarities are
added up (Khattab and Zaharia, SIGIR 2020). On MiniLM, without any training for it, this is a real reranker
that needs no second model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from raglift.errors import MissingDependency
from raglift.retrieval.batches import (
    BATCH_SIZE,
    HERE,
    SHAPES,
    Workers,
    can_be_padded,
    can_count_tokens,
    compute_by_shape,
    in_parts,
    is_small,
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
from raglift.retrieval.models import (
    MINILM,
    identity_of,
    load_sentence_transformer,
    one_thread,
)
from raglift.retrieval.rerankers import Pair, PairReranker, Truncated

if TYPE_CHECKING:
    from raglift.utilities.cache import Cache


class LateInteractionReranker(PairReranker):
    """Scores a pair by Σ over query tokens of the greatest cosine similarity to any token of the text.

    Special tokens count, as in ColBERT. A score lies in [−n, n] for a query of n tokens, so scores of different
    queries do not compare. On a CPU a score depends on its pair alone: see `raglift.retrieval.batches` and
    `maxsim`; on an accelerator its last bits depend on its batch as well.

    A text that is longer than the model reads is encoded in windows that overlap, and all their tokens count: also
    those of the special tokens of each window, and both embeddings of a token that two windows share. A query that
    is longer counts by its beginning only.

    Args:
        model: `minilm`, a folder, or a hub id of an embedding model.
        dtype: what to compute in; `auto` is the model's own number type.
        device: where to compute: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.
        batch_size: the most texts of a batch.
        cache: where scores are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.
    """

    def __init__(
        self,
        model: str = MINILM,
        *,
        dtype: Dtype = "auto",
        device: str = AUTO,
        batch_size: int = BATCH_SIZE,
        cache: Cache | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(batch_size=batch_size, cache=cache, progress=progress)
        self.model = model
        self.device = resolve_device(device)
        self.dtype = resolve_dtype(dtype, self.device)
        self._query_tokens: dict[str, Any] = {}

    @cached_property
    def identity(self) -> str:
        """The model's name and revision, the number type, how texts are padded and read, an accelerator's kind.

        Of when first asked for.
        """
        load = partial(load_sentence_transformer, self.model, self.dtype, here(self.device))
        named = identity_of(self.model, self.dtype, load)
        computed = computed_on(self.device, self.batch_size)
        return f"late-interaction:{named}:{SHAPES}:windows{OVERLAP}:{MAXSIM}{computed}"

    def scores(self, pairs: Sequence[Pair], *, workers: Workers = HERE) -> dict[Pair, float]:
        """Score distinct pairs; the queries' token embeddings are kept only as long as that takes."""
        try:
            return super().scores(pairs, workers=workers)
        finally:
            self._query_tokens.clear()

    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return the MaxSim of each pair.

        Raises:
            ConfigurationError: the device is not there.
        """
        require_device(self.device, self.dtype)
        counts = self._counts([text for _, text in batch])
        new = [query for query, _ in batch if query not in self._query_tokens]
        self._query_tokens |= self._encoded(self._encoder.encode_query, self._counts(new), self._query_limit)
        queries: dict[str, list[str]] = {}
        for query, text in dict.fromkeys(batch):
            queries.setdefault(text, []).append(query)
        windows = [(text, window, tokens) for text in queries for window, tokens in self._windows(text, counts[text])]
        # The greatest similarity of each query token so far: however long a text is, few windows are held at a time
        greatest: dict[Pair, NDArray[np.float32]] = {}
        for group in in_parts(windows, self.batch_size):
            distinct = {window: tokens for _, window, tokens in group}
            encoded = self._encoded(self._encoder.encode_document, distinct, self._text_limit)
            for text, window, _ in group:
                for query in queries[text]:
                    found = maxsim(self._query_tokens[query], encoded[window])
                    before = greatest.get((query, text))
                    greatest[query, text] = found if before is None else np.maximum(before, found)
        return [float(greatest[pair].sum(dtype=np.float64)) for pair in batch]

    def find_truncated(self, pairs: Sequence[Pair]) -> list[Truncated] | None:
        """Return which queries the model reads in part; texts are read whole."""
        if not can_count_tokens(self._encoder):
            return None
        limit = self._query_limit
        counts = self._counts([query for query, _ in pairs])
        return [
            Truncated.QUERY if limit is not None and counts[query] > limit else Truncated.NOTHING for query, _ in pairs
        ]

    def _windows(self, text: str, tokens: int) -> Iterable[tuple[str, int]]:
        """Return the windows that a text is read in, with their tokens; the text itself where it is read at once."""
        limit = self._text_limit
        if limit is None or tokens <= limit:
            return [(text, tokens)]
        return windows_of(self._encoder, text, limit).items()

    @property
    def _text_limit(self) -> int | None:
        return token_limit(self._encoder, "document")

    @property
    def _query_limit(self) -> int | None:
        return token_limit(self._encoder, "query")

    def _counts(self, texts: Sequence[str]) -> dict[str, int]:
        distinct = list(dict.fromkeys(texts))
        if not can_count_tokens(self._encoder):
            return dict.fromkeys(distinct, 0)  # each goes through the model alone, so lengths do not matter
        return dict(zip(distinct, token_counts(self._encoder, distinct), strict=True))

    def _encoded(
        self, encode: Callable[..., Any], counts: Mapping[str, int], limit: int | None
    ) -> dict[str, TokenMatrix]:
        """Return each text's token embeddings, where they were computed."""

        def compute(batch: list[str], settings: dict[str, Any]) -> Sequence[TokenMatrix]:
            with one_thread() if is_small(len(batch), settings) else nullcontext():
                encoded = encode(batch, batch_size=len(batch), show_progress_bar=False, **settings)
            return [TokenMatrix.of(rows) for rows in encoded]

        texts = list(counts)
        if not can_be_padded(self._encoder):
            return {text: compute([text], {})[0] for text in texts}
        made = compute_by_shape(compute, texts, list(counts.values()), limit=limit, size=self.batch_size)
        return dict(zip(texts, made, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        """Travel as a name and settings."""
        state = super().__getstate__() | {"_query_tokens": {}}
        return {name: value for name, value in state.items() if name != "_encoder"}

    @cached_property
    def _encoder(self) -> Any:
        """The model's own transformer, a mask, and normalization of its token embeddings.

        `MultiVectorEncoder(path)` would add a projection with random weights to a model that has none.
        """
        try:
            from sentence_transformers import MultiVectorEncoder
            from sentence_transformers.base.modules import Normalize
            from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
        except ImportError as error:
            raise MissingDependency(error.name or "sentence_transformers", "torch", "late interaction") from None
        transformer = load_sentence_transformer(self.model, self.dtype, here(self.device))[0]
        return MultiVectorEncoder(modules=[transformer, MultiVectorMask(), Normalize("token_embeddings")])


# Windows of a long text: pieces that the model reads whole. Each is encoded as a text of its own, with the model's
# special tokens around it, and shares its first tokens with the piece before, so that every token has context on both
# sides in one of them. Pieces begin and end between words, so that they have the tokens that the whole text has.


OVERLAP = 64
"""How many tokens neighbouring windows share; a third of a window where that is less."""


def windows_of(model: Any, text: str, limit: int) -> dict[str, int]:
    """Return the windows of a text that is longer than a model reads, in order, with the number of tokens of each.

    Appending to a text changes none of its windows but the last, as long as the tokens before stay the same.
    """
    windows: dict[str, int] = {}
    _add_windows(windows, model, text, limit, max(limit - token_counts(model, [""])[0], 1))
    return windows


def _add_windows(windows: dict[str, int], model: Any, text: str, limit: int, budget: int) -> None:
    pieces = _pieces(model, text, budget)
    for piece, tokens in zip(pieces, token_counts(model, pieces), strict=True):
        if tokens > limit and budget > 1:  # some tokenizers make more tokens of a word's middle than of the word
            _add_windows(windows, model, piece, limit, budget // 2)
        else:
            windows.setdefault(piece, tokens)


def _pieces(model: Any, text: str, budget: int) -> list[str]:
    """Return pieces of at most `budget` tokens that cover the text, and share a few with their neighbours."""
    encoded = model.tokenizer(
        text, truncation=False, add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    places, words = encoded["offset_mapping"], encoded.word_ids(0)
    overlap, slack = min(OVERLAP, budget // 3), budget // 8
    begin, pieces = 0, []
    while begin + budget < len(places):
        end = _between_words(words, begin + budget, slack)
        pieces.append(text[places[begin][0] if begin else 0 : places[end - 1][1]])
        begin = max(_between_words(words, end - overlap, slack), begin + 1)
    return [*pieces, text[places[begin][0] if begin else 0 :]]


def _between_words(words: Sequence[int | None], place: int, slack: int) -> int:
    """Return the last place at or before this one where a word begins; this one where the word is too long for that."""
    for found in range(place, max(place - slack, 0), -1):
        if words[found] != words[found - 1]:
            return found
    return place


# MaxSim: for each token of a query, its greatest cosine similarity to any token of a text. The rows of both matrices
# are filled up to multiples of 16, at which the kernels have no remainders, and are multiplied on one thread.


MAXSIM = "maxsim2"
"""Part of the identity of scores; another whenever the same token embeddings give other scores."""
_STEP = 16


@dataclass(frozen=True, eq=False)
class TokenMatrix:
    """The token embeddings of one text, on the device that computed them."""

    rows: Any
    """A tensor of float32, shape (tokens filled up to a multiple of 16, dimensions). Rows that fill up repeat the first
    one, so that they never have a similarity greater than all tokens'."""
    tokens: int

    @classmethod
    def of(cls, embeddings: Any) -> TokenMatrix:
        """Return token embeddings with rows of unit length; in bfloat16 they were only nearly so."""
        import torch

        tokens = len(embeddings)
        filling = embeddings[:1].expand(-tokens % _STEP, -1)
        # In memory of its own, so aligned: a product's last bits change with that, too
        filled = torch.cat([embeddings, filling]).float()
        return cls(torch.nn.functional.normalize(filled, dim=-1), tokens)


def maxsim(query: TokenMatrix, text: TokenMatrix) -> NDArray[np.float32]:
    """Return the greatest cosine similarity of each token of a query to any token of a text, both on one device."""
    import torch

    with one_thread(), torch.inference_mode():
        greatest: NDArray[np.float32] = (query.rows @ text.rows.T).amax(dim=1).cpu().numpy()
    return greatest[: query.tokens]
