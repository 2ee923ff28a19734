"""Charts of a sweep, among them the map of its cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.analysis.paired_statistics import scored
from raglift.analysis.truncation import CUT
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.report.charts.parts import WIDTH, altair, data_of, figure, of_labels, plain, themed
from raglift.report.charts.plots import ComparisonPlots
from raglift.report.views.parts import begins_alike
from raglift.sweep.specification.cells import NO_RERANKER, PARTS

if TYPE_CHECKING:
    import altair as alt

    from raglift.sweep.records import CellResult
    from raglift.sweep.result import SweepResult
    from raglift.types.metric import Metric


_ROW = 28
"""The height of a row of the map, in pixels."""
_COLUMN = 84
"""The width of a column, …"""
_WIDEST = 12
"""… unless there are more: then they share the width of the page."""
_DARK = 0.45
"""Up to this share of the colour scale white letters stand out more, above it black ones: always by over 4 to 1."""
_BEST, _BEST_WHOLE = "★", "☆"
"""Signs of the best cell, and of the best without truncation if that is another one."""
_UPRIGHT = 44
"""The number of letters that fit next to each other above the columns; longer labels are rotated."""


def varying(cells: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the parts in which cells differ."""
    told = list(cells)
    return [part for part in PARTS if len({one.get(part) for one in told}) > 1]


def heatmap_chart(result: SweepResult, metric: Metric, x: str, y: str, signs: Mapping[str, str]) -> alt.LayerChart:
    """Return the cells as a map: one part from left to right, the others from row to row; with signs, by key."""
    alt = altair()
    entries = [one for one in result.results if one.evaluation is not None or one.error is not None]
    known = [value for one in entries if not math.isnan(value := one.value(metric))]
    low, high = min(known, default=0.0), max(known, default=1.0)
    dark = low + _DARK * ((high - low) or 1.0)
    others = [part for part in varying(one.cell.to_dict() for one in entries) if part not in (x, y)]
    squares = [_square(one, metric, (x, y, *others), dark, signs.get(one.cell.key, "")) for one in entries]
    columns, rows = ([*dict.fromkeys(square[key] for square in squares)] for key in ("c", "r"))
    tooltip = [alt.Tooltip("n:N", title="configuration"), alt.Tooltip("w:N", title=mean_title(metric))]
    down = alt.Y("r:N", sort=None, title=None, axis=alt.Axis(ticks=False, labelLimit=240))
    colour = alt.Color("v:Q", legend=None, scale=alt.Scale(scheme="viridis", domain=[low, high], nice=False))
    measured = alt.Chart(data_of(square for square in squares if square["v"] is not None))
    written = alt.Chart(data_of(squares)).mark_text()
    highest = max(squares, key=lambda square: -math.inf if square["v"] is None else square["v"])
    return themed(
        alt.layer(
            measured.mark_rect().encode(x=_across(columns, x), y=down, color=colour, tooltip=tooltip),
            written.encode(
                x=_across(columns, x), y=down, text="t:N", color=alt.Color("i:N", scale=None), tooltip=tooltip
            ),
        )
        .resolve_scale(color="independent")
        .properties(
            width=WIDTH if len(columns) > _WIDEST else alt.Step(_COLUMN),
            height=_ROW * len(rows),
            title=f"{mean_title(metric)} by {x} and {y}",
        ),
        f"A map of {mean_title(metric)} by {x} and {y}, {len(known)} configurations; lighter is more. "
        f"The highest is {highest['w']}, of {highest['n']}.",
    )


def _square(one: CellResult, metric: Metric, parts: Sequence[str], dark: float, sign: str) -> dict[str, Any]:
    """Return one cell of the map: its column and row, its value and ink, and what is written in it and beside it."""
    values, value = one.cell.to_dict(), one.value(metric)
    column, row, *block = (_called(part, values.get(part)) for part in parts if part in (*parts[:2], *values))
    square: dict[str, Any] = {"c": column, "r": " · ".join([*block, row]), "n": plain(one.cell.name)}
    if math.isnan(value):
        why = "failed: " + plain(one.error) if one.error else "no question counts"
        return square | {"v": None, "t": "–", "i": "#808080", "w": why}
    truncation, text = one.truncation, figure(metric, value)
    cut = f", reads some chunks only in part ({truncation.mark})" if truncation else ""
    return square | {
        "v": value,
        "t": " ".join(filter(None, [text, sign, CUT if truncation else ""])),
        "i": "#ffffff" if value < dark else "#000000",
        "w": text + cut,
    }


