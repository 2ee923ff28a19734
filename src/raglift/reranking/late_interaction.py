"""Late interaction (ColBERT's MaxSim) over the token embeddings of an ordinary embedding model.

The embedded default reranker: the query and the text are encoded apart, each query token finds its most similar
text token, and the similarities are added up (Khattab and Zaharia, SIGIR 2020). On the embedded MiniLM, without any
training for it, this is a real reranker; it needs no second model.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from raglift.errors import MissingDependency
from raglift.models import (
    EMBEDDED_MODEL,
    Dtype,
    has_known_revision,
    load_sentence_transformer,
    model_identity,
    one_thread,
    resolve_dtype,
)
from raglift.reranking.pairs import Pair, PairReranker
from raglift.work import HERE, Workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.cache import Cache

__all__ = ["LateInteractionReranker"]

_TEXTS_PER_BATCH = 32


class LateInteractionReranker(PairReranker):
    """Scores a pair by Σ over query tokens of the greatest cosine similarity to any token of the text.

    Special tokens count, as in ColBERT. A score lies in [−n, n] for a query of n tokens, so scores of different
    queries do not compare.

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
        """The model's name and revision, and the number type; of when it was first asked for, as the model is."""
        if not self.has_known_identity:
            load_sentence_transformer(self.model, self.dtype)  # downloads it, so that its revision is known
        return f"late-interaction:{model_identity(self.model)}:{self.dtype}"

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be told without loading the model: not for a hub model not yet downloaded."""
        return has_known_revision(self.model)

    def plan(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        """Put all pairs on the same texts together, so that each text is encoded once; sorted by length."""
        by_text: dict[str, list[Pair]] = {}
        for pair in sorted(pairs):
            by_text.setdefault(pair[1], []).append(pair)
        texts = sorted(by_text, key=lambda text: (len(text), text))
        return [
            [pair for text in texts[begin : begin + _TEXTS_PER_BATCH] for pair in by_text[text]]
            for begin in range(0, len(texts), _TEXTS_PER_BATCH)
        ]

    def scores(self, pairs: Sequence[Pair], *, workers: Workers = HERE) -> dict[Pair, float]:
        """Score distinct pairs; the queries' token embeddings are kept only as long as that takes."""
        try:
            return super().scores(pairs, workers=workers)
        finally:
            self._query_tokens.clear()

    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return the MaxSim of each pair."""
        encoder = self._encoder
        from sentence_transformers.util.similarity import maxsim_pairwise

        texts = list(dict.fromkeys(text for _, text in batch))
        encoded = encoder.encode_document(texts, batch_size=len(texts), show_progress_bar=False)
        tokens = dict(zip(texts, map(_unit, encoded), strict=True))
        queries = [self._tokens_of_query(query) for query, _ in batch]
        scores = maxsim_pairwise(queries, [tokens[text] for _, text in batch])
        return [float(score) for score in scores]

    def _tokens_of_query(self, query: str) -> Any:
        # One query a call: in a batch its vectors would depend on the other queries
        if query not in self._query_tokens:
            with one_thread():
                self._query_tokens[query] = _unit(self._encoder.encode_query([query], show_progress_bar=False)[0])
        return self._query_tokens[query]

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


def _unit(embeddings: Any) -> Any:
    """Return token embeddings as float32 rows of unit length: in bfloat16 they are only nearly so."""
    from torch.nn.functional import normalize

    return normalize(embeddings.float(), dim=-1)
