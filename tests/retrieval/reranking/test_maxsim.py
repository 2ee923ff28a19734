"""MaxSim against a plain computation with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.retrieval.late_interaction import TokenMatrix, maxsim

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")


def matrices(count: int, longest: int, seed: int, width: int = 24) -> list[TokenMatrix]:
    made = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest, (count,), generator=made).tolist()
    return [TokenMatrix.of(torch.randn(length, width, generator=made)) for length in lengths]


def plainly(query: TokenMatrix, text: TokenMatrix) -> np.ndarray:
    rows = [matrix.rows[: matrix.tokens].numpy().astype(np.float64) for matrix in (query, text)]
    return (rows[0] @ rows[1].T).max(axis=1)


PAIRS = [(query, text) for text in matrices(7, 70, 1) for query in matrices(9, 40, 2)]


def test_the_greatest_similarity_of_each_token_is_that_of_a_plain_product() -> None:
    for query, text in PAIRS:
        found = maxsim(query, text)
        assert len(found) == query.tokens
        assert found == pytest.approx(plainly(query, text), abs=1e-5)


def test_rows_that_fill_up_never_have_the_greatest_similarity() -> None:
    """All similarities below 0: rows of zeros would be greater."""
    query, text = TokenMatrix.of(torch.tensor([[1.0, 0.0]])), TokenMatrix.of(torch.tensor([[-1.0, 0.1]]))
    assert float(maxsim(query, text)[0]) < -0.9
    assert (len(text.rows), text.tokens) == (16, 1)