def _called(part: str, value: str | None) -> str:
    if value is None or (part == "reranker" and value == NO_RERANKER):
        return f"without {part}"
    return plain(value)


def _across(columns: Sequence[str], part: str) -> Any:
    """Return the columns; what their names begin with alike is once, in the title."""
    alt = altair()
    alike = begins_alike(columns)
    letters = sum(len(column) - len(alike) + 2 for column in columns)
    axis = alt.Axis(
        orient="top",
        ticks=False,
        grid=False,
        labelLimit=180,
        labelAngle=0 if letters < _UPRIGHT else -30,
        # The number is ours, and the name stays data: nothing of it gets into the expression
        labelExpr=f"slice(datum.label, {len(alike)})",
    )
    scale = alt.Scale(domain=list(columns), paddingInner=0.04, paddingOuter=0)
    return alt.X("c:N", sort=None, title=f"{part}: {alike}…" if alike else part, axis=axis, scale=scale)


@dataclass(frozen=True)
class SweepPlots(ComparisonPlots):
    """Charts of a sweep: those of a comparison of its cells, by short names, and the map of all cells."""

    result: SweepResult = field(kw_only=True)
    """What the sweep found."""

    def __call__(self, metric: Metric | str | None = None) -> alt.LayerChart:
        """Return the heat map of the first two parts that differ; if only one does, each cell minus the baseline."""
        parts = varying(one.cell.to_dict() for one in self.result.finished)
        parts.sort(key=lambda part: part not in ("chunker", "embedding"))
        return self.heatmap(metric, *parts[:2]) if len(parts) > 1 else super().__call__(metric)

    def heatmap(self, metric: Metric | str | None = None, x: str = "chunker", y: str = "embedding") -> alt.LayerChart:
        """Return the cells' means as a map, a row for each combination of the other parts.

        ★ marks the best cell, ✂ those whose embedding model or reranker truncates some chunks, ☆ the best without any
        where that is another one, and – those that failed.

        Args:
            metric: what to look at, after the last stage; by default the primary metric.
            x: the part that differs from left to right: `chunker`, `embedding`, `retriever`, `reranker` or `system`.
            y: the part that differs from row to row.

        Raises:
            ConfigurationError: no such part, twice the same, or a metric that was not scored.
        """
        result = self.result
        known = self.comparison.evaluations[0].scores.metrics
        wanted = scored(result.primary if metric is None else metric, known, "metric")
        for name, part in (("x", x), ("y", y)):
            if part not in PARTS or x == y:
                raise ConfigurationError(f"{name}: found {part!r}; expected two different ones of {', '.join(PARTS)}")
        signs: dict[str, str] = {}
        if wanted == result.primary:
            best, whole = result.best(), result.best(without_truncation=True)
            signs |= {} if whole is None else {whole.cell.key: _BEST_WHOLE}
            signs |= {} if best is None else {best.cell.key: _BEST}
        return of_labels(heatmap_chart(result, wanted, x, y, signs), result.label_sources)


def short_names(result: SweepResult) -> dict[str, str]:
    """Return what to call each measured cell: the parts in which they differ, without what is alike in all."""
    told = {one.cell.name: one.cell.to_dict() for one in result.finished}
    differing = varying(told.values())
    alike = {part: begins_alike(parts[part] for parts in told.values() if part in parts) for part in differing}
    names = {
        name: " · ".join(
            parts[part][len(alike[part]) :] for part in differing if parts.get(part, NO_RERANKER) != NO_RERANKER
        )
        for name, parts in told.items()
    }
    counts = Counter(names.values())
    return {name: short if short and counts[short] == 1 else name for name, short in names.items()}
