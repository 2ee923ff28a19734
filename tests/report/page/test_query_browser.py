"""The queries one by one, in a real browser: choosing, ordering, opening, going back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from raglift.rendering.document import Cell, Document, Section, Table
from raglift.report.page.query_browser import DrillDown, View
from raglift.types.labels import Annotator


def listed(page: Any) -> list[str]:
    return page.locator(".rows .id").all_text_contents()


def opened(page: Any) -> str:
    return page.locator(".query-head .id").inner_text()


def chip(page: Any, name: str) -> Any:
    return page.get_by_role("button", name=re.compile(f"^{name}"))


def test_the_query_that_changed_most_comes_first_and_is_open(open_page: Callable, document: Document) -> None:
    page = open_page(document).page
    assert listed(page) == ["fixed", "broken", "lost", "plain"]  # +0.6, −0.6, 0, none
    assert opened(page) == "fixed"
    assert page.get_by_role("status").inner_text() == "4 of 4 queries"


def test_each_outcome_is_counted_and_chooses_its_queries(open_page: Callable, document: Document) -> None:
    page = open_page(document).page
    counts = {text.rpartition(" ")[0]: int(text.rpartition(" ")[2]) for text in page.locator(".chip").all_inner_texts()}
    assert counts == {
        "All": 4, "Fixed": 1, "Broken": 1, "Found": 1, "Dropped by the reranker": 1,
        "Not retrieved": 1, "Lost in chunking": 2, "Failed": 1, "Unanswerable": 1,
    }  # fmt: skip
    for name, ids in {"Fixed": ["fixed"], "Broken": ["broken"], "Lost in chunking": ["broken", "lost"]}.items():
        chip(page, name).click()
        assert listed(page) == ids
        assert chip(page, name).get_attribute("aria-pressed") == "true"
    meaning = "A fact is cut by the chunking, so that no chunk can match it."
    assert page.get_by_role("status").inner_text() == f"2 of 4 queries. {meaning}"


def test_counts_follow_the_search_and_the_tag(open_page: Callable, document: Document) -> None:
    page = open_page(document).page
    page.get_by_label("Tag").select_option(label="fog (2)")
    assert listed(page) == ["fixed", "broken"]
    assert chip(page, "Lost in chunking").inner_text() == "Lost in chunking 1"
    page.get_by_label("Search").fill("WHO  horn")
    assert listed(page) == ["broken"]
    assert "lamp (0)" in page.get_by_label("Tag").inner_text()
    page.get_by_label("Search").fill("nothing like it")
    assert listed(page) == []
    assert "No matching queries" in page.locator(".rows").text_content()


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("Largest drop first", ["broken", "lost", "fixed", "plain"]),
        ("Largest gain first", ["fixed", "lost", "broken", "plain"]),
        ("Before: highest first", ["broken", "fixed", "lost", "plain"]),
        ("After: lowest first", ["broken", "lost", "fixed", "plain"]),
        ("As in the dataset", ["fixed", "broken", "lost", "plain"]),
    ],
)
def test_queries_are_ordered_by_either_side_or_the_change(
    open_page: Callable, document: Document, order: str, ids: list[str]
) -> None:
    page = open_page(document).page
    page.get_by_label("Order").select_option(label=order)
    assert listed(page) == ids


def test_another_metric_orders_and_shows(open_page: Callable, document: Document) -> None:
    page = open_page(document).page
    page.get_by_label("Metric", exact=True).select_option(label="Recall@10")
    assert listed(page) == ["broken", "fixed", "lost", "plain"]
    assert page.locator(".rows .change").all_text_contents() == ["−1.000", "0.000", "0.000", "–"]


def test_a_query_shows_its_facts_its_hits_and_how_they_moved(open_page: Callable, document: Document) -> None:
    page = open_page(document).page
    assert page.locator(".standing").all_inner_texts() == ["rank 12 → 1", "rank 1 → 2"]
    assert "grade 2" in page.locator(".fact").nth(1).inner_text()
    before, after = page.locator(".column.left"), page.locator(".column.right")
    assert before.locator("h4").inner_text() == "before (retrieve)"
    assert after.locator(".hit").first.locator(".move").inner_text().startswith("▲ 12 → 1")
    assert before.locator(".hit").last.locator(".move").inner_text().startswith("→ 1")
    assert before.locator(".gap").inner_text() == "1 hit that matches nothing"
    assert after.locator(".why").first.inner_text().split("\n") == ["1", "contains the passage of fact 1: found here"]
    assert "contains alternative 1 of fact 2" in after.locator(".why").nth(1).inner_text()


def test_what_matched_is_marked_in_place_beyond_the_basic_plane(open_page: Callable, document: Document) -> None:
    page = open_page(document).page
    mark = page.locator(".column.right mark").first
    assert mark.inner_text() == "The keeper lit the lamp at nightfall, and it burned until the tide had turned."
    assert mark.get_attribute("data-starts") == "1"
    assert page.locator(".column.right .hit-text").first.inner_text().startswith("🌊🌊 The keeper")


def test_a_part_is_no_match_and_long_texts_open(open_page: Callable, document: Document) -> None:
    page = open_page(document, "#queries?query=lost").page
    assert "covers 63% of fact 1, not a match by itself" in page.locator(".column.left .why").inner_text()
    text = page.locator(".column.left .hit-text").first
    assert text.inner_text().startswith("… ")
    assert text.locator("mark.partly").inner_text() == "The keeper lit the lamp at nightfall, an"
    toggle = page.locator(".column.left .hit-body button").first
    assert toggle.inner_text() == "Show all 1,967 characters"  # 400 of them are not in the page
    toggle.click()
    assert toggle.get_attribute("aria-expanded") == "true"
    assert text.inner_text().startswith("Gulls rest")
    assert text.inner_text().endswith("400 characters not shown.")
    assert page.locator(".column.right .move").first.inner_text().startswith("=") is False


def test_a_query_that_failed_says_why(open_page: Callable, document: Document) -> None:
    page = open_page(document, "#queries?query=plain").page
    assert page.locator(".column.right .error").inner_text() == "This query failed: the system gave up"
    assert "Nothing in the corpus answers this query." in page.locator(".detail").inner_text()


def test_a_link_opens_its_query_and_back_returns(open_page: Callable, document: Document) -> None:
    from playwright.sync_api import expect

    page = open_page(document, "#queries?query=broken").page
    assert opened(page) == "broken"
    page.locator(".rows a").nth(2).click()
    expect(page.locator(".query-head .id")).to_have_text("lost")
    assert page.url.endswith("#queries?query=lost")
    page.go_back()
    expect(page.locator(".query-head .id")).to_have_text("broken")
    page.go_forward()
    expect(page.locator(".query-head .id")).to_have_text("lost")
    assert page.locator(".rows a[aria-current]").count() == 1


def test_a_query_that_a_table_names_is_a_link_to_it(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    rows = ((Cell("lost"), Cell("+0.1")), (Cell("of another set"), Cell("–")))
    table = Table("Moved most", ("query", "lift"), rows)
    page = open_page(make_document(drill_down, sections=(Section("Moved", (), (table,)),))).page
    assert page.locator("table a").all_text_contents() == ["lost"]
    page.evaluate("location.hash = '#summary'")
    page.locator("table a").click()
    assert opened(page) == "lost"
    assert 0 <= page.locator(".detail h3").bounding_box()["y"] < 500


def test_keys_go_through_the_list(open_page: Callable, document: Document) -> None:
    page = open_page(document).page
    page.get_by_role("status").evaluate("node => node.scrollIntoView()")
    page.locator(".rows a").first.focus()
    for key, ids in [
        ("j", "broken"),
        ("ArrowDown", "lost"),
        ("k", "broken"),
        ("End", "plain"),
        ("Home", "fixed"),
        ("k", "fixed"),
    ]:
        page.keyboard.press(key)
        assert opened(page) == ids
        assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"
    assert page.evaluate("history.length") <= 2  # going through the list fills no history
    page.get_by_label("Search").press_sequentially("fogk")  # letters in a field are no commands
    assert page.locator(".detail h3").inner_text() == "No matching queries"


def test_the_tab_key_reaches_everything_once(open_page: Callable, document: Document) -> None:
    page = open_page(document, "").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.evaluate("location.hash = '#queries'")
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "(({ className, id, textContent }) => className + '|' + (id || textContent.slice(0, 20)))"
                "(document.activeElement)"
            )
        )
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if seen[-1].startswith("quiet|Show the other"):
            break
    assert [
        name for name in ("search", "tag", "metric", "sort") if any(item.endswith(f"|{name}") for item in seen)
    ] == ["search", "tag", "metric", "sort"]
    assert sum("When was the lamp" in item for item in seen) == 1  # one stop in the list
    assert any(item.startswith("chip") for item in seen)


@pytest.fixture
def three_views(drill_down: DrillDown) -> DrillDown:
    views = (*drill_down.views, View("bm25", "retrieve", "BM25"))
    queries = tuple(
        replace(query, views=(*query.views, query.views[0]), all_outcomes=(*query.all_outcomes, query.all_outcomes[0]))
        for query in drill_down.queries
    )
    return replace(drill_down, views=views, systems=("", "bm25"), queries=queries)


def test_any_two_views_can_be_set_side_by_side(open_page: Callable, make_document: Any, three_views: DrillDown) -> None:
    page = open_page(make_document(three_views), "#queries?query=fixed").page
    assert page.get_by_label("Left", exact=True).input_value() == "0"
    page.get_by_label("Left", exact=True).select_option(label="after (rerank)")
    page.get_by_label("Right", exact=True).select_option(label="BM25")
    assert page.url.endswith("#queries?left=1&right=2&query=fixed")
    assert page.locator(".column h4").all_inner_texts() == ["after (rerank)", "BM25"]
    assert page.locator(".standing").first.inner_text() == "rank 1 → 12"
    assert chip(page, "Found only by after").inner_text() == "Found only by after (rerank) 1"
    again = open_page(make_document(three_views), "#queries?query=broken&left=1&right=2").page
    assert again.get_by_label("Right", exact=True).input_value() == "2"
    assert again.locator(".column h4").all_inner_texts() == ["after (rerank)", "BM25"]


def test_metrics_of_other_depths_are_shown_when_asked(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    page = open_page(make_document(replace(drill_down, metrics=("NDCG@10", "Recall@1")))).page
    table = page.get_by_role("group", name="Metrics of this query")
    assert table.locator("thead th").all_inner_texts()[1:] == ["NDCG@10"]
    page.get_by_role("button", name="Show all 2 metrics").press("Enter")
    assert table.locator("tbody th").all_inner_texts() == ["NDCG@10", "Recall@1"]
    assert page.evaluate("document.activeElement.textContent") == "Show fewer metrics"
    page.locator(".rows a").nth(1).click()
    assert table.locator("tbody tr").count() == 2  # on every query


def test_a_link_to_a_query_that_is_not_here_says_so(open_page: Callable, document: Document) -> None:
    page = open_page(document, "#queries?query=never-asked").page
    told = page.locator("#explorer-trouble")
    told.wait_for()
    assert "never-asked" in told.inner_text()
    page.evaluate("location.hash = '#queries?query=lost'")
    told.wait_for(state="hidden")
    assert page.locator("article.detail").inner_text().count("lost")


def test_figures_of_a_query_say_whose_labels_they_rest_on(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    model = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
    first, second = drill_down.queries[0].facts
    judged = (first, tuple(replace(passage, annotator=model) for passage in second))
    queries = tuple(replace(query, facts=judged) if query.id == "fixed" else query for query in drill_down.queries)
    document = make_document(replace(drill_down, queries=queries))
    note = open_page(document, "#queries?query=fixed").page.locator(".values-table > .source")
    assert note.inner_text() == "labels: 2 passages judged by openai:gpt-4o-mini (relevance@3f9a1c07), 1 by people"
    people = open_page(document, "#queries?query=broken").page
    assert people.locator(".values-table").count() == 1
    assert people.locator(".values-table > .source").count() == 0


def test_one_view_alone_has_no_before(open_page: Callable, make_document: Any, drill_down: DrillDown) -> None:
    queries = tuple(replace(query, views=query.views[:1]) for query in drill_down.queries)
    page = open_page(make_document(replace(drill_down, views=drill_down.views[:1], right=0, queries=queries))).page
    assert page.locator(".column").count() == 1
    assert page.locator(".move").count() == 0
    assert page.locator(".chip.fixed, .chip.broken").count() == 0
    assert listed(page)[0] == "lost"  # the lowest first


@pytest.mark.full
def test_thousands_of_queries_are_listed_as_they_are_scrolled(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    from playwright.sync_api import expect

    query = drill_down.queries[0]
    many = tuple(replace(query, id=f"q{number}", tags=(f"t{number % 7}",)) for number in range(5000))
    page = open_page(make_document(replace(drill_down, queries=many)), "#queries?query=q4321").page
    assert opened(page) == "q4321"
    page.get_by_label("Order").select_option(label="As in the dataset")
    spent = page.evaluate(
        "() => { const [box, start] = [document.getElementById('search'), performance.now()];"
        " box.value = 'q49'; box.dispatchEvent(new Event('input')); return performance.now() - start; }"
    )
    assert page.get_by_role("status").inner_text() == "111 of 5,000 queries"
    assert spent < 500
    assert page.locator(".rows li").count() == 80
    page.locator(".list").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    expect(page.locator(".rows li")).to_have_count(111)
