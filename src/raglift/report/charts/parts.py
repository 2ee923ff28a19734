"""What charts have in common: their data, their texts, and how figures are written."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from raglift.errors import MissingDependency
from raglift.metrics import MEASURES
from raglift.printable import excerpt, printable
from raglift.report.format import decimals_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import altair as alt

    from raglift.records import LabelSources, Metric

__all__ = ["altair", "data_of", "figure", "legend_of", "numbers", "of_labels", "plain", "quantity"]

LONGEST = 160
"""The most characters of an untrusted text that a chart carries."""
_LINE = 90
"""As many characters of a subtitle have room above a chart."""


def altair() -> Any:
    """Return the altair package, imported when it is needed.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import altair as alt
    except ImportError as error:
        raise MissingDependency(error.name or "altair", "report", "a chart") from None
    return alt


def data_of(rows: Iterable[Mapping[str, object]]) -> Any:
    """Return rows as the data of a chart; each carries its own, so that it is one file, and needs no other.

    The columns have short names of ours: a name of the user's may hold dots and brackets, which mean something there.
    """
    return altair().InlineData(values=[dict(row) for row in rows])


def plain(text: str) -> str:
    """Return an untrusted text for a chart: on one line, of bounded length, nothing in it that reorders a line."""
    return printable(excerpt(text, LONGEST))


def of_labels(chart: alt.LayerChart, sources: LabelSources) -> alt.LayerChart:
    """Return a chart that says below its title whose labels it rests on, where models had a part in them."""
    if not sources.by_model:
        return chart
    title = chart.title if isinstance(chart.title, str) else getattr(chart.title, "text", "")
    before = getattr(chart.title, "subtitle", altair().Undefined) or []
    beside = [] if before is altair().Undefined else [before] if isinstance(before, str) else list(before)
    lines = textwrap.wrap(plain(str(sources)), _LINE)
    told: alt.LayerChart = chart.properties(title=altair().Title(title, subtitle=[*beside, *lines]))
    return told


def quantity(metric: Metric) -> str:
    """Return the format in which an axis writes a metric."""
    return ",.0f" if MEASURES[metric.name].is_cost else ".2~f"


def figure(metric: Metric, value: float) -> str:
    """Return a value as tables write it."""
    return f"{value:,.{decimals_of(metric)}f}"


def numbers(written: str) -> dict[str, str]:
    """Return how an axis writes numbers in a format; a 0 has no sign."""
    return {"format": written, "labelExpr": "datum.value === 0 ? '0' : datum.label"}


def legend_of(names: Sequence[str]) -> Any:
    """Return a legend that breaks its line where the chart is narrow."""
    alt = altair()
    if len(names) < 2:
        return None
    is_short = sum(len(name) + 4 for name in names) * 7 < 300
    if is_short:
        return alt.Legend(columns=0)
    return alt.Legend(
        columns=alt.expr("width < 480 ? 1 : 2"), labelLimit=alt.expr("width < 480 ? width - 24 : width / 2 - 24")
    )
