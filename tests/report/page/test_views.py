"""The three views of a page: what the first screen says, what an address leads to, and names with definitions."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raglift.rendering.document import Cell, Section, Share, Table, Tile
from raglift.report.page.query_browser import DrillDown
from raglift.report.page.rendering import Page


@pytest.fixture
def tiled(make_document: Any, drill_down: DrillDown) -> Page:
    tiles = (
        Tile(
            "Right passage first", "58%", "▲ 17 points, from 41%", "better", "of 100 questions", "HitRate@1: a share."
        ),
        Tile(
            "Right passage in the top 10", "87%", "unchanged from 87%", "", "of 100 questions", "HitRate@10: a share."
        ),
        Tile("NDCG@10", "0.682", "▲ 0.128, from 0.554", "better", "95% interval +0.094 to +0.163; p < 0.001", "f"),
        Tile("Facts found", "325 of 389", "▲ 21, from 304", "", "84% of all facts, in the top 10", "A fact."),
    )
    shares = (
        Share("found", 325, "found"),
        Share("ranked too low", 44, "below_k"),
        Share("not retrieved", 20, "missed"),
    )
    lead = "The reranker helped: the right passage comes first for 58 of 100 questions, up from 41."
    page: Page = make_document(drill_down, tiles=tiles, shares=shares, next_step="Next: try a reranker.", lead=lead)
    return page


def listed(page: Any) -> list[str]:
    return page.locator(".rows .id").all_text_contents()


def opened(page: Any) -> str:
    return page.locator(".query-head .id").text_content()


@pytest.mark.parametrize(("width", "height", "most"), [(1440, 900, 900), (390, 844, 1.5 * 844)])
def test_the_summary_fits_the_first_screen(
    open_page: Callable, tiled: Page, width: int, height: int, most: float
) -> None:
    page = open_page(tiled, "", viewport={"width": width, "height": height}).page
    assert page.locator(".tile").count() == 4
    end = page.locator(".next").bounding_box()
    assert end["y"] + end["height"] <= most
    assert page.locator(".tile .change.better").first.inner_text() == "▲ 17 points, from 41%"
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_one_view_is_shown_and_the_address_says_which(open_page: Callable, tiled: Page) -> None:
    page = open_page(tiled, "").page
    assert page.evaluate("document.documentElement.dataset.view") == "summary"
    assert not page.locator("#explorer").is_visible()
    page.get_by_role("link", name="Details").click()
    assert page.evaluate("location.hash") == "#details"
    assert page.locator("#measured dl").first.is_visible()
    assert page.get_by_role("link", name="Details").get_attribute("aria-current") == "page"
    assert not page.locator(".tile").first.is_visible()
    page.go_back()
    assert page.locator(".tile").first.is_visible()
    page.mouse.wheel(0, 400)
    assert page.locator(".masthead").bounding_box()["y"] == 0


def test_a_part_of_the_bar_opens_the_queries_of_that_outcome(open_page: Callable, tiled: Page) -> None:
    page = open_page(tiled, "").page
    page.locator(".shares svg a").nth(2).click()  # missed: not retrieved, or lost in chunking
    assert listed(page) == ["lost"]
    assert page.get_by_role("button", name="Not retrieved").get_attribute("aria-pressed") == "true"


def test_what_is_chosen_is_in_the_address_and_comes_back(open_page: Callable, tiled: Page) -> None:
    page = open_page(tiled, "#queries?tag=fog&sort=drop").page
    assert listed(page) == ["broken", "fixed"]
    assert page.get_by_label("Tag").locator("option:checked").inner_text() == "fog (2)"
    page.get_by_role("button", name="Broken").click()
    assert page.evaluate("location.hash") == "#queries?outcome=broken&tag=fog&sort=drop"
    page.get_by_label("Search").fill("horn")
    assert page.evaluate("location.hash") == "#queries?outcome=broken&tag=fog&q=horn&sort=drop"
    page.reload()
    page.wait_for_selector(".rows a")
    assert (listed(page), page.get_by_label("Search").input_value()) == (["broken"], "horn")
    page.go_back()
    assert listed(page) == ["broken", "fixed"]
    assert page.get_by_label("Search").input_value() == ""


def test_an_open_query_that_is_filtered_out_gives_way_to_the_first(open_page: Callable, tiled: Page) -> None:
    page = open_page(tiled, "#queries?query=fixed").page
    page.get_by_role("button", name="Lost in chunking").click()
    assert opened(page) == "broken"
    page.get_by_label("Search").fill("no such words")
    assert page.locator(".detail h3").inner_text() == "No matching queries"
    page.get_by_role("button", name="Clear filters").click()
    assert len(listed(page)) == 4
    assert opened(page) == "fixed"


def test_the_search_looks_into_the_texts_of_hits(open_page: Callable, tiled: Page) -> None:
    page = open_page(tiled).page
    assert "texts of hits" in page.get_by_label("Search").get_attribute("placeholder")
    page.get_by_label("Search").fill("nightfall")  # in the keeper's logbook alone
    assert listed(page) == ["fixed", "lost"]
    page.get_by_label("Search").fill("nightfall often")  # in a hit, and in the question of one query
    assert listed(page) == ["fixed"]


def test_a_query_of_any_name_has_an_address(open_page: Callable, make_document: Any, drill_down: DrillDown) -> None:
    names = ("a?b&c=d#e%20+", "übung 🌊 \u202e", "x" * 300, "=1+1")
    queries = tuple(replace(query, id=name) for query, name in zip(drill_down.queries, names, strict=True))
    document = make_document(replace(drill_down, queries=queries))
    page = open_page(document, "#queries?sort=dataset").page
    for place in range(len(names)):
        address = page.locator(".rows a").nth(place).get_attribute("href")
        page.evaluate(f"location.hash = {json.dumps(address)}")
        assert page.locator(".rows a").nth(place).get_attribute("aria-current") == "true"


def test_the_listed_queries_are_downloaded(
    open_page: Callable, make_document: Any, drill_down: DrillDown, tmp_path: Path
) -> None:
    harmful = replace(drill_down.queries[0], text="=cmd|' /C calc'!A0", tags=("@tag", 'a "b"'))
    document = make_document(replace(drill_down, queries=(harmful, *drill_down.queries[1:])))
    page = open_page(document, "#queries?sort=dataset").page
    with page.expect_download() as started:
        page.get_by_role("button", name="Download the listed queries as CSV").click()
    content = Path(started.value.path()).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(content)))
    assert [row["query"] for row in rows] == ["fixed", "broken", "lost", "plain"]
    assert (rows[0]["question"], rows[0]["tags"]) == ("'=cmd|' /C calc'!A0", '\'@tag; a "b"')
    assert (rows[0]["before (retrieve) NDCG@10"], rows[3]["after (rerank) NDCG@10"]) == ("0.4", "")
    page.get_by_role("button", name="Broken").click()
    with page.expect_download() as started:
        page.get_by_role("button", name="Download the listed queries as JSON").click()
    (only,) = json.loads(Path(started.value.path()).read_text(encoding="utf-8"))
    assert (only["id"], only["outcomes"]) == ("broken", ["broken", "not_attainable", "dropped"])


MARKDOWN = """## Tides and **lamps**

