"""Late interaction (ColBERT's MaxSim) over the token embeddings of an ordinary embedding model.

The embedded default reranker: the query and the text are encoded apart, each query token finds its most similar
text token, and the similarities are added up (Khattab and Zaharia, SIGIR 2020). On the embedded MiniLM, without any
training for it, this is a real reranker; it needs no second model.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from raglift.batches import SHAPES, Counted, can_be_padded, compute_by_shape, counted_batches, token_counts, token_limit
from raglift.errors import MissingDependency
from raglift.models import (
    EMBEDDED_MODEL,
    Dtype,
    has_known_revision,
    identity_of,
    load_sentence_transformer,
    one_thread,
    resolve_dtype,
)
from raglift.reranking.pairs import Pair, PairReranker
from raglift.work import HERE, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raglift.cache import Cache

__all__ = ["LateInteractionReranker"]


class LateInteractionReranker(PairReranker):
    """Scores a pair by Σ over query tokens of the greatest cosine similarity to any token of the text.

    Special tokens count, as in ColBERT. A score lies in [−n, n] for a query of n tokens, so scores of different
    queries do not compare. A score depends on its pair alone: see `raglift.batches`.

    Args:
        model: `minilm` (the embedded model), a folder, or a hub id of an embedding model.
        dtype: what to compute in; `auto` is bfloat16 where the processor has it.
        cache: where scores are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.
    """

    def __init__(
        self,
        model: str = EMBEDDED_MODEL,
        *,
        dtype: Dtype = "auto",
        cache: Cache | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(cache=cache, progress=progress)
        self.model = model
        self.dtype = resolve_dtype(dtype)
        self._query_tokens: dict[str, Any] = {}

    @cached_property
    def identity(self) -> str:
        """The model's name and revision, the number type, and how texts are padded; of when first asked for."""
        named = identity_of(self.model, self.dtype, lambda: load_sentence_transformer(self.model, self.dtype))
        return f"late-interaction:{named}:{SHAPES}"

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be told without loading the model: not for a hub model not yet downloaded."""
        return has_known_revision(self.model)

    def plan(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        """Put all pairs on the same texts together, so that each text is encoded once; shortest texts first."""
        by_text: dict[str, list[Pair]] = {}
        for pair in pairs:
            by_text.setdefault(pair[1], []).append(pair)
        counts = self._counts([*by_text])
        batches = counted_batches([*counts], [*counts.values()], token_limit(self._encoder))
        return [_pairs_of(batch, by_text) for batch in batches]

    def scores(self, pairs: Sequence[Pair], *, workers: Workers = HERE) -> dict[Pair, float]:
        """Score distinct pairs; the queries' token embeddings are kept only as long as that takes."""
        try:
            return super().scores(pairs, workers=workers)
        finally:
            self._query_tokens.clear()

    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return the MaxSim of each pair."""
        texts = [text for _, text in batch]
        counts = dict(zip(texts, batch.tokens, strict=True)) if isinstance(batch, Counted) else self._counts(texts)
        encoded = self._encoded(self._encoder.encode_document, counts)
        new = [query for query, _ in batch if query not in self._query_tokens]
        self._query_tokens |= self._encoded(self._encoder.encode_query, self._counts(new))
        # Pair by pair and on one thread: a product's last bits change with its size and with the number of threads
        with one_thread():
            return [_maxsim(self._query_tokens[query], encoded[text]) for query, text in batch]

    def _counts(self, texts: Sequence[str]) -> dict[str, int]:
        distinct = list(dict.fromkeys(texts))
        if not can_be_padded(self._encoder):
            return dict.fromkeys(distinct, 0)  # each goes through the model alone, so lengths do not matter
        return dict(zip(distinct, token_counts(self._encoder, distinct), strict=True))

    def _encoded(self, encode: Callable[..., Any], counts: Mapping[str, int]) -> dict[str, Any]:
        """Return each text's token embeddings, float32 rows of unit length; in bfloat16 they are only nearly so."""
        from torch.nn.functional import normalize

        def compute(batch: list[str], settings: dict[str, Any]) -> Sequence[Any]:
            with one_thread() if len(batch) == 1 else nullcontext():
                encoded = encode(batch, batch_size=len(batch), show_progress_bar=False, **settings)
            # Each in memory of its own, so aligned: a product's last bits change with that, too
            return [normalize(rows.float(), dim=-1) for rows in encoded]

        texts = list(counts)
        if not can_be_padded(self._encoder):
            return {text: compute([text], {})[0] for text in texts}
        made = compute_by_shape(compute, texts, list(counts.values()), limit=token_limit(self._encoder), rows=None)
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
        transformer = load_sentence_transformer(self.model, self.dtype)[0]
        return MultiVectorEncoder(modules=[transformer, MultiVectorMask(), Normalize("token_embeddings")])


def _pairs_of(batch: Counted[str], by_text: Mapping[str, Sequence[Pair]]) -> Counted[Pair]:
    """Return all pairs on the texts of a batch, with the number of tokens of each one's text."""
    counted = [(pair, tokens) for text, tokens in zip(batch, batch.tokens, strict=True) for pair in by_text[text]]
    return Counted([pair for pair, _ in counted], [tokens for _, tokens in counted])


def _maxsim(query: Any, text: Any) -> float:
    return float((query @ text.T).amax(dim=1).sum())
