"""A metric over the depth at which it is taken, one line a stage or a system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.comparison.statistics import is_bounded
from raglift.diagnosis import over_k as curve
from raglift.errors import ConfigurationError
from raglift.metrics import MEASURES, mean_title, parse
from raglift.report.charts.parts import altair, data_of, figure, legend_of, plain, quantity
from raglift.report.charts.theme import AFTER, BEFORE, HEIGHT, PALETTE, WIDTH, themed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt
    import pandas as pd

    from raglift.records import Metric
    from raglift.result_records import ComparisonRecord, EvaluationRecord

__all__ = ["over_k_of_comparison", "over_k_of_evaluation"]


def over_k_of_evaluation(
    evaluation: EvaluationRecord, metric: Metric | str, ks: Sequence[int] | None
) -> alt.LayerChart:
    """Return a line a stage; one that returns no more than so many hits ends there, and says so."""
    frame = curve(evaluation, metric, ks)
    stages = evaluation.scores.stages
    between = PALETTE[2 : len(stages)]
    colours = (AFTER,) if len(stages) == 1 else (BEFORE, *between, AFTER)
    cut = {stage: evaluation.truncated[stage] for stage in stages if stage in evaluation.truncated}
    return _lines(_measure(metric), frame["k"], {stage: frame[stage] for stage in stages}, colours, cut)


def over_k_of_comparison(
    comparison: ComparisonRecord, metric: Metric | str, ks: Sequence[int] | None, called: Mapping[str, str]
) -> alt.LayerChart:
    """Return a line a system, at its last stage: the baseline and, where there are many, the best of the others."""
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
    if MEASURES[measure.name].takes_k and measure.depth is None:
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
