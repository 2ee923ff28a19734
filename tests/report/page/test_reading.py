"""A page as it is read: by ear, on a phone, in the dark, on paper, with JavaScript off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import altair as alt
import pytest

from raglift.rendering.document import Document, Figure

pytestmark = pytest.mark.slow


@pytest.fixture
def charted(document: Document) -> Document:
    data = alt.Data(values=[{"k": 1, "ndcg": 0.4}, {"k": 10, "ndcg": 0.6}])
    chart = alt.Chart(data).mark_line().encode(x="k:Q", y="ndcg:Q").properties(width=500, height=200)
    chart = chart.properties(description="NDCG rises from 0.4 at 1 to 0.6 at 10.")
    figure = Figure("NDCG over k", lambda: chart, "Each line is a stage.")
    sections = (replace(document.sections[0], figures=(figure,)), *document.sections[1:])
    return replace(document, sections=sections)


def violations(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:120]} {node['failureSummary']}" for rule in found for node in rule["nodes"][:3]
    ]


@pytest.mark.parametrize(("scheme", "width"), [pytest.param("light", 1280, marks=pytest.mark.full), ("dark", 390)])
def test_axe_finds_nothing(open_page: Callable, charted: Document, scheme: str, width: int) -> None:
    page = open_page(charted, "#details", color_scheme=scheme, viewport={"width": width, "height": 800}).page
    page.wait_for_selector("[data-drawn] svg")
    assert page.get_by_role("img", name="NDCG rises from 0.4 at 1 to 0.6 at 10.").is_visible()
    page.locator("summary").first.click()
    assert violations(page) == []
    page.evaluate("location.hash = '#queries?query=lost'")
    page.get_by_role("button", name="Lost in chunking").click()
    page.locator(".hit-body button, .score button").first.click()
    assert violations(page) == []
    page.evaluate("location.hash = '#summary'")
    page.locator("button.term").first.click()
    assert violations(page) == []


def test_no_width_needs_scrolling_sideways_and_a_phone_shows_the_opened_query(
    open_page: Callable, charted: Document
) -> None:
    page = open_page(charted, "#details", viewport={"width": 900, "height": 800}).page
    page.wait_for_selector("[data-drawn] svg")
    for width in (900, 700, 390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        for place in ("details", "summary", "queries?query=fixed", "queries?query=lost", "queries?query=plain"):
            page.evaluate(f"location.hash = '{place}'")
            page.wait_for_function(f"document.documentElement.scrollWidth === {width}")
    page.locator(".rows a").nth(1).click()
    page.wait_for_selector(".query-head .id:text-is('broken')")
    page.wait_for_function("document.activeElement.id === 'query-heading'")
    assert 0 <= page.locator(".detail h3").bounding_box()["y"] < 200
    tops = [column.bounding_box()["y"] for column in page.locator(".column").all()]
    assert tops[1] > tops[0] + 100  # one below the other


def test_colours_follow_the_system_the_button_and_paper(open_page: Callable, charted: Document) -> None:
    page = open_page(charted, "#details", color_scheme="dark").page
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    page.wait_for_selector("[data-drawn='dark']")
    assert page.evaluate(paper) == "rgb(20, 24, 29)"
    page.get_by_role("button", name="Switch to light colours").click()
    page.wait_for_selector("[data-drawn='light']")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Switch to dark colours").click()
    page.wait_for_selector("[data-drawn='dark']")
    page.evaluate("location.hash = '#queries?query=broken'")
    page.emulate_media(media="print")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    for shown in (".headline table", ".chart svg", ".detail h3", ".detail .column.right", ".measured"):
        assert page.locator(shown).first.is_visible()
    for hidden in (".controls", ".chips", ".list-pane", "#scheme", ".masthead nav"):
        assert not page.locator(hidden).is_visible()


@pytest.mark.full
def test_without_javascript_words_and_tables_stand(open_page: Callable, charted: Document) -> None:
    page = open_page(charted, java_script_enabled=False).page
    assert page.locator(".headline table").is_visible()
    assert "the charts and the single questions are missing here" in page.locator("#summary .noscript").inner_text()
    for view in ("#summary", "#queries", "#details"):
        assert page.locator(view).bounding_box()["height"] > 50
    assert page.locator("figure noscript p").inner_text() == "NDCG rises from 0.4 at 1 to 0.6 at 10."
    assert not page.locator("#explorer").is_visible()
