"""The colours of charts stand out on light and on dark ground, and are told apart without red and green."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.report.charts.parts import BEFORE, DOWN, PALETTE, UP, configuration

GROUNDS = {False: "#ffffff", True: "#1c2128"}


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio."""
    light = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) + 0.05 for colour in (one, other))
    return light[1] / light[0]


def as_seen_by_deuteranopes(colour: str) -> np.ndarray:
    """Linear RGB after Viénot, Brettel and Mollon, 1999."""
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    blind = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    return np.linalg.inv(to_lms) @ blind @ to_lms @ linear(colour)


@pytest.mark.parametrize("dark", [False, True])
def test_marks_and_letters_stand_out_on_their_ground(dark: bool) -> None:
    for colour in (*PALETTE, BEFORE):
        assert contrast(colour, GROUNDS[dark]) >= 3, colour
    look = configuration(dark=dark)
    for colour in (look["text"]["color"], look["axis"]["labelColor"], look["style"]["muted"]["color"]):
        assert contrast(colour, GROUNDS[dark]) >= 4.5, colour


def test_up_and_down_and_before_and_after_differ_also_for_who_does_not_see_green() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    for one, other in ((UP, DOWN), (UP, BEFORE)):
        seen = as_seen_by_deuteranopes(one) - as_seen_by_deuteranopes(other)
        assert np.linalg.norm(seen) > 0.15, (one, other)
