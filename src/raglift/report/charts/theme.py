"""How charts look: one set of colours and fonts, on light and on dark ground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

__all__ = ["AFTER", "BEFORE", "DOWN", "HEIGHT", "PALETTE", "UP", "WIDTH", "configuration", "themed"]

WIDTH = 620
"""The width of a chart that does not take that of a page, in pixels."""
HEIGHT = 300
"""The usual height, in pixels."""

# Each is told from its neighbours by people who do not see red or green apart, and stands out by at least 3 to 1 on
# white and on the dark ground (WCAG 1.4.11), so that one set serves both.
PALETTE = ("#2b7bc4", "#c4691c", "#8568c7", "#1b8a80", "#c2558f", "#8a7a2e", "#6b7f90")
BEFORE = "#7a8794"
"""The first stage, or what is compared with."""
AFTER = PALETTE[0]
"""The last stage."""
UP = PALETTE[0]
"""What got better."""
DOWN = PALETTE[1]
"""What got worse."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def configuration(*, dark: bool = False) -> dict[str, Any]:
    """Return the look of a chart as Vega-Lite's `config`.

    Args:
        dark: for dark ground; the ground itself is then left to the page.
    """
    ink, muted, grid = ("#e6e9ee", "#a9b2bd", "#343b45") if dark else ("#1c2229", "#55606c", "#e3e7ec")
    return {
        "background": None if dark else "#ffffff",
        "font": _FONT,
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
        "axis": {
            "domain": False,
            "gridColor": grid,
            "tickColor": grid,
            "labelColor": muted,
            "titleColor": muted,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 8,
        },
        "legend": {"labelColor": ink, "titleColor": muted, "labelFontSize": 12, "titleFontSize": 12, "labelLimit": 240}
        | {"orient": "top", "direction": "horizontal", "titleFontWeight": "normal", "symbolStrokeWidth": 3},
        "header": {"labelColor": ink, "titleColor": muted, "labelFontSize": 12, "titleFontSize": 12}
        | {"titleFontWeight": "normal"},
        "title": {"color": ink, "subtitleColor": muted, "anchor": "start", "fontSize": 14, "subtitleFontSize": 12},
        "text": {"color": ink, "fontSize": 12},
        "rule": {"color": muted},
        "range": {"category": list(PALETTE)},
        "style": {"muted": {"color": muted}, "ink": {"color": ink}, "zero": {"color": muted, "stroke": muted}},
    }


def themed(chart: Any, description: str) -> alt.LayerChart:
    """Return a chart with the look of all charts, on light ground, and with what it shows in words."""
    told: alt.LayerChart = chart.properties(description=description)
    told.config = configuration()
    return told