The *keeper* lit `the lamp` at night. <img src=x onerror=alert(1)>

- first of **two**
- second

| hour | height |
|-----|-----:|
| noon | 4 m |

```
# no heading
```
"""


def test_markdown_is_shown_as_it_is_meant_with_its_marks(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    start = MARKDOWN.index("lit `the lamp` at")
    chunk = drill_down.chunks[0]._replace(text=MARKDOWN)
    query = drill_down.queries[0]
    view = query.views[1]
    hit = view.hits[0]
    moved = hit._replace(matches=(hit.matches[0]._replace(start=start, end=start + 17),))
    views = (query.views[0], replace(view, hits=(moved, *view.hits[1:])))
    document = make_document(
        replace(drill_down, chunks=(chunk, *drill_down.chunks[1:]), queries=(replace(query, views=views),))
    )
    page = open_page(document).page
    text = page.locator(".column.right .hit-text").first
    assert text.locator(".md-heading").inner_text() == "Tides and lamps"
    assert text.locator("strong").all_inner_texts() == ["lamps", "two"]
    assert text.locator("li").all_inner_texts() == ["first of two", "second"]
    assert text.locator("th, td").all_inner_texts() == ["hour", "height", "noon", "4 m"]
    assert text.locator("pre").inner_text() == "# no heading"
    assert "".join(text.locator("mark").all_inner_texts()) == "lit the lamp at"
    assert "<img src=x onerror=alert(1)>" in text.inner_text()
    assert text.locator("img").count() == 0


def test_fewer_tokens_are_neither_better_nor_worse(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    document = make_document(replace(drill_down, metrics=("NDCG@10", "ContextTokens@10"), neutral=(1,)))
    page = open_page(document, "#queries?query=broken").page
    tones = page.locator(".values-table td.lift").evaluate_all("cells => cells.map(cell => cell.className)")
    assert tones == ["number lift worse", "number lift muted"]


@pytest.mark.parametrize("way", ["tap", "keyboard", "hover"])
def test_a_metric_has_its_definition_one_step_away(open_page: Callable, tiled: Page, way: str) -> None:
    page = open_page(tiled, "", has_touch=way == "tap").page
    name = page.locator(".tile button.term", has_text="NDCG@10")
    if way == "tap":
        name.tap()
    elif way == "keyboard":
        name.press("Enter")
    else:
        name.hover()
    definition = page.locator("#measure-ndcg")
    definition.wait_for()
    assert "DCG@k / IDCG@k" in definition.inner_text()
    page.keyboard.press("Escape")
    assert not definition.is_visible()


def test_a_table_is_sorted_by_the_values_of_a_column(open_page: Callable, make_document: Any) -> None:
    def row(name: str, value: float | None) -> tuple[Cell, Cell]:
        return Cell(name), Cell("–" if value is None else f"{value:g} s", value=value)

    rows = (row("b", 9.0), row("none", None), row("c", 10.0), row("a", -1.0))
    table = Table("Systems", ("system", "latency"), rows, sortable=True)
    page = open_page(make_document(headline=table, sections=(Section("s"),)), "").page
    names = page.locator(".headline tbody th")
    page.get_by_role("button", name="Sort by latency").press("Enter")
    assert names.all_inner_texts() == ["c", "b", "a", "none"]
    head = page.locator(".headline thead th").nth(1)
    assert head.get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Sort by latency").click()
    assert names.all_inner_texts() == ["a", "b", "c", "none"]
    page.get_by_role("button", name="Sort by system").click()
    assert names.all_inner_texts() == ["a", "b", "c", "none"]
    assert head.get_attribute("aria-sort") is None


def test_bars_have_an_axis_with_its_ends(open_page: Callable, make_document: Any) -> None:
    page = open_page(make_document(), "").page
    assert page.locator(".headline .axis").first.locator("span").all_text_contents() == ["0", "0.84"]
    assert page.locator(".headline .axis").nth(2).locator("span").all_text_contents() == ["−0.01", "+0.18"]


def test_a_link_to_a_query_is_copied(open_page: Callable, tiled: Page) -> None:
    page = open_page(tiled, "#queries?tag=fog&query=broken", permissions=["clipboard-read", "clipboard-write"]).page
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Link copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").endswith("#queries?query=broken")


@pytest.mark.full
def test_of_a_long_table_of_systems_the_first_rows_are_shown_until_all_are_asked_for(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    rows = tuple((Cell(f"system {n}"), Cell(f"0.{n:03}", value=n / 1000)) for n in range(30))
    table = Table("Systems", ("system", "NDCG@10"), rows, text_columns=(0,), sortable=True)
    page = open_page(make_document(drill_down, headline=table), "").page
    shown = page.locator(".headline tbody tr:visible th")
    assert shown.all_inner_texts() == [f"system {n}" for n in range(8)]
    page.get_by_role("button", name="Sort by NDCG@10").click()
    assert shown.all_inner_texts() == [f"system {n}" for n in range(29, 21, -1)]
    page.emulate_media(media="print")
    assert shown.count() == 30
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Show all 30").click()
    assert shown.count() == 30
