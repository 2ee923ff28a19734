"""What all charts share: theme, data, texts and number formats, and their place in a page."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from raglift.errors import MissingDependency
from raglift.metrics.registry import MEASURES
from raglift.report.format import decimals_of
from raglift.utilities.display import excerpt, printable

if TYPE_CHECKING:
    import altair as alt

    from raglift.types.labels import LabelSources
    from raglift.types.metric import Metric


# The theme of charts: one set of colours and fonts, for light and dark backgrounds.


WIDTH = 620
"""The width of a chart that does not take that of a page, in pixels."""
HEIGHT = 300
"""The usual height, in pixels."""

# Neighbouring colours can be distinguished with red-green colour blindness, and contrast by at least 3 to 1 on white
# and on the dark ground (WCAG 1.4.11), so that one set serves both.
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
    """Return the look of a chart as Vega-Lite's `config`."""
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
    shown: alt.LayerChart = chart.properties(description=description)
    shown.config = configuration()
    return shown


# Shared by charts: their data, their texts, and number formats.


LONGEST = 160
"""The most characters of an untrusted text that a chart carries."""
_LINE = 90
"""The maximum length of a subtitle above a chart, in characters."""


def altair() -> Any:
    """Return the altair package, imported when it is needed."""
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
    """Return a chart with the label provenance below its title if models made some of the labels."""
    if not sources.by_model:
        return chart
    title = chart.title if isinstance(chart.title, str) else getattr(chart.title, "text", "")
    before = getattr(chart.title, "subtitle", altair().Undefined) or []
    beside = [] if before is altair().Undefined else [before] if isinstance(before, str) else list(before)
    lines = textwrap.wrap(plain(str(sources)), _LINE)
    labelled: alt.LayerChart = chart.properties(title=altair().Title(title, subtitle=[*beside, *lines]))
    return labelled


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
    narrow = "width < 480"
    limit = alt.expr(f"{narrow} ? width - 24 : width / 2 - 24")
    return alt.Legend(columns=alt.expr(f"{narrow} ? 1 : 2"), labelLimit=limit)


# Charts in a page: the JavaScript that draws them, and their specifications as JSON.


@cache
def javascript() -> str:
    """Return a script that defines `raglift_show_chart(element, specification, {dark})`, which returns a promise.

    It carries Vega, Vega-Lite and Vega-Embed, makes no network requests, and runs under a Content-Security-Policy
    without `unsafe-eval` and without `unsafe-inline`, also of styles. It can be put into a <script> element unchanged.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise MissingDependency(error.name or "vl_convert", "report", "a chart in a page") from None
    looks = {"light": configuration() | {"background": None}, "dark": configuration(dark=True)}
    snippet = (files("raglift.report.charts") / "embedding.js").read_text(encoding="utf-8")
    bundled = vl_convert.javascript_bundle(f"const CONFIG = {json.dumps(looks)};\n{snippet}")
    bundle = f"(() => {{\n{bundled}\n}})();"  # the hundreds of names that it declares stay its own
    # HTML ends a script at `</script` and may go on past one after `<!--` and `<script`, wherever they stand
    for opening in ("</script", "<script", "<!--"):
        if opening in bundle.lower():
            raise RuntimeError(f"the JavaScript of vl-convert contains {opening!r}")
    return bundle


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    r"""Return a chart as JSON values for `raglift_show_chart`: as wide as its element, coloured by the page.

    Its title is left to the page; its description stays. Put it in HTML only with `<` escaped, as `\u003c`.
    """
    spec: dict[str, Any] = chart.to_dict(validate=False)
    for name in ("config", "$schema", "title"):
        spec.pop(name, None)
    if isinstance(spec.get("width"), (int, float)):
        spec["width"] = "container"
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec
