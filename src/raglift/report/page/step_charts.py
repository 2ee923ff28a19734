"""Small charts of shares that grow in steps, as SVG paths for the template: they need no script."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.rendering.document import Curve, Steps

WIDTH, HEIGHT = 360.0, 140.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 42.0, 12.0, 10.0, 22.0
_FEW_POINTS = 12
"""A line of more steps has no points on it."""
_NARROW = 2
"""A figure of so many characters fits at the end of an axis."""
COLOURS = 7
"""So many lines have colours of their own."""


@dataclass(frozen=True)
class LaidLine:
    """A line as a path."""

    name: str
    path: str
    points: tuple[tuple[float, float], ...]
    """Where it has points; none where there would be many."""
    colour: str
    """The end of its class: a number, or `baseline`."""


@dataclass(frozen=True)
class LaidCurve:
    """A chart of steps as the template shows it."""

    title: str
    description: str
    lines: tuple[LaidLine, ...]
    shares: tuple[tuple[str, float], ...]
    """The figures at the left, and how high each stands."""
    ticks: tuple[tuple[str, float, str], ...]
    """The figures below, where each stands, and how it is aligned."""
    width: float = WIDTH
    height: float = HEIGHT
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    bottom: float = HEIGHT - 6.0


def laid_curve(curve: Curve) -> LaidCurve:
    """Return a chart of steps with its lines as paths."""
    last = max(curve.last, 1e-9)

    def x(place: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * min(place, last) / last, 1)

    def y(share: float) -> float:
        return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - share), 1)

    def path(line: Steps) -> Iterator[str]:
        yield f"M{x(0)} {y(0)}"
        yield from (f"H{x(place)}V{y(share)}" for place, share in line.points)
        yield f"H{x(last)}"

    others = cycle(range(COLOURS))
    lines = tuple(
        LaidLine(
            line.name,
            "".join(path(line)),
            tuple((x(place), y(share)) for place, share in line.points) if len(line.points) <= _FEW_POINTS else (),
            "baseline" if line.is_baseline else str(next(others)),
        )
        for line in curve.lines
    )
    wide = len(f"{curve.last:,.0f}") > _NARROW
    ticks = tuple(
        (f"{tick:,.0f}", x(tick), "end" if wide and x(tick) > WIDTH - 2 * _RIGHT else "middle") for tick in curve.ticks
    )
    shares = tuple((f"{share:.0%}", y(share)) for share in (0.0, 0.5, 1.0))
    return LaidCurve(curve.title, curve.description, lines, shares, ticks)
