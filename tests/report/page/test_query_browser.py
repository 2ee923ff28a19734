"""The queries one by one, in a real browser: choosing, ordering, opening, going back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from raglift.rendering.document import Cell, Document, Section, Table
from raglift.report.page.query_browser import DrillDown, View
from raglift.types.labels import Annotator


def listed(page: Any) -> list[str]:
    return page.locator(".rows .id").all_text_contents()


def opened(page: Any) -> str:
    return page.locator(".query-head .id").inner_text()


def chip(page: Any, name: str) -> Any:
    return page.get_by_role("button", name=re.compile(f"^{name}"))


def go_to(page: Any, address: str) -> None:
    """Change the address, and wait until the page knows."""
    change = "addEventListener('hashchange', () => done(), {once: true})"
    page.evaluate(f"new Promise(done => {{ {change}; location.hash = {json.dumps(address)} }})")


def test_queries_are_chosen_by_outcome_tag_and_search_and_ordered(open_page: Callable, document: Document) -> None:
    page = open_page(document).page
    assert listed(page) == ["fixed", "broken", "lost", "plain"]  # +0.6, −0.6, 0, none
    assert opened(page) == "fixed"
    counts = {text.rpartition(" ")[0]: int(text.rpartition(" ")[2]) for text in page.locator(".chip").all_inner_texts()}
    assert counts == {
        "All": 4, "Fixed": 1, "Broken": 1, "Found": 1, "Dropped by the reranker": 1,
        "Not retrieved": 1, "Lost in chunking": 2, "Failed": 1, "Unanswerable": 1,
    }  # fmt: skip
    chip(page, "Lost in chunking").click()
    assert listed(page) == ["broken", "lost"]
    assert opened(page) == "broken"  # the one that was open is not in the list
    meaning = "A fact is cut by the chunking, so that no chunk can match it."
    assert page.get_by_role("status").inner_text() == f"2 of 4 questions. {meaning}"
    chip(page, "All").click()

    page.get_by_label("Tag").select_option(label="fog (2)")
    assert listed(page) == ["fixed", "broken"]
    assert chip(page, "Lost in chunking").inner_text() == "Lost in chunking 1"
    page.get_by_label("Search").fill("WHO  horn")
    assert listed(page) == ["broken"]
    page.get_by_label("Search").fill("nothing like it")
    assert page.locator(".detail h3").inner_text() == "No matching questions"
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("Search").fill("nightfall")  # in the texts of hits alone
    assert listed(page) == ["fixed", "lost"]
    page.get_by_label("Search").fill("nightfall often")  # in a hit, and in the question of one query
    assert listed(page) == ["fixed"]
    page.get_by_label("Search").fill("")

    for order, ids in {
        "Largest drop first": ["broken", "lost", "fixed", "plain"],
        "Largest gain first": ["fixed", "lost", "broken", "plain"],
        "After: lowest first": ["broken", "lost", "fixed", "plain"],
        "As in the dataset": ["fixed", "broken", "lost", "plain"],
    }.items():
        page.get_by_label("Order").select_option(label=order)
        assert listed(page) == ids
    page.get_by_label("Metric", exact=True).select_option(label="Recall@10")
    assert page.locator(".rows .change").all_text_contents() == ["0.000", "−1.000", "0.000", "–"]


def test_a_query_shows_its_facts_its_hits_what_matched_and_how_they_moved(
    open_page: Callable, document: Document
) -> None:
    page = open_page(document).page
    assert page.locator(".standing").all_inner_texts() == ["rank 12 → 1", "rank 1 → 2"]
    assert "grade 2" in page.locator(".fact").nth(1).inner_text()
    before, after = page.locator(".column.left"), page.locator(".column.right")
    assert before.locator("h4").inner_text() == "before (retrieve)"
    assert after.locator(".hit").first.locator(".move").inner_text().startswith("▲ 12 → 1")
    assert before.locator(".hit").last.locator(".move").inner_text().startswith("→ 1")
    assert before.locator(".gap").inner_text() == "1 hit that matches nothing"
    assert after.locator(".why").first.inner_text().split("\n") == ["1", "contains the passage of fact 1: found here"]
    mark = after.locator("mark").first  # in a text with characters beyond the basic plane
    assert mark.inner_text() == "The keeper lit the lamp at nightfall, and it burned until the tide had turned."
    assert mark.get_attribute("data-starts") == "1"

    go_to(page, "#queries?query=lost")
    assert "covers 63% of fact 1, not a match by itself" in before.locator(".why").inner_text()
    text = before.locator(".hit-text").first
    assert text.inner_text().startswith("… ")
    assert text.locator("mark.partly").inner_text() == "The keeper lit the lamp at nightfall, an"
    toggle = before.locator(".hit-body button").first
    assert toggle.inner_text() == "Show all 1,967 characters"  # 400 of them are not in the page
    toggle.click()
    assert toggle.get_attribute("aria-expanded") == "true"
    assert text.inner_text().startswith("Gulls rest")
    assert text.inner_text().endswith("400 characters not shown.")

    go_to(page, "#queries?query=plain")
    assert after.locator(".error").inner_text() == "This question failed: the system gave up"
    assert "Nothing in the corpus answers this question." in page.locator(".detail").inner_text()


def test_what_is_chosen_is_in_the_address_and_comes_back(open_page: Callable, document: Document) -> None:
    page = open_page(document, "#queries?tag=fog&sort=drop").page
    assert listed(page) == ["broken", "fixed"]
    page.get_by_role("button", name="Broken").click()
    page.get_by_label("Search").fill("horn")
    assert page.evaluate("location.hash") == "#queries?outcome=broken&tag=fog&q=horn&sort=drop"
    page.reload()
    page.wait_for_selector(".rows a")
    assert (listed(page), page.get_by_label("Search").input_value()) == (["broken"], "horn")
    page.go_back()
    assert listed(page) == ["broken", "fixed"]

    go_to(page, "#queries?query=broken")
    expect(page.locator(".query-head .id")).to_have_text("broken")
    page.locator(".rows a").nth(2).click()
    expect(page.locator(".query-head .id")).to_have_text("lost")
    assert page.url.endswith("#queries?query=lost")
    page.go_back()
    expect(page.locator(".query-head .id")).to_have_text("broken")
    assert page.locator(".rows a[aria-current]").count() == 1

    go_to(page, "#queries?query=never-asked")
    trouble = page.locator("#explorer-trouble")
    trouble.wait_for()
    assert "never-asked" in trouble.inner_text()
    go_to(page, "#queries?query=lost")
    trouble.wait_for(state="hidden")


def test_keys_go_through_the_list_and_everywhere(open_page: Callable, document: Document) -> None:
    page = open_page(document).page
    page.locator(".rows a").first.focus()
    for key, ids in {"j": "broken", "ArrowDown": "lost", "k": "broken", "End": "plain", "Home": "fixed"}.items():
        page.keyboard.press(key)
        assert opened(page) == ids
        assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"
    assert page.evaluate("history.length") <= 2  # going through the list fills no history
    page.get_by_label("Search").press_sequentially("fogk")  # letters in a field are no commands
    assert page.locator(".detail h3").inner_text() == "No matching questions"
    page.get_by_label("Search").fill("")
    page.get_by_label("Search").focus()
    seen = []
    for _ in range(40):
        seen.append(page.evaluate("(node => node.id || node.className + node.textContent)(document.activeElement)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if seen[-1].startswith("quietShow the other"):
            break
        page.keyboard.press("Tab")
    assert [name for name in seen if name in ("search", "tag", "metric", "sort")] == ["search", "tag", "metric", "sort"]
    assert sum("When was the lamp" in name for name in seen) == 1  # one stop in the list
    assert any(name.startswith("chip") for name in seen)


def test_any_two_views_can_be_set_side_by_side(open_page: Callable, make_document: Any, drill_down: DrillDown) -> None:
    views = (*drill_down.views, View("bm25", "retrieve", "BM25"))
    queries = tuple(
        replace(query, views=(*query.views, query.views[0]), all_outcomes=query.all_outcomes * 2)
        for query in drill_down.queries
    )
    three_views = replace(drill_down, views=views, systems=("", "bm25"), queries=queries)
    page = open_page(make_document(three_views), "#queries?query=fixed").page
    page.get_by_label("Left", exact=True).select_option(label="after (rerank)")
    page.get_by_label("Right", exact=True).select_option(label="BM25")
    assert page.url.endswith("#queries?left=1&right=2&query=fixed")
    assert page.locator(".column h4").all_inner_texts() == ["after (rerank)", "BM25"]
    assert page.locator(".standing").first.inner_text() == "rank 1 → 12"
    assert chip(page, "Found only by after").inner_text() == "Found only by after (rerank) 1"
    page.reload()
    page.wait_for_selector(".rows a")
    assert page.get_by_label("Right", exact=True).input_value() == "2"


def test_metrics_say_their_depth_their_tone_and_whose_labels_they_rest_on(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    model = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
    first, second = drill_down.queries[0].facts
    judged = (first, tuple(replace(passage, annotator=model) for passage in second))
    queries = tuple(replace(query, facts=judged) if query.id == "fixed" else query for query in drill_down.queries)
    metrics = ("NDCG@10", "ContextTokens@1")
    document = make_document(replace(drill_down, queries=queries, metrics=metrics, neutral=(1,)))
    page = open_page(document, "#queries?query=fixed").page
    note = page.locator(".values-table > .source")
    assert note.inner_text() == "labels: 2 passages judged by openai:gpt-4o-mini (relevance@3f9a1c07), 1 by people"
    table = page.get_by_role("group", name="Metrics of this question")
    assert table.locator("thead th").all_inner_texts()[1:] == ["NDCG@10"]
    page.get_by_role("button", name="Show all 2 metrics").press("Enter")
    assert table.locator("tbody th").all_inner_texts() == list(metrics)
    assert page.evaluate("document.activeElement.textContent") == "Show fewer metrics"
    page.locator(".rows a").nth(1).click()
    expect(page.locator(".rows a").nth(1)).to_have_attribute("aria-current", "true")
    tones = page.locator(".values-table td.lift").evaluate_all("cells => cells.map(cell => cell.className)")
    assert tones == ["number lift worse", "number lift muted"]  # all metrics are shown of every query
    assert note.count() == 0


def test_one_view_alone_has_no_before_and_tables_lead_to_queries_of_any_name(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    names = ("a?b&c=d#e%20+", "übung 🌊 \u202e", "x" * 300, "lost")
    queries = tuple(
        replace(query, id=name, views=query.views[:1]) for query, name in zip(drill_down.queries, names, strict=True)
    )
    rows = ((Cell("lost"), Cell("+0.1")), (Cell("of another set"), Cell("–")))
    sections = (Section("Moved", (), (Table("Moved most", ("id", "lift"), rows),)),)
    alone = replace(drill_down, views=drill_down.views[:1], right=0, queries=queries)
    page = open_page(make_document(alone, sections=sections), "#queries?sort=dataset").page
    assert page.locator(".column").count() == 1
    assert page.locator(".move, .chip.fixed, .chip.broken").count() == 0
    for place in range(len(names)):
        go_to(page, page.locator(".rows a").nth(place).get_attribute("href"))
        assert page.locator(".rows a").nth(place).get_attribute("aria-current") == "true"
    go_to(page, "#summary")
    assert page.locator("table a").all_text_contents() == ["lost"]
    page.locator("table a").click()
    expect(page.locator(".query-head .id")).to_have_text("lost")
    assert 0 <= page.locator(".detail h3").bounding_box()["y"] < 500


@pytest.mark.full
def test_thousands_of_queries_are_listed_as_they_are_scrolled(
    open_page: Callable, make_document: Any, drill_down: DrillDown
) -> None:
    query = drill_down.queries[0]
    many = tuple(replace(query, id=f"q{number}", tags=(f"t{number % 7}",)) for number in range(5000))
    page = open_page(make_document(replace(drill_down, queries=many)), "#queries?query=q4321&sort=dataset").page
    assert opened(page) == "q4321"
    page.get_by_label("Search").fill("q49")
    assert page.get_by_role("status").inner_text() == "111 of 5,000 questions"
    assert page.locator(".rows li").count() == 80
    page.locator(".list").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    expect(page.locator(".rows li")).to_have_count(111)


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
