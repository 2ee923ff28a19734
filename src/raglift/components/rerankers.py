"""raglift's own rerankers: their protocols, cached scores of pairs, cross-encoders and late interaction."""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from contextlib import nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from raglift.base.cache import Cache, content_key, default_cache
from raglift.base.progress import track
from raglift.components.batches import (
    BATCH_SIZE,
    HERE,
    SHAPES,
    Workers,
    batches_by_length,
    batches_by_shape,
    can_be_padded,
    can_count_tokens,
    checked_batch_size,
    compute_by_shape,
    fixed_rows,
    in_parts,
    pair_token_counts,
    token_counts,
    token_limit,
)
from raglift.components.devices import (
    AUTO,
    CPU,
    Dtype,
    computed_on,
    here,
    require_device,
    resolve_device,
    resolve_dtype,
)
from raglift.components.maxsim import MAXSIM, TokenMatrix, maxsim
from raglift.components.models import (
    EMBEDDED_MODEL,
    has_known_revision,
    identity_of,
    load_cross_encoder,
    load_sentence_transformer,
    local_or_hub,
    one_thread,
    require_reachable,
)
from raglift.components.truncation import (
    OVERLAP,
    Pair,
    Truncated,
    can_be_windowed,
    count_truncated,
    truncated_by_cross_encoder,
    windows_of,
)
from raglift.errors import ConfigurationError, MissingDependency, ModelError, ModelOutputError
from raglift.records.rankings import Hit, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.records.rankings import ReadInPart


# The protocols of rerankers, of one method each. A reranker that can take all queries at once implements `Reranker`; a
# remote or framework reranker that takes one query at a time implements `QueryReranker` (or its async version). One
# that knows what its model truncates also has `read_in_part(queries, rankings)`, asked when all is reranked: it gets
# what `rerank` gets and returns a `ReadInPart`, or None where it cannot be known.


@runtime_checkable
class Reranker(Protocol):
    """Reorders the rankings of all queries at once."""

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Return a new ranking for each query, in the order of the queries."""
        ...


@runtime_checkable
class QueryReranker(Protocol):
    """Reorders the ranking of one query."""

    def rerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking."""
        ...


