"""Line charts: a metric over k, recall by prompt size, and quality against a cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.analysis.explanation import over_k as curve
from raglift.analysis.paired_statistics import is_bounded
from raglift.analysis.prompt_curves import prompt_curves
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.metrics.parsing import parse
from raglift.metrics.registry import MEASURES
from raglift.report.charts.parts import (
    AFTER,
    BEFORE,
    HEIGHT,
    PALETTE,
    UP,
    WIDTH,
    altair,
    data_of,
    figure,
    legend_of,
    plain,
    quantity,
    themed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import altair as alt
    import pandas as pd

    from raglift.analysis.records import ComparisonRecord, EvaluationRecord, SystemCost, TradeoffRecord
    from raglift.records.metric import Metric


# A metric over k, one line per stage or system.


def over_k_of_evaluation(
    evaluation: EvaluationRecord, metric: Metric | str, ks: Sequence[int] | None
) -> alt.LayerChart:
    """Return a line per stage; one that returns no more than so many hits ends there, and says so."""
    frame = curve(evaluation, metric, ks)
    stages = evaluation.scores.stages
    between = PALETTE[2 : len(stages)]
    colours = (AFTER,) if len(stages) == 1 else (BEFORE, *between, AFTER)
    cut = {stage: evaluation.truncated[stage] for stage in stages if stage in evaluation.truncated}
    return _lines(_measure(metric), frame["k"], {stage: frame[stage] for stage in stages}, colours, cut)


def over_k_of_comparison(
    comparison: ComparisonRecord, metric: Metric | str, ks: Sequence[int] | None, called: Mapping[str, str]
) -> alt.LayerChart:
    """Return a line per system, at its last stage: the baseline and, where there are many, the best of the others."""
    measure = _measure(metric)
    most = min(int(evaluation.run.spec["candidates"]) for evaluation in comparison.evaluations)
    depths = range(1, most + 1) if ks is None else ks
    frames = {name: curve(comparison.evaluation(name), metric, depths) for name in comparison.names}
    lines = {name: frame[comparison.evaluation(name).after] for name, frame in frames.items()}
    shown = sorted(comparison.others, key=lambda name: -_mean(lines[name]))[: len(PALETTE) - 1]
    names = [name for name in comparison.names if name in shown or name == comparison.baseline]
    cut = {
        name: one.truncated[one.after] for name in names if (one := comparison.evaluation(name)).after in one.truncated
    }
    others = iter(PALETTE)
    colours = [BEFORE if name == comparison.baseline else next(others) for name in names]
    ks_shown = frames[comparison.baseline]["k"]
    aside = "" if len(names) == len(comparison.names) else f"{len(names)} of {len(comparison.names)} systems"
    told = {called.get(name, name): lines[name] for name in names}
    return _lines(measure, ks_shown, told, colours, {called.get(name, name): most for name, most in cut.items()}, aside)


def _mean(line: pd.Series[float]) -> float:
    known = line.dropna()
    return float(known.mean()) if len(known) else -np.inf


def _measure(metric: Metric | str) -> Metric:
    measure = parse(str(metric))
    if "k" in MEASURES[measure.name].depths and measure.depth is None:
        return measure
    raise ConfigurationError(f"over_k: found {metric}; expected a measure without a depth that takes one, as 'ndcg'")


def _lines(
    measure: Metric,
    ks: pd.Series[int],
    lines: Mapping[str, pd.Series[float]],
    colours: Sequence[str],
    cut: Mapping[str, int],
    aside: str = "",
) -> alt.LayerChart:
    alt = altair()
    names = {name: plain(name) + (f" (returns at most {cut[name]})" if name in cut else "") for name in lines}
    rows = [
        {"k": int(k), "s": names[name], "v": float(value), "t": figure(measure, value)}
        for name, line in lines.items()
        for k, value in zip(ks, line, strict=True)
        if not np.isnan(value)
    ]
    title = f"{mean_title(measure)}@k"
    last = int(ks.max())
    y = alt.Y("v:Q", title=title, axis=alt.Axis(format=quantity(measure), tickCount=5), scale=_height(measure, rows))
    x = alt.X("k:Q", title="k, how many hits count", scale=alt.Scale(domain=[min(1, int(ks.min())), last], nice=False))
    x.axis = alt.Axis(values=_ticks(last), format="d", grid=False)
    colour = alt.Color("s:N", title=None, scale=alt.Scale(domain=list(names.values()), range=list(colours)))
    colour.legend = legend_of(list(names.values()))
    base = alt.Chart(data_of(rows)).encode(x=x, y=y, color=colour)
    tooltip = [alt.Tooltip("s:N", title="of"), alt.Tooltip("k:Q", title="k"), alt.Tooltip("t:N", title=title)]
    # A line's points are seen where they are few, and can be pointed at where they are many
    points = base.mark_point(filled=True, size=44, opacity=1 if len(ks) <= 12 else 0).encode(tooltip=tooltip)
    chart = alt.layer(base.mark_line(strokeWidth=2.5), points)
    if cut:
        chart += (
            alt.Chart(data_of(_ends(rows, names, cut)))
            .mark_point(shape="stroke", angle=90, size=260, strokeWidth=2.5)
            .encode(x=x, y=y, color=colour, tooltip=[alt.Tooltip("s:N", title="of")])
        )
    told = "; ".join(f"{name} {line.dropna().iloc[-1]:.3f}" for name, line in lines.items() if len(line.dropna()))
    return themed(
        chart.properties(width=WIDTH, height=HEIGHT, title=alt.Title(f"{title} over k", subtitle=aside or [])),
        f"Lines: {title} for k from {int(ks.min())} to {last}. At the deepest k: {plain(told)}.",
    )


def _ends(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], cut: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the last point of each line that ends before the others."""
    last = {row["s"]: row for row in rows}
    return [dict(last[names[name]]) for name in cut if names[name] in last]


