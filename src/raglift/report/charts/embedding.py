"""Charts in a page: the JavaScript that draws them, and their specifications as JSON."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from raglift.errors import MissingDependency
from raglift.report.charts.theme import configuration

if TYPE_CHECKING:
    import altair as alt

__all__ = ["javascript", "specification"]

_DECIMALS = 6


@cache
def javascript() -> str:
    """Return a script that defines `raglift_show_chart(element, specification, {dark})`, which returns a promise.

    It carries Vega, Vega-Lite and Vega-Embed, asks nothing of the network, and runs under a Content-Security-Policy
    without `unsafe-eval` and without `unsafe-inline`, also of styles. It can stand in a <script> element as it is.

    Raises:
        MissingDependency: vl-convert is not installed.
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
    told: dict[str, Any] = chart.to_dict(validate=False)
    for name in ("config", "$schema", "title"):
        told.pop(name, None)
    if isinstance(told.get("width"), (int, float)):
        told["width"] = "container"
        told["autosize"] = {"type": "fit-x", "contains": "padding"}
    rounded: dict[str, Any] = _rounded(told)
    return rounded


def _rounded(value: Any) -> Any:
    """Return JSON values with six decimals, which no screen tells from more."""
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value
