"""What an NDCG is worth, in a word."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Band", "band_of"]

_ROUNDING = 1e-9
"""What rounding may do to a mean that is exactly on a border."""


class Band(StrEnum):
    """A rule of thumb for the NDCG of a whole set: above 0.9, from 0.7 to 0.9, from 0.5 to 0.7, under 0.5."""

    ELITE = "elite"
    SOLID = "solid"
    FAIR = "fair"
    REWORK = "rework"


def band_of(ndcg: float) -> Band:
    """Return the band of an NDCG: elite only above 0.9, so 0.9 itself is solid; 0.7 is solid, and 0.5 is fair."""
    if ndcg > 0.9 + _ROUNDING:
        return Band.ELITE
    if ndcg >= 0.7 - _ROUNDING:
        return Band.SOLID
    return Band.FAIR if ndcg >= 0.5 - _ROUNDING else Band.REWORK
