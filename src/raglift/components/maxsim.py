"""MaxSim: for each token of a query, its greatest cosine similarity to any token of a text, for many pairs at a time.

On a CPU, all queries on a text are one product of two matrices. The rows of both are filled up to multiples of 16, at
which the kernels have no remainders, and are multiplied on one thread: then the similarities of a pair do not depend on
which other queries are asked of the text (held by tests). On an accelerator, many pairs are one batched product, and
what is found comes to the host at once; there, last bits depend on what is computed together.
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
_NUMBERS_AT_ONCE = 2**28
"""So many numbers of matrices that are multiplied are held at a time on an accelerator: a gibibyte in float32."""


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
    if pairs and pairs[0][0].rows.device.type == "cpu":
        return _by_text(pairs)
    return _batched(pairs)


def _by_text(pairs: Sequence[tuple[TokenMatrix, TokenMatrix]]) -> Iterator[NDArray[np.float32]]:
    import torch

    begin = 0
    while begin < len(pairs):
        text = pairs[begin][1]
        end = next((place for place in range(begin, len(pairs)) if pairs[place][1] is not text), len(pairs))
        queries = [query for query, _ in pairs[begin:end]]
        with one_thread(), torch.inference_mode():
            rows = torch.cat([query.rows for query in queries])
            greatest = (rows @ text.rows.T).amax(dim=1).numpy()
        yield from _split(greatest, queries)
        begin = end


def _batched(pairs: Sequence[tuple[TokenMatrix, TokenMatrix]]) -> Iterator[NDArray[np.float32]]:
    """Multiply many pairs at a time: matrices of a pair are filled up to the largest."""
    import torch

    longest = max((max(len(query.rows), len(text.rows)) for query, text in pairs), default=1)
    width = pairs[0][0].rows.shape[1] if pairs else 1
    at_once = max(_NUMBERS_AT_ONCE // (longest * (2 * width + longest)), 1)
    for begin in range(0, len(pairs), at_once):
        some = pairs[begin : begin + at_once]
        with torch.inference_mode():
            queries, of_query = _stacked([query for query, _ in some])
            texts, of_text = _stacked([text for _, text in some])
            products = torch.bmm(queries[of_query], texts[of_text].transpose(1, 2))
            greatest = products.amax(dim=2).cpu().numpy()
        for (query, _), found in zip(some, greatest, strict=True):
            yield found[: query.tokens]


def _stacked(matrices: Sequence[TokenMatrix]) -> tuple[Any, Any]:
    """Return the distinct matrices as one tensor, and which of them each is."""
    import torch

    places: dict[int, int] = {}
    number = [places.setdefault(id(matrix), len(places)) for matrix in matrices]
    distinct = list({id(matrix): matrix for matrix in matrices}.values())
    longest = max(len(matrix.rows) for matrix in distinct)
    filled = [torch.cat([matrix.rows, matrix.rows[:1].expand(longest - len(matrix.rows), -1)]) for matrix in distinct]
    return torch.stack(filled), torch.tensor(number, device=distinct[0].rows.device)


def _split(greatest: NDArray[np.float32], queries: Sequence[TokenMatrix]) -> Iterator[NDArray[np.float32]]:
    begin = 0
    for query in queries:
        yield greatest[begin : begin + query.tokens]
        begin += len(query.rows)
