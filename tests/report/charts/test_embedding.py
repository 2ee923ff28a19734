"""Charts in a page: drawn by a real browser under a policy that allows neither eval nor inline styles."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.report.charts.parts import javascript, specification

STYLE = "body { margin: 0; } div { width: 100%; }"
DRAW = """
const charts = JSON.parse(document.getElementById("charts").textContent);
const dark = location.hash === "#dark";
window.drawn = (async () => {
  for (const [number, chart] of charts.entries()) {
    const element = document.querySelector("main").appendChild(document.createElement("div"));
    element.id = `chart${number}`;
    await raglift_show_chart(element, chart, { dark });
  }
  return charts.length;
})();
"""


def allowed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@pytest.fixture
def drawn(browser: Any, tmp_path: Path) -> Callable[..., Any]:
    """Draw charts in a page, and say what was asked for and complained of."""

    def draws(charts: list[Any], *, width: int = 700, dark: bool = False, **options: Any) -> tuple[Any, list[str]]:
        policy = f"default-src 'none'; script-src {allowed(javascript())} {allowed(DRAW)}; style-src {allowed(STYLE)}"
        told = json.dumps([specification(chart) for chart in charts]).replace("<", "\\u003c")
        html = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Charts</title>'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{STYLE}</style>'
            f'<main><h1>Charts</h1></main><script type="application/json" id="charts">{told}</script>'
            f"<script>{javascript()}</script><script>{DRAW}</script>"
        )
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        page = browser.new_page(viewport={"width": width, "height": 800}, **options)
        page.set_default_timeout(10_000)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
        page.goto(path.as_uri() + ("#dark" if dark else ""))
        assert page.evaluate("window.drawn") == len(charts)
        return page, said

    return draws


def test_every_chart_is_drawn_as_wide_as_the_page_and_can_be_read(
    drawn: Callable[..., Any], every_chart: dict[str, Any]
) -> None:
    page, said = drawn(list(every_chart.values()), width=360, bypass_csp=True)  # axe is a script of its own
    for number, (name, chart) in enumerate(every_chart.items()):
        assert page.locator(f"#chart{number} svg").count() == 1, name
        assert page.locator(f"#chart{number} svg path").count() > 2, name
        assert page.locator(f"#chart{number}").get_attribute("aria-label") == chart.description
    wide = "[...document.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect().right)"
    assert max(page.evaluate(wide)) <= 360
    page.set_viewport_size({"width": 600, "height": 800})
    page.wait_for_function(f"{wide}.every(right => right > 500 && right <= 600)")
    sync_playwright = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = sync_playwright.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert said == []
    page.close()


def test_in_the_dark_nothing_is_asked_for_and_names_are_shown_as_they_are(
    drawn: Callable[..., Any], every_chart: dict[str, Any]
) -> None:
    page, said = drawn([every_chart["differences"]], dark=True)
    assert page.locator("svg b, svg script").count() == 0
    assert any(text.startswith("</script><b>") for text in page.locator("svg text").all_text_contents())
    page.locator("svg path[aria-roledescription='point']").first.hover(force=True)
    assert page.locator(".raglift-tooltip").text_content().startswith("of: </script><b>")
    assert said == []
    page.close()


@pytest.mark.slow
def test_the_script_cannot_end_the_element_it_stands_in() -> None:
    told = javascript().lower()
    assert "</script" not in told
    assert "<script" not in told
    assert "<!--" not in told
    assert len(told) < 1_000_000


@pytest.mark.slow
def test_a_specification_is_small_and_leaves_looks_and_title_to_the_page(every_chart: dict[str, Any]) -> None:
    for name, chart in every_chart.items():
        told = specification(chart)
        assert not {"config", "title", "$schema"} & set(told), name
        assert told["width"] == "container", name
        assert told["description"] == chart.description, name
        assert len(json.dumps(told)) < 20_000, name


@pytest.mark.slow
def test_nothing_of_altair_is_imported_before_a_chart_is_made() -> None:
    code = (
        "import sys, raglift, raglift.report.charts; sys.exit('altair' in sys.modules or 'vl_convert' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
