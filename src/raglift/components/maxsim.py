"""MaxSim: for each token of a query, its greatest cosine similarity to any token of a text, for many pairs at a time.

On a CPU, all queries on a text are one product of two matrices. The rows of both are filled up to multiples of 16, at
which the kernels have no remainders, and are multiplied on one thread: then the similarities of a pair do not depend on
which other queries are asked of the text (held by tests). On an accelerator, last bits depend on what is computed
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.components.models import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray


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
    """How many rows are tokens."""

    @classmethod
    def of(cls, embeddings: Any) -> TokenMatrix:
        """Return token embeddings with rows of unit length; in bfloat16 they were only nearly so.

        Args:
            embeddings: a tensor of shape (tokens, dimensions), one token or more.
        """
        import torch

        tokens = len(embeddings)
        filling = embeddings[:1].expand(-tokens % _STEP, -1)
        # In memory of its own, so aligned: a product's last bits change with that, too
        filled = torch.cat([embeddings, filling]).float()
        return cls(torch.nn.functional.normalize(filled, dim=-1), tokens)


def maxsim(pairs: Sequence[tuple[TokenMatrix, TokenMatrix]]) -> Iterator[NDArray[np.float32]]:
    """Yield, for each pair of a query and a text, the greatest cosine similarity of each token of the query.

    Args:
        pairs: matrices on one device; those of one text best stand together.
    """
    import torch

    begin = 0
    while begin < len(pairs):
        text = pairs[begin][1]
        end = next((place for place in range(begin, len(pairs)) if pairs[place][1] is not text), len(pairs))
        queries = [query for query, _ in pairs[begin:end]]
        with one_thread(), torch.inference_mode():
            rows = torch.cat([query.rows for query in queries])
            greatest = (rows @ text.rows.T).amax(dim=1).cpu().numpy()
        yield from _split(greatest, queries)
        begin = end


def _split(greatest: NDArray[np.float32], queries: Sequence[TokenMatrix]) -> Iterator[NDArray[np.float32]]:
    begin = 0
    for query in queries:
        yield greatest[begin : begin + query.tokens]
        begin += len(query.rows)
