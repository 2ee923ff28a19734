"""MaxSim of many pairs at a time, against a plain computation of each with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.components.maxsim import TokenMatrix, _batched, _by_text, maxsim

torch = pytest.importorskip("torch")


def matrices(count: int, longest: int, seed: int, width: int = 24) -> list[TokenMatrix]:
    made = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest, (count,), generator=made).tolist()
    return [TokenMatrix.of(torch.randn(length, width, generator=made)) for length in lengths]


def plainly(query: TokenMatrix, text: TokenMatrix) -> np.ndarray:
    rows = [matrix.rows[: matrix.tokens].numpy().astype(np.float64) for matrix in (query, text)]
    return (rows[0] @ rows[1].T).max(axis=1)


PAIRS = [(query, text) for text in matrices(7, 70, 1) for query in matrices(9, 40, 2)]


@pytest.mark.parametrize("way", [_by_text, _batched])
def test_the_greatest_similarity_of_each_token_is_that_of_a_plain_product(way) -> None:
    for (query, text), found in zip(PAIRS, way(PAIRS), strict=True):
        assert len(found) == query.tokens
        assert found == pytest.approx(plainly(query, text), abs=1e-5)


def test_on_a_cpu_a_pair_has_the_same_bits_whatever_else_is_asked() -> None:
    together = [found.tobytes() for found in maxsim(PAIRS)]
    assert [next(maxsim([pair])).tobytes() for pair in PAIRS] == together
    assert [found.tobytes() for found in maxsim(PAIRS[::-1])] == together[::-1]


def test_pairs_beyond_what_is_held_at_a_time_are_computed_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(_batched(PAIRS))
    monkeypatch.setattr("raglift.components.maxsim._NUMBERS_AT_ONCE", 1)
    for found, before in zip(_batched(PAIRS), expected, strict=True):
        assert found == pytest.approx(before, abs=1e-6)


def test_rows_that_fill_up_never_have_the_greatest_similarity() -> None:
    """All similarities below 0: rows of zeros would be greater."""
    query, text = TokenMatrix.of(torch.tensor([[1.0, 0.0]])), TokenMatrix.of(torch.tensor([[-1.0, 0.1]]))
    for way in (_by_text, _batched):
        assert float(next(way([(query, text)]))[0]) < -0.9
    assert (len(text.rows), text.tokens) == (16, 1)


def test_no_pairs_have_no_similarities() -> None:
    assert list(maxsim([])) == []