def _height(measure: Metric, rows: Sequence[Mapping[str, Any]]) -> Any:
    top = max((row["v"] for row in rows), default=1.0)
    return altair().Scale(domain=[0, max(1.0, top)], nice=False) if is_bounded(measure) else altair().Scale(zero=True)


def _ticks(last: int) -> list[int]:
    """Return 1 and a few round depths after it."""
    step = next((step for step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500) if last / step <= 8), 1000)
    return [1, *(k for k in range(step, last + 1, step) if k > 1)]


# Recall by prompt size, one line per system, with its interval as a band.


def by_prompt_size(comparison: ComparisonRecord, called: Mapping[str, str]) -> alt.LayerChart:
    """Return a line and a band per system: the baseline and, where there are many, the best of the others.

    Raises:
        ConfigurationError: agents alone, or nothing came back.
    """
    curves = prompt_curves(comparison)
    if not curves:
        raise ConfigurationError("by_prompt_size: found no hits; expected a system that is asked once, with hits")
    others = [name for name in curves if name != comparison.baseline]
    least = min(curve.end for curve in curves.values())  # all have prompts as long as this
    best = sorted(others, key=lambda name: -curves[name].at(least).recall)[: len(PALETTE) - 1]
    shown = {called.get(name, name): curve for name, curve in curves.items() if name not in set(others) - set(best)}
    colours = dict(zip((called.get(name, name) for name in others if name in best), PALETTE, strict=False))
    rows: list[dict[str, Any]] = [
        {"k": point.tokens, "s": plain(name), "v": point.recall, "t": f"{point.recall:.3f}"}
        | ({} if point.interval is None else {"l": point.interval.low, "h": point.interval.high})
        for name, curve in shown.items()
        for point in curve.points
        if point.tokens <= curve.end and not np.isnan(point.recall)
    ]
    alt = altair()
    last = max(curve.end for curve in shown.values())
    x = alt.X("k:Q", title="tokens of a prompt that are read", scale=alt.Scale(domain=[0, last], nice=False))
    x.axis = alt.Axis(format=",d", tickCount=8, grid=False)
    y = alt.Y("v:Q", title="recall", axis=alt.Axis(format=".2~f", tickCount=5), scale=alt.Scale(domain=[0, 1]))
    names = [plain(name) for name in shown]
    colour = alt.Color("s:N", title=None, scale=alt.Scale(domain=names, range=[colours.get(n, BEFORE) for n in shown]))
    if (legend := legend_of(names)) is not None:  # its signs are those of the bands, which are faint
        legend.symbolOpacity, legend.symbolType = 1, "stroke"
    colour.legend = legend
    base = alt.Chart(data_of(rows)).encode(x=x, color=colour)
    banded = alt.Chart(data_of(row for row in rows if "l" in row)).encode(x=x, color=colour)
    tooltip = [alt.Tooltip("s:N", title="of"), alt.Tooltip("k:Q", title="tokens", format=",d")]
    tooltip.append(alt.Tooltip("t:N", title="recall"))
    chart = alt.layer(
        banded.mark_area(opacity=0.15, aria=False).encode(y=alt.Y("l:Q", title="recall"), y2="h:Q"),
        base.mark_line(strokeWidth=2.5).encode(y=y),
        base.mark_point(filled=True, size=44, opacity=0).encode(y=y, tooltip=tooltip),
    )
    ends = "; ".join(
        f"{plain(name)} {curve.at(curve.end).recall:.3f} at {curve.end:,}" for name, curve in shown.items()
    )
    aside = "" if len(shown) == len(curves) else f"{len(shown)} of {len(curves)} systems"
    return themed(
        chart.properties(width=WIDTH, height=HEIGHT, title=alt.Title("Recall by prompt size", subtitle=aside or [])),
        f"Lines with bands: recall for prompts of 0 to {last:,} tokens. Where each ends: {ends}.",
    )


