"""The static embedded model as an Embedder: two orders of magnitude faster than the transformer it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.indexing.distillation import is_distilled, load_static_model, static_identity
from raglift.printable import encodable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.indexing.embedding import Kind

__all__ = ["StaticEmbedder"]

_BATCH_SIZE = 1024


class StaticEmbedder:
    """Static vectors distilled from the embedded MiniLM, made on this machine when the first text needs them.

    It computes in float32 always, and reads texts of any length to their end.
    """

    batches_queries = True
    """Whether queries may be embedded many at a time: a vector does not depend on its batch."""

    @property
    def identity(self) -> str:
        """The source's weights, the dimensions, how they were distilled, and a hash of the vectors."""
        return static_identity()

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be told without distilling the model first."""
        return is_distilled()

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Sort by characters. No vector depends on its batch: this only sets how often the cache is written."""
        ordered = sorted(texts, key=lambda text: (len(text), text))
        return [ordered[begin : begin + _BATCH_SIZE] for begin in range(0, len(ordered), _BATCH_SIZE)]

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002
        """Return one row a text, the mean of its tokens' vectors; zeros for a text without a known token."""
        model = load_static_model()
        # model2vec reads 512 tokens unless told otherwise
        vectors = model.encode([encodable(text) for text in texts], max_length=None, use_multiprocessing=False)
        return np.asarray(vectors, dtype=np.float32)

    def read_in_part(self, texts: Sequence[str]) -> list[bool]:
        """Return False for each text: a mean has no maximum length."""
        return [False] * len(texts)
