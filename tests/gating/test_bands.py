"""Verbal bands of NDCG values."""

from __future__ import annotations

import pytest

from raglift.gating.bounds import Band, band_of


@pytest.mark.parametrize(
    ("ndcg", "band"),
    [
        (1.0, Band.ELITE),
        (0.901, Band.ELITE),
        (0.9, Band.SOLID),  # above 0.9 is elite
        (0.7, Band.SOLID),
        (0.699, Band.FAIR),
        (0.5, Band.FAIR),
        (0.499, Band.REWORK),
        (0.0, Band.REWORK),
    ],
)
def test_the_borders_of_the_bands(ndcg: float, band: Band) -> None:
    assert band_of(ndcg) is band


def test_rounding_moves_no_mean_over_a_border() -> None:
    assert 0.3 * 3 < 0.9
    assert band_of(0.3 * 3) is Band.SOLID
    assert band_of(0.1 * 7 - 1e-12) is Band.SOLID
    assert band_of(0.9 + 1e-12) is Band.SOLID


def test_a_band_is_its_word() -> None:
    assert [str(band) for band in Band] == ["elite", "solid", "fair", "rework"]
