"""The chart of a race."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.metrics.computing import mean_title
from raglift.report.charts.parts import PALETTE, WIDTH, altair, data_of, plain, themed
from raglift.search.records import DROPPED, FINALIST, SET_ASIDE

if TYPE_CHECKING:
    import altair as alt

    from raglift.search.records import SearchRecord

_HEIGHT = 320
_RECOMMENDED = "recommended"
_FATES = {_RECOMMENDED: PALETTE[0], FINALIST: PALETTE[3], SET_ASIDE: PALETTE[6], DROPPED: PALETTE[1]}
"""The colour of each line, by what became of the cell."""


def race_chart(found: SearchRecord) -> alt.LayerChart:
    """Return the mean of each cell over the queries that it had been asked after each rung.

    Args:
        found: what a search found.
    """
    draw, recommended = altair(), found.recommended
    fates: dict[str, str] = {one.cell.name: one.fate for one in found.entrants}
    rows = [
        {
            "cell": plain(name),
            "asked": asked,
            "mean": mean,
            "fate": "recommended" if name == recommended else fates[name],
        }
        for name, path in found.paths.items()
        for asked, mean in path
    ]
    colours = {fate: colour for fate, colour in _FATES.items() if any(row["fate"] == fate for row in rows)}
    x = draw.X("asked:Q", title="queries asked", scale=draw.Scale(zero=False))
    y = draw.Y("mean:Q", title=mean_title(found.primary), scale=draw.Scale(zero=False))
    shade = draw.Color("fate:N", title=None, scale=draw.Scale(domain=list(colours), range=list(colours.values())))
    tooltip = [
        draw.Tooltip("cell:N"),
        draw.Tooltip("fate:N"),
        draw.Tooltip("asked:Q"),
        draw.Tooltip("mean:Q", format=".3f"),
    ]
    base = draw.Chart(data_of(rows)).encode(x=x, y=y, color=shade, tooltip=tooltip, detail="cell:N")
    layers = base.mark_line(opacity=0.6) + base.mark_point(size=14, filled=True)
    title = f"{mean_title(found.primary)} of each cell over the queries asked so far"
    return themed(layers.properties(width=WIDTH, height=_HEIGHT), title)
