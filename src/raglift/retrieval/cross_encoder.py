"""Cross-encoders: a model reads the query and the text together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any

from raglift.errors import ConfigurationError
from raglift.retrieval.batches import (
    BATCH_SIZE,
    SHAPES,
    can_be_padded,
    can_count_tokens,
    compute_by_shape,
    fixed_rows,
    in_parts,
    is_small,
    pair_token_counts,
    token_counts,
    token_limit,
)
from raglift.retrieval.devices import (
    AUTO,
    CPU,
    Dtype,
    computed_on,
    here,
    require_device,
    resolve_device,
    resolve_dtype,
)
from raglift.retrieval.models import (
    identity_of,
    load_cross_encoder,
    local_or_hub,
    one_thread,
    require_reachable,
)
from raglift.retrieval.rerankers import Pair, PairReranker, Truncated
from raglift.utilities.cache import Cache


class CrossEncoderReranker(PairReranker):
    """Scores pairs with a sentence-transformers `CrossEncoder`.

    On a CPU a score depends on its pair alone: see `raglift.retrieval.batches`. On an accelerator, and with a model
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
        named = isinstance(model, str)
        super().__init__(batch_size=batch_size, cache=cache if named else Cache(None), progress=progress)
        self.model = model
        self.device = resolve_device(device) if named else str(getattr(model, "device", CPU))
        self._dtype = resolve_dtype(dtype, self.device) if named else None

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

    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return the model's relevance score for each pair.

        Raises:
            ConfigurationError: the device is not there.
        """
        require_device(self.device, self._dtype)
        model = self._model

        def compute(pairs: list[Pair], settings: dict[str, Any]) -> list[float]:
            with one_thread() if is_small(len(pairs), settings) else nullcontext():
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


def truncated_by_cross_encoder(model: Any, pairs: Sequence[Pair]) -> list[Truncated] | None:
    """Return what a sentence-transformers `CrossEncoder` reads in part of each pair; None where it cannot be known.

    A pair that is too long counts as a text read in part, whichever of the two is cut. A query counts where it alone
    is longer than the model reads.
    """
    if not can_count_tokens(model):
        return None
    limit = token_limit(model)
    if limit is None:
        return [Truncated.NOTHING] * len(pairs)
    queries = list(dict.fromkeys(query for query, _ in pairs))
    long_queries = {
        query for query, tokens in zip(queries, token_counts(model, queries), strict=True) if tokens > limit
    }
    counts = pair_token_counts(model, pairs)
    return [
        Truncated(Truncated.TEXT * (tokens > limit) | Truncated.QUERY * (query in long_queries))
        for (query, _), tokens in zip(pairs, counts, strict=True)
    ]
