"""Recall of sessions after each call and after so many tokens: a line for each agent."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError
from raglift.report.charts.parts import BEFORE, HEIGHT, PALETTE, WIDTH, altair, data_of, legend_of, plain, themed
from raglift.report.format import percent_text
from raglift.report.session_curves import session_curves

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt

    from raglift.rendering.document import Curve, Steps
    from raglift.report.session_curves import Analyses

_CALLS, _TOKENS = range(2)
_FEW_POINTS = 12


def recall_after_calls(analyses: Analyses, baseline: str = "") -> alt.LayerChart:
    """Return recall after each call, a line for each agent.

    Args:
        analyses: what was found of each agent, by name.
        baseline: the one that is drawn as what others are compared with.

    Raises:
        ConfigurationError: no session made a call.
    """
    return _chart(analyses, _CALLS, "calls made", baseline)


def recall_after_tokens(analyses: Analyses, baseline: str = "") -> alt.LayerChart:
    """Return recall after so many tokens of hits, a line for each agent.

    Args:
        analyses: what was found of each agent, by name.
        baseline: the one that is drawn as what others are compared with.

    Raises:
        ConfigurationError: no session found anything.
    """
    return _chart(analyses, _TOKENS, "tokens of all hits so far", baseline)


def _chart(analyses: Analyses, which: int, axis: str, baseline: str) -> alt.LayerChart:
    curves = session_curves(analyses, baseline)
    if len(curves) <= which:
        raise ConfigurationError("plot: found no session that found anything; expected at least one, for a curve")
    names = {line.name: plain(line.name or "recall") for line in curves[which].lines}
    return _lines(curves[which], axis, names)


def _lines(curve: Curve, axis: str, names: Mapping[str, str]) -> alt.LayerChart:
    alt = altair()
    others = cycle(PALETTE)
    colours = [BEFORE if line.is_baseline else next(others) for line in curve.lines]
    rows = [row for line in curve.lines for row in _rows(line, names[line.name], curve.last)]
    x = alt.X("k:Q", title=axis, scale=alt.Scale(domain=[0, curve.last], nice=False))
    x.axis = alt.Axis(values=list(curve.ticks), format=",d", grid=False)
    y = alt.Y("v:Q", title="recall", axis=alt.Axis(format="%", tickCount=5), scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color("s:N", title=None, scale=alt.Scale(domain=list(names.values()), range=colours))
    colour.legend = legend_of(list(names.values())) if len(names) > 1 else None
    base = alt.Chart(data_of(rows)).encode(x=x, y=y, color=colour)
    tooltip = [alt.Tooltip("s:N", title="of"), alt.Tooltip("k:Q", title=axis), alt.Tooltip("t:N", title="recall")]
    few = max(len(line.points) for line in curve.lines) <= _FEW_POINTS
    points = base.mark_point(filled=True, size=44, opacity=1 if few else 0).encode(tooltip=tooltip)
    chart = alt.layer(base.mark_line(strokeWidth=2.5, interpolate="step-after"), points)
    return themed(chart.properties(width=WIDTH, height=HEIGHT, title=alt.Title(curve.title)), curve.description)


def _rows(line: Steps, name: str, last: float) -> list[dict[str, Any]]:
    """Return the points of a line from 0 to the end of the axis."""
    points = [(0.0, 0.0), *line.points]
    if points[-1][0] < last:
        points.append((last, points[-1][1]))
    return [{"k": place, "s": name, "v": share, "t": percent_text(share)} for place, share in points]