# Quality against a cost, with the Pareto front.


_COSTS = {
    "latency_p50": ("milliseconds for a query, median", 1000.0),
    "latency_p95": ("milliseconds for a query, 95th percentile", 1000.0),
    "context_tokens": ("tokens of context for a query, mean", 1.0),
    "index_seconds": ("seconds to build the index", 1.0),
    "index_bytes": ("megabytes of the index", 1e-6),
    "chunks": ("chunks in the index", 1.0),
    "dollars": ("US dollars for embedding", 1.0),
}
"""What an axis calls a cost, and what it is multiplied with for that."""
_WIDE = 20.0
"""A cost that differs by more than this factor is shown on a logarithmic scale."""
_SHORT = 18
_FEW = 8
"""At most so many systems have their names next to their points, if all are short; else numbers, and a key."""
_CLOSE = 0.04
"""Points that are closer than this share of the chart have one label together."""
_MOST = 16
"""At most so many numbers; where there are more systems, only those on the front have one."""


def tradeoff_chart(tradeoff: TradeoffRecord, names: Mapping[str, str]) -> alt.LayerChart:
    """Return a point a system and a step line through the front.

    Args:
        tradeoff: of one cost.
        names: what to call each system.
    """
    alt = altair()
    cost, metric = tradeoff.costs[0], tradeoff.quality
    words, unit = _COSTS.get(cost, (plain(cost), 1.0))
    taken = [one for one in tradeoff.systems if one.left_out is None]
    if not taken:
        raise ConfigurationError(f"tradeoff: found no system to show: {'; '.join(tradeoff.notes)}")
    taken.sort(key=lambda one: (one.costs[cost], -one.quality))
    rows, key = _rows(taken, cost, unit, names, mean_of=lambda value: figure(metric, value))
    costs = [row["x"] for row in rows]
    is_wide = min(costs) > 0 and max(costs) / min(costs) > _WIDE
    title = f"{words}{' (logarithmic)' if is_wide else ''}"
    x = alt.X("x:Q", title=title, **_costs_axis(costs, is_wide=is_wide))
    y = alt.Y("y:Q", title=mean_title(metric), scale=alt.Scale(zero=False, nice=True, padding=14))
    y.axis = alt.Axis(format=quantity(metric), tickCount=5)
    front = [row for row in rows if row["f"] == "front"]
    line = alt.Chart(data_of(front)).mark_line(interpolate="step-after", color=UP, opacity=0.6, strokeWidth=2)
    layers = [line.encode(x=x, y=y)]
    for some, colour in _coloured(rows, key):
        points = alt.Chart(data_of(some)).mark_point(filled=True, size=90, opacity=1)
        layers.append(points.encode(x=x, y=y, color=colour, tooltip=_tooltip(mean_title(metric), words)))
    layers += [mark.encode(x=x, y=y, text="l:N") for mark in _labels(rows, is_wide=is_wide)]
    shown = f"{len(front)} of {len(rows)} systems are Pareto-optimal: {', '.join(row['n'] for row in front)}"
    return themed(
        alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=f"{mean_title(metric)} against {words}"),
        f"Points: {mean_title(metric)} against {title}; up and to the left is better. {shown}.",
    )


