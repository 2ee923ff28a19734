"""Cross-encoders: the query and the text go through the model together."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from raglift.batches import (
    SHAPES,
    Counted,
    batches_by_length,
    can_be_padded,
    compute_by_shape,
    counted_batches,
    fixed_rows,
    token_counts,
    token_limit,
)
from raglift.errors import ConfigurationError, MissingDependency
from raglift.models import (
    Dtype,
    has_known_revision,
    identity_of,
    local_or_hub,
    model_not_loaded,
    one_thread,
    quiet_loading,
    require_reachable,
    resolve_dtype,
)
from raglift.reranking.pairs import Pair, PairReranker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.cache import Cache

__all__ = ["CrossEncoderReranker"]


class CrossEncoderReranker(PairReranker):
    """Scores pairs with a sentence-transformers `CrossEncoder`.

    A score depends on its pair alone: see `raglift.batches`. A model that cannot be told what to pad to gets plain
    batches, and then its scores depend on their batch in the last bits.

    Args:
        model: a hub id, a folder, or a `CrossEncoder` object (whose scores are then kept in memory only, because
            its weights have no name).
        dtype: what to compute in, for a model that raglift loads; an object is used as it is.
        cache: where scores are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.
    """

    def __init__(
        self, model: Any, *, dtype: Dtype = "auto", cache: Cache | None = None, progress: bool | None = None
    ) -> None:
        from raglift.cache import Cache

        named = isinstance(model, str)
        super().__init__(cache=cache if named else Cache(None), progress=progress)
        self._given = model
        self._dtype = resolve_dtype(dtype) if named else None

    @cached_property
    def identity(self) -> str:
        """The model's name and revision, the number type, and how pairs are padded; of when first asked for."""
        if self._dtype is None:
            return f"cross-encoder:{_name_of(self._given)}:{SHAPES}"
        return f"cross-encoder:{identity_of(self._given, self._dtype, lambda: self._model)}:{SHAPES}"

    def check(self) -> None:
        """Raise now, not when the first pair is scored, if the model is neither here nor on a hub.

        Raises:
            ModelError: the model cannot be found.
        """
        if self._dtype is not None:
            require_reachable(local_or_hub(self._given))

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be told without loading the model: not for a hub model not yet downloaded."""
        return self._dtype is None or has_known_revision(self._given)

    def plan(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        """Put pairs that are padded alike together, shortest first; the batches remember what was counted."""
        if not can_be_padded(self._model):
            return batches_by_length(pairs, [len(query) + len(text) for query, text in pairs])
        return [*counted_batches(pairs, self._tokens_of(pairs), token_limit(self._model))]

    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return the model's relevance score for each pair."""
        model = self._model

        def compute(pairs: list[Pair], settings: dict[str, Any]) -> list[float]:
            with one_thread() if len(pairs) == 1 else nullcontext():
                scores = model.predict(pairs, batch_size=len(pairs), show_progress_bar=False, **settings)
            return [float(score) for score in scores]

        if not can_be_padded(model):
            return compute(list(batch), {})
        limit, rows = token_limit(model), fixed_rows(model)
        return compute_by_shape(compute, batch, self._tokens_of(batch), limit=limit, rows=rows)

    def _tokens_of(self, pairs: Sequence[Pair]) -> list[int]:
        """Return how many tokens each pair has, counting each distinct query and text once."""
        if isinstance(pairs, Counted):
            return pairs.tokens
        model = self._model
        queries, texts = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
        prompt = model.prompts.get(model.default_prompt_name) or ""
        of_queries = dict(zip(queries, token_counts(model, queries, prompt, marks=False), strict=True))
        of_texts = dict(zip(texts, token_counts(model, texts, marks=False), strict=True))
        marks = model.tokenizer.num_special_tokens_to_add(pair=True)
        return [of_queries[query] + of_texts[text] + marks for query, text in pairs]

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
        return {name: value for name, value in super().__getstate__().items() if name != "_model"}

    @cached_property
    def _model(self) -> Any:
        if self._dtype is None:
            return self._given
        try:
            import torch
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            purpose = f"the cross-encoder {self._given}"
            raise MissingDependency(error.name or "sentence_transformers", "local", purpose) from None
        require_reachable(self._given)
        with quiet_loading():
            try:
                return CrossEncoder(self._given, model_kwargs={"dtype": getattr(torch, self._dtype)})
            except Exception as error:
                raise model_not_loaded(self._given, error) from error


def _name_of(model: Any) -> str:
    config = getattr(model, "config", None)
    return str(getattr(config, "name_or_path", "") or getattr(config, "_name_or_path", "") or type(model).__name__)