@runtime_checkable
class AsyncQueryReranker(Protocol):
    """Reorders the ranking of one query, without blocking."""

    async def arerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking."""
        ...


# Scores of (query, text) pairs: each distinct pair is scored once and cached.

_NOT_KNOWN = b"\xff"
_SCORE = struct.Struct("<d")


class PairReranker(ABC):
    """A reranker that scores a query and a text together, and sorts by the score.

    A subclass says how pairs are put into batches and how a batch is scored. Only the pairs that the cache lacks are
    put into batches, so a pair's score must not depend on what else is in its batch (see `raglift.components.batches`).

    Args:
        cache: where scores are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.
    """

    def __init__(self, *, cache: Cache | None = None, progress: bool | None = None) -> None:
        self._cache = cache
        self._progress = progress

    @property
    @abstractmethod
    def identity(self) -> str:
        """Everything that decides a score besides the pair: model, revision, dtype, settings."""

    @abstractmethod
    def plan(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        """Put distinct pairs into batches, longest last."""

    @abstractmethod
    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return one score a pair; higher is better."""

    def __str__(self) -> str:
        return self.identity

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Sort the hits of each ranking by their score; equal scores keep their order.

        Raises:
            ModelOutputError: the model gave a score that is not a number.
        """
        pairs = {(query, hit.chunk.text) for query, ranking in zip(queries, rankings, strict=True) for hit in ranking}
        scores = self.scores(sorted(pairs))
        return [
            sorted_by_score(ranking, [scores[query, hit.chunk.text] for hit in ranking])
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    def scores(self, pairs: Sequence[Pair], *, workers: Workers = HERE) -> dict[Pair, float]:
        """Score distinct pairs, asking the cache first; only what it lacks goes through the model.

        Args:
            pairs: queries with texts.
            workers: who computes the batches; the calling process alone writes to the cache.

        Raises:
            ModelOutputError: the model gave a score that is not a number.
        """
        if not pairs:
            return {}
        cache = self._used_cache()
        identity = self.identity
        keys = _keys(identity, pairs)
        entries = cache.get_many(keys.values())
        missing = sorted(pair for pair, key in keys.items() if key not in entries)
        with track("rerank", len(missing), "pairs", show=self._progress) as advance:
            batches = self.plan(missing) if missing else []
            # Longest first, so that the time left is not underestimated
            for batch, scores in workers.map(partial(_checked_scores, self), batches[::-1]):
                made = dict(zip(_keys(identity, batch).values(), map(_SCORE.pack, scores), strict=True))
                cache.put_many(made)
                entries.update(made)
                advance(len(batch))
        return {pair: _SCORE.unpack(entries[keys[pair]])[0] for pair in pairs}

    def missing(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the distinct pairs whose scores the cache lacks, sorted, without loading the model."""
        if not self.has_known_identity:
            return sorted(set(pairs))
        keys = _keys(self.identity, pairs)
        entries = self._used_cache().get_many(keys.values())
        return sorted(pair for pair, key in keys.items() if key not in entries)

    def find_truncated(self, pairs: Sequence[Pair]) -> list[Truncated] | None:  # noqa: ARG002
        """Return what the model reads in part of each pair; None where it cannot be known."""
        return None

    def read_in_part(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> ReadInPart | None:
        """Return how many candidates the model reads in part; None where it cannot be known."""
        asked = [(query, [hit.chunk.text for hit in ranking]) for query, ranking in zip(queries, rankings, strict=True)]
        found = self.truncated([(query, text) for query, texts in asked for text in texts])
        return None if found is None else count_truncated(asked, found)

    def truncated(self, pairs: Sequence[Pair]) -> dict[Pair, Truncated] | None:
        """Return what the model reads in part of distinct pairs, asking the cache first; pairs read whole are left out.

        None where it cannot be known: the model does not say, or is not here any more (its scores were in the cache).
        """
        cache, identity = self._used_cache(), self.identity
        keys = {pair: content_key("read-in-part", identity, *pair) for pair in pairs}
        entries = cache.get_many(keys.values())
        missing = sorted(pair for pair, key in keys.items() if key not in entries)
        if missing:
            try:
                found = self.find_truncated(missing)
            except (ModelError, MissingDependency):
                return None
            flags = [_NOT_KNOWN] * len(missing) if found is None else [bytes([part]) for part in found]
            made = {keys[pair]: flag for pair, flag in zip(missing, flags, strict=True)}
            cache.put_many(made)
            entries.update(made)
        if any(entry == _NOT_KNOWN for entry in entries.values()):
            return None
        return {pair: Truncated(entries[key][0]) for pair, key in keys.items() if entries[key] != b"\x00"}

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be determined without loading the model."""
        return True

    def _used_cache(self) -> Cache:
        return default_cache() if self._cache is None else self._cache

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the cache: whoever receives the reranker computes, and the sender keeps the scores."""
        return vars(self) | {"_cache": None}


def _keys(identity: str, pairs: Iterable[Pair]) -> dict[Pair, bytes]:
    return {pair: content_key("score", identity, *pair) for pair in dict.fromkeys(pairs)}


def _checked_scores(reranker: PairReranker, batch: Sequence[Pair]) -> list[float]:
    """Score one batch of distinct pairs."""
    scores = reranker.score(batch)
    for (query, text), score in zip(batch, scores, strict=True):
        if not math.isfinite(score):
            raise ModelOutputError(
                f"the reranker gave {score} for the query {query[:80]!r} and a text of {len(text)} characters; "
                "expected a number (float16 overflows on some models: try dtype='float32')"
            )
    return scores


def sorted_by_score(ranking: Ranking, scores: Sequence[float]) -> Ranking:
    """Return the hits by their scores, one a hit, highest first; equal scores keep their order."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    return Ranking(tuple(Hit(ranking[place].chunk, rank, scores[place]) for rank, place in enumerate(order, 1)))


# Cross-encoders: the model reads the query and the text together.


class CrossEncoderReranker(PairReranker):
    """Scores pairs with a sentence-transformers `CrossEncoder`.

    On a CPU a score depends on its pair alone: see `raglift.components.batches`. On an accelerator, and with a model
    that cannot be given what to pad to, its last bits depend on its batch too.

    Args:
        model: a hub id, a folder, or a `CrossEncoder` object (whose scores are then kept in memory only, because
            its weights have no name).
        dtype: what to compute in, for a model that raglift loads; `auto` is the model's own number type, as of an
            object, which is used as it is.
        device: where to compute, for a model that raglift loads: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.
        batch_size: the most texts of a batch.
        cache: where scores are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.
    """

    def __init__(
        self,
        model: Any,
        *,
        dtype: Dtype = "auto",
        device: str = AUTO,
        batch_size: int = BATCH_SIZE,
        cache: Cache | None = None,
        progress: bool | None = None,
    ) -> None:
        from raglift.base.cache import Cache

        named = isinstance(model, str)
        super().__init__(cache=cache if named else Cache(None), progress=progress)
        self.model = model
        self.device = resolve_device(device) if named else str(getattr(model, "device", CPU))
        self._dtype = resolve_dtype(dtype, self.device, is_embedded=False) if named else None
        self.batch_size = checked_batch_size(batch_size)

    @cached_property
    def identity(self) -> str:
        """The model's name and revision, the number type, how pairs are padded, and an accelerator's kind.

        Of when first asked for.
        """
        computed = f"{SHAPES}{computed_on(self.device, self.batch_size)}"
        if self._dtype is None:
            return f"cross-encoder:{_name_of(self.model)}:{computed}"
        return f"cross-encoder:{identity_of(self.model, self._dtype, lambda: self._model)}:{computed}"

    def check(self) -> None:
        """Raise now, not when the first pair is scored, if the model is neither here nor on a hub.

        Raises:
            ModelError: the model cannot be found.
        """
        if self._dtype is not None:
            require_reachable(local_or_hub(self.model))

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be determined without loading the model: not for a hub model not yet downloaded."""
        return self._dtype is None or has_known_revision(self.model)

    def plan(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        """Put pairs that are padded alike together, shortest first."""
        if not can_be_padded(self._model):
            lengths = [len(query) + len(text) for query, text in pairs]
            return batches_by_length(pairs, lengths, self.batch_size)
        tokens = pair_token_counts(self._model, pairs)
        return batches_by_shape(pairs, tokens, token_limit(self._model), self.batch_size)

    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return the model's relevance score for each pair.

        Raises:
            ConfigurationError: the device is not there.
        """
        require_device(self.device, self._dtype)
        model = self._model

        def compute(pairs: list[Pair], settings: dict[str, Any]) -> list[float]:
            with one_thread() if len(pairs) == 1 else nullcontext():
                scores = model.predict(pairs, batch_size=len(pairs), show_progress_bar=False, **settings)
            return [float(score) for score in scores]

        if not can_be_padded(model):
            return [score for part in in_parts(batch, self.batch_size) for score in compute(part, {})]
        tokens, limit, rows = pair_token_counts(model, batch), token_limit(model), fixed_rows(model)
        return compute_by_shape(compute, batch, tokens, limit=limit, rows=rows, size=self.batch_size)

    def find_truncated(self, pairs: Sequence[Pair]) -> list[Truncated] | None:
        """Return what the model reads in part of each pair; None where it cannot be known."""
        return truncated_by_cross_encoder(self._model, pairs)

    def __getstate__(self) -> dict[str, Any]:
        """Travel as a name and settings; a model that was given as an object stays where it is.

        Raises:
            ConfigurationError: the model was given as an object.
        """
        if self._dtype is None:
            raise ConfigurationError(
                "CrossEncoderReranker: found a model given as an object; expected a hub id or a folder, so that other "
                "processes can load it: save the model with save_pretrained() and name its folder"
            )
        return super().__getstate__()

    @property
    def _model(self) -> Any:
        return self.model if self._dtype is None else load_cross_encoder(self.model, self._dtype, here(self.device))


def _name_of(model: Any) -> str:
    config = getattr(model, "config", None)
    return str(getattr(config, "name_or_path", "") or getattr(config, "_name_or_path", "") or type(model).__name__)


# Late interaction (ColBERT's MaxSim) over the token embeddings of an ordinary embedding model. The embedded default
# reranker: the query and the text are encoded apart, each query token finds its most similar text token, and the
# similarities are added up (Khattab and Zaharia, SIGIR 2020). On the embedded MiniLM, without any training for it,
# this is a real reranker; it needs no second model.


class LateInteractionReranker(PairReranker):
    """Scores a pair by Σ over query tokens of the greatest cosine similarity to any token of the text.

    Special tokens count, as in ColBERT. A score lies in [−n, n] for a query of n tokens, so scores of different
    queries do not compare. On a CPU a score depends on its pair alone: see `raglift.components.batches` and
    `raglift.components.maxsim`; on an accelerator its last bits depend on its batch as well.

    A text that is longer than the model reads is encoded in windows that overlap, and all their tokens count: also
    those of the special tokens of each window, and both embeddings of a token that two windows share. A query that
    is longer counts by its beginning only.

    Args:
        model: `minilm` (the embedded model), a folder, or a hub id of an embedding model.
        dtype: what to compute in; `auto` is bfloat16 for `minilm` where the device has it, and the model's own number
            type for another.
        device: where to compute: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.
        batch_size: the most texts of a batch.
        cache: where scores are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.
    """

    def __init__(
        self,
        model: str = EMBEDDED_MODEL,
        *,
        dtype: Dtype = "auto",
        device: str = AUTO,
        batch_size: int = BATCH_SIZE,
        cache: Cache | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(cache=cache, progress=progress)
        self.model = model
        self.device = resolve_device(device)
        self.dtype = resolve_dtype(dtype, self.device, is_embedded=model == EMBEDDED_MODEL)
        self.batch_size = checked_batch_size(batch_size)
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

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be determined without loading the model: not for a hub model not yet downloaded."""
        return has_known_revision(self.model)

    def plan(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        """Put all pairs on the same texts together, so that each text is encoded once; shortest texts first."""
        by_text: dict[str, list[Pair]] = {}
        for pair in pairs:
            by_text.setdefault(pair[1], []).append(pair)
        counts = self._counts([*by_text])
        batches = batches_by_shape([*counts], [*counts.values()], self._text_limit, self.batch_size)
        return [[pair for text in batch for pair in by_text[text]] for batch in batches]

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
            wanted = [(query, text, window) for text, window, _ in group for query in queries[text]]
            asked = [(self._query_tokens[query], encoded[window]) for query, _, window in wanted]
            for (query, text, _), found in zip(wanted, maxsim(asked), strict=True):
                before = greatest.get((query, text))
                greatest[query, text] = found if before is None else np.maximum(before, found)
        return [float(greatest[pair].sum(dtype=np.float64)) for pair in batch]

    def find_truncated(self, pairs: Sequence[Pair]) -> list[Truncated] | None:
        """Return what the model reads in part of each pair: long queries, and texts where they have no windows."""
        if not can_count_tokens(self._encoder):
            return None
        limit = self._query_limit
        long_queries = {
            query for query, tokens in self._counts([query for query, _ in pairs]).items() if limit and tokens > limit
        }
        long_texts: set[str] = set()
        if not can_be_windowed(self._encoder):
            counts = self._counts([text for _, text in pairs])
            long_texts = {text for text, tokens in counts.items() if self._is_long(tokens)}
        return [
            Truncated(Truncated.TEXT * (text in long_texts) | Truncated.QUERY * (query in long_queries))
            for query, text in pairs
        ]

    def _windows(self, text: str, tokens: int) -> Iterable[tuple[str, int]]:
        """Return the windows that a text is read in, with their tokens; the text itself where it is read at once."""
        if not self._is_long(tokens) or not can_be_windowed(self._encoder):
            return [(text, tokens)]
        return windows_of(self._encoder, text, self._text_limit or tokens).items()

    def _is_long(self, tokens: int) -> bool:
        return self._text_limit is not None and tokens > self._text_limit

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
            with one_thread() if len(batch) == 1 else nullcontext():
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
            raise MissingDependency(error.name or "sentence_transformers", "local", "late interaction") from None
        transformer = load_sentence_transformer(self.model, self.dtype, here(self.device))[0]
        return MultiVectorEncoder(modules=[transformer, MultiVectorMask(), Normalize("token_embeddings")])