def _rows(
    taken: Sequence[SystemCost], cost: str, unit: float, names: Mapping[str, str], *, mean_of: Any
) -> tuple[list[dict[str, Any]], bool]:
    """Return the points, and whether they are numbered and need a key."""
    called = {one.system: plain(names.get(one.system, one.system)) for one in taken}
    numbered = len(taken) > _FEW or any(len(name) > _SHORT for name in called.values())
    rows, number = [], 0
    for one in taken:
        told = len(taken) <= _MOST or one.on_front
        number += told
        name, value = called[one.system], one.costs[cost] * unit
        row = {"x": float(f"{value:.4g}"), "y": one.quality, "n": name, "q": mean_of(one.quality), "c": f"{value:,.4g}"}
        row |= {"f": "front" if one.on_front else "beaten", "l": ""}
        if told:
            row |= {"l": str(number) if numbered else name, "k": f"{number}  {name}" if numbered else name}
        rows.append(row)
    return rows, numbered


def _tooltip(quality: str, words: str) -> list[Any]:
    alt = altair()
    titles = (("n", "system"), ("q", quality), ("c", words), ("f", "Pareto front"))
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in titles]


def _coloured(rows: Sequence[Mapping[str, Any]], key: bool) -> Iterator[tuple[Sequence[Mapping[str, Any]], Any]]:
    """Yield points with what colours them; with numbers, a legend is the key to them."""
    alt = altair()
    keyed = [row for row in rows if key and "k" in row]
    others = [row for row in rows if row not in keyed]
    for kind, colour in (("beaten", BEFORE), ("front", UP)):
        some = [row for row in others if row["f"] == kind]
        if some:
            yield some, alt.value(colour)
    if keyed:
        scale = alt.Scale(
            domain=[row["k"] for row in keyed], range=[UP if row["f"] == "front" else BEFORE for row in keyed]
        )
        limit = alt.expr("width - 24")
        legend = alt.Legend(orient="bottom", direction="vertical", columns=1, labelLimit=limit, title=None)
        yield keyed, alt.Color("k:N", legend=legend, scale=scale)


def _costs_axis(costs: Sequence[float], *, is_wide: bool) -> dict[str, Any]:
    """Return the scale and the axis of costs; locations are compared and no lengths, so 0 is there where it is near."""
    alt = altair()
    if is_wide:
        values = [step * 10.0**power for power in range(-4, 12) for step in (1, 3)]
        return {
            "scale": alt.Scale(type="log", nice=False, padding=24),
            "axis": alt.Axis(format=",~r", values=[value for value in values if min(costs) <= value <= max(costs)]),
        }
    scale = alt.Scale(zero=min(costs) < max(costs) / 2, nice=True, padding=14)
    return {"scale": scale, "axis": alt.Axis(format=",~r", tickCount=5)}


def _labels(rows: Sequence[Mapping[str, Any]], *, is_wide: bool) -> list[Any]:
    """Return the labels: to the right of points in the left half, else to the left; close points share one."""
    alt = altair()
    across = _shares([math.log(row["x"]) if is_wide else row["x"] for row in rows])
    up = _shares([row["y"] for row in rows])
    shared: dict[int, list[str]] = {}
    for number, row in enumerate(rows):
        if row["l"]:
            near = (one for one in shared if max(abs(across[one] - across[number]), abs(up[one] - up[number])) < _CLOSE)
            shared.setdefault(next(near, number), []).append(row["l"])
    labels = []
    for align, offset in (("left", 8), ("right", -8)):
        here = [
            {"x": rows[one]["x"], "y": rows[one]["y"], "l": ", ".join(told)}
            for one, told in shared.items()
            if (across[one] <= 0.5) == (offset > 0)
        ]
        if here:
            labels.append(alt.Chart(data_of(here)).mark_text(align=align, dx=offset, dy=-9))
    return labels


def _shares(values: Sequence[float]) -> list[float]:
    """Return where values lie between the least and the largest, from 0 to 1."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low or 1.0) for value in values]
