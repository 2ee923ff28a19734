"""A page shows sessions: calls in order, what each found, the curves, the final context, and every run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.report.page.gathering import drill_down
from raglift.report.page.query_browser import packed
from raglift.report.page.rendering import Page, comparison_page, evaluation_page, render
from raglift.types import Fact, Passage, Query

pytestmark = pytest.mark.slow

TEXTS = {
    "lamp": "The lamp of the lighthouse was first lit in the winter of 1871.",
    "keeper": "Its first keeper was Maud Ellery, who served for thirty years.",
    "horn": "In fog the horn gives two blasts every forty-five seconds.",
    "tower": "The tower has two hundred and four steps and one landing.",
    "gulls": "Gulls nest on the rocks below the northern wall in spring.",
    "boat": "The supply boat comes on the first Tuesday of every month.",
}
DATA = rl.Dataset(
    (
        Query(
            "who-and-when",
            "when was the lamp first lit, and who kept it?",
            (Fact((Passage(TEXTS["lamp"]),)), Fact((Passage(TEXTS["keeper"]),))),
            ("two facts",),
        ),
        Query("fog", "how often does the horn sound in fog?", (Fact((Passage(TEXTS["horn"]),)),)),
        Query("steps", "how many steps has the tower?", (Fact((Passage(TEXTS["tower"]),)),)),
        Query("colour", "which colour has the door?"),
    ),
    name="lighthouse",
)


def chunks(*names: str) -> list[rl.Chunk]:
    return [rl.Chunk(TEXTS[name], id=name, doc_id=f"{name}.md") for name in names]


def call(query: str, *names: str, before: tuple[str, ...] | None = None, **known: Any) -> rl.Call:
    hits = chunks(*names) if before is None else {"retrieve": chunks(*before), "rerank": chunks(*names)}
    return rl.Call.of(query, hits, **known)


LAMP = call(
    "lamp lit year", "lamp", before=("gulls", "lamp", "boat"),
    tool="search", arguments={"top": 3, "language": "en"}, tokens=40, seconds=0.5,
)  # fmt: skip
KEEPER = call("keeper of the lamp", "lamp", "keeper", before=("keeper", "lamp"))
FAILED = rl.Call("who kept it", error="timeout after 10 s")


def sessions(*, again: bool = True) -> list[rl.Session]:
    first = [
        rl.Session("who-and-when", [LAMP, KEEPER, FAILED], context=chunks("gulls", "keeper")),
        rl.Session("fog", [call("horn fog", "boat", before=("horn", "boat"))], context=chunks("boat")),
        rl.Session("steps", [call("gulls nest rocks", "gulls")], context=[], error="recursion limit of 25 reached"),
        rl.Session("colour", [call("door", "gulls")], context=chunks("gulls")),
    ]
    second = [
        rl.Session("who-and-when", [call("maud ellery", "boat", "keeper")], context=chunks("keeper"), repetition=2),
        rl.Session("fog", [call("horn", "horn")], context=chunks("horn"), repetition=2),
    ]
    return first + second * again


def measured(**options: Any) -> rl.Evaluation:
    return rl.evaluate_sessions(sessions(**options), DATA, system="scripted")


@pytest.fixture(scope="module")
def evaluation() -> rl.Evaluation:
    return measured()


@pytest.fixture(scope="module")
def page_of_one(evaluation: rl.Evaluation) -> Page:
    return evaluation_page(evaluation)


# What is gathered.


def test_each_call_has_what_it_found_and_each_run_its_own_hits(page_of_one: Page) -> None:
    assert page_of_one.queries is not None
    who, fog, steps, colour = page_of_one.queries.queries
    first, second = who.sessions[0]
    assert [(one.query, one.new, one.again, one.error) for one in first.calls] == [
        ("lamp lit year", (0,), (), None),
        ("keeper of the lamp", (1,), (0,), None),
        ("who kept it", (), (), "timeout after 10 s"),
    ]
    lamp, keeper = len(TEXTS["lamp"]), len(TEXTS["keeper"])
    assert [one.repeated for one in first.calls] == [0.0, pytest.approx(lamp / (lamp + keeper)), None]
    assert (first.calls[0].tool, first.calls[0].arguments) == ("search", (("top", "3"), ("language", "en")))
    assert first.calls[0].seconds == 0.5
    assert sum(one.tokens for one in first.calls) == first.all_tokens == first.tokens[1]  # by one count, texts of hits
    assert first.outcomes == ("left_out", "found")
    assert [view.calls for view in who.views] == [(3, 2, 0), (1, 2, 0)]
    assert [view.found_by for view in who.views] == [(1, 2), (1, 2)]
    assert [view.facts for view in who.views] == [(2, 1), (1, 2)]
    assert (second.views[-1].calls, second.views[-1].found_by, second.views[-1].facts) == ((2,), (None, 1), (None, 2))
    assert second.outcomes == ("never_asked", "found")
    assert first.value != second.value
    assert fog.all_outcomes == (("dropped",),)
    assert (steps.sessions[0][0].error, steps.sessions[0][0].context) == ("recursion limit of 25 reached", ())
    assert colour.sessions[0][0].outcomes == ()


def test_the_hits_of_the_context_are_told_with_what_they_match(page_of_one: Page) -> None:
    assert page_of_one.queries is not None
    context = page_of_one.queries.queries[0].sessions[0][0].context
    assert context is not None
    assert [[match.fact for match in hit.matches] for hit in context] == [[], [1]]
    assert page_of_one.queries.chunks[context[1].chunk].text == TEXTS["keeper"]


def test_a_page_without_sessions_carries_nothing_of_them() -> None:
    plain = rl.evaluate(lambda _: chunks("lamp"), DATA)
    drill = drill_down({"": plain}, left=("", plain.before), right=("", plain.after), primary=plain.scores.metrics[0])
    content = json.loads(gzip.decompress(packed(drill)))
    assert "sessions" not in content["queries"][0]
    assert set(content["queries"][0]["views"][0]) == {"hits", "returned", "values", "facts"}
    assert "sessionColumn(data, question, view, role, state, chooseRun) {" not in render(evaluation_page(plain))


# The first screen.


def test_the_first_screen_has_figures_and_outcomes_of_sessions(page_of_one: Page) -> None:
    assert [tile.label for tile in page_of_one.tiles] == [
        "Facts found",
        "Searches per question",
        "Facts in the answer's prompt",
        "SessionNDCG@10",
    ]
    assert [(share.label, share.count, share.outcome) for share in page_of_one.shares] == [
        ("found, in the prompt", 1, "found"),
        ("found, left out of the prompt", 1, "left_out"),
        ("dropped by the reranker", 1, "dropped"),
        ("in failed sessions", 1, "failed"),
    ]


def test_means_before_and_after_are_over_the_queries_that_count_on_both_sides(
    page_of_one: Page, evaluation: rl.Evaluation
) -> None:
    lift = evaluation.reranker_lift()
    (section,) = (section for section in page_of_one.sections if section.heading == "All metrics")
    shown = {row[0].text: [cell.value for cell in row[1:3]] for row in section.tables[0].rows}
    assert shown["Recovery"] == [lift.row("recovery").before, lift.row("recovery").after]
    assert lift.row("recovery").after != evaluation.scores.mean(evaluation.after, lift.row("recovery").metric)


def test_recall_after_each_call_is_drawn_and_in_words(evaluation: rl.Evaluation, page_of_one: Page) -> None:
    (section,) = (section for section in page_of_one.sections if section.heading == "Sessions")
    by_call, by_tokens = section.figures
    assert (by_call.title, by_tokens.title[:21]) == ("Recall after each search", "Recall by tokens read")
    # Of three queries, over their runs: (0.5 + 0.5) / 2, (0 + 1) / 2 and 0; then call 2 of the first adds a fact
    assert "33% after search 1, 42% after search 2" in by_call.chart().description
    (points, *_) = by_call.chart().to_dict()["datasets"].values()
    assert [(row["k"], row["v"]) for row in points] == [
        (0, 0.0),
        (1, pytest.approx(1 / 3)),
        (2, pytest.approx(5 / 12)),
        (3, pytest.approx(5 / 12)),
    ]
    with pytest.raises(ConfigurationError, match="found no session that found anything"):
        rl.evaluate_sessions([rl.Session(query.id, []) for query in DATA], DATA).plot.recall_after_calls()


# In a browser.


def item(page: Any, number: int) -> Any:
    return page.locator(".call").nth(number - 1)


def test_a_session_is_shown_call_by_call_with_its_final_context(open_page: Callable, page_of_one: Page) -> None:
    page = open_page(page_of_one, "#queries?query=who-and-when").page
    assert page.locator(".call .searched").all_inner_texts() == ["lamp lit year", "keeper of the lamp", "who kept it"]
    assert page_of_one.queries is not None
    tokens = page_of_one.queries.queries[0].sessions[0][0].calls[0].tokens
    assert item(page, 1).locator(".about").inner_text() == f"search · 1 hit · {tokens} tokens · 500 ms"
    assert item(page, 1).locator(".arguments").inner_text().split() == ["top", "3", "language", "en"]
    assert item(page, 1).locator(".call-facts .news").inner_text().endswith("newly found: fact 1")
    assert item(page, 2).locator(".call-facts .again").inner_text().endswith("found again: fact 1")
    assert "% returned by an earlier search" in item(page, 2).locator(".about").inner_text()
    assert item(page, 2).locator(".why").first.inner_text().endswith("already found by search 1")
    assert item(page, 3).locator(".error").inner_text() == "This search failed: timeout after 10 s"

    assert item(page, 2).locator(".move").all_text_contents() == [
        "▲ 2 → 1 (up from rank 2)",
        "▼ 1 → 2 (down from rank 1)",
    ]
    dropped = item(page, 1).locator("details.dropped-hits")
    assert dropped.locator("summary").inner_text() == "Dropped by the reranker: 2 hits"
    dropped.locator("summary").click()
    assert dropped.locator(".rank").all_text_contents() == ["Rank 1", "Rank 3"]

    context = page.locator(".final-context")
    assert context.locator(".from").all_inner_texts() == ["of no search", "search 2, rank 2"]
    left_out = context.locator(".left-out-facts").inner_text()
    assert left_out.endswith("Fact 1 was found by search 1 at rank 1 and left out.")
    assert page.locator(".fact .standing").all_inner_texts() == [
        "search 1, rank 2 → search 1, rank 1",
        "search 2, rank 1 → search 2, rank 2",
    ]
    charts = page.locator(".session .step-chart svg")
    assert charts.first.get_attribute("aria-label") == (
        "Recall after each search: 50% after search 1, 100% after search 2, 100% after search 3"
    )
    first, last = page_of_one.queries.queries[0].sessions[0][0].tokens
    assert charts.nth(1).get_attribute("aria-label") == (
        f"Recall by tokens read: 50% after {first}, 100% after {last}, of {last}"
    )
    page.emulate_media(media="print")
    assert item(page, 3).is_visible()
    assert context.is_visible()
    assert not page.locator(".runs").is_visible()


def test_runs_outcomes_and_numbers_of_calls_are_chosen_and_are_in_the_address(
    open_page: Callable, page_of_one: Page
) -> None:
    page = open_page(page_of_one, "#queries?query=who-and-when").page
    page.get_by_role("button", name="Run 2").click()
    assert page.url.endswith("#queries?run=2&query=who-and-when")
    assert page.evaluate("document.activeElement.textContent").startswith("Run 2")
    assert page.locator(".call .searched").all_inner_texts() == ["maud ellery"]
    assert page.locator(".fact-head .muted").all_inner_texts() == ["never searched for", "found"]
    page.go_back()
    expect(page.locator(".call")).to_have_count(3)
    page.evaluate("location.hash = '#queries?run=2&query=steps'")
    page.locator(".session > .error").wait_for()
    assert page.locator(".runs").count() == 0  # it was run once
    assert page.locator(".session > .error").inner_text() == "This session failed: recursion limit of 25 reached"

    page.evaluate("location.hash = '#summary'")
    page.locator(".shares li a", has_text="left out").click()
    expect(page.locator(".rows .id")).to_have_text(["who-and-when"])
    page.get_by_role("button", name="All 4").click()
    calls = page.get_by_label("Searches", exact=True)
    assert calls.locator("option").all_inner_texts() == ["All (4)", "1 (3)", "3 (1)"]
    calls.select_option(label="3 (1)")
    assert "calls=3" in page.url
    expect(page.locator(".rows .id")).to_have_text(["who-and-when"])
    calls.select_option("")
    page.get_by_label("Search", exact=True).fill("maud ellery")  # what the agent searched for in its second run
    expect(page.locator(".rows .id")).to_have_text(["who-and-when"])


def test_sessions_are_readable_on_a_phone_in_the_dark(open_page: Callable, page_of_one: Page) -> None:
    from axe_playwright_python.sync_playwright import Axe

    options = {"viewport": {"width": 390, "height": 900}, "color_scheme": "dark", "bypass_csp": True}
    page = open_page(page_of_one, "#queries?query=who-and-when", **options).page
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("details.dropped-hits > summary").first.click()
    found = Axe().run(page)
    assert found.response["violations"] == [], found.generate_report()


def test_agents_stand_side_by_side(open_page: Callable, evaluation: rl.Evaluation) -> None:
    metrics = ["session_ndcg@10", "session_recall@10"]
    plain = rl.evaluate(lambda _: chunks("lamp", "gulls"), DATA, metrics=metrics)
    other = rl.evaluate_sessions(sessions(again=False)[1:], DATA, metrics=metrics)
    compared = rl.compare(
        {"first": evaluation, "second": other, "asked once": plain}, baseline="first", primary="session_ndcg@10"
    )
    page = open_page(comparison_page(compared), "#queries?query=who-and-when").page
    page.get_by_label("Left", exact=True).select_option(label="first: rerank")
    page.get_by_label("Right", exact=True).select_option(label="asked once")
    assert page.locator(".columns > .session.left .call").count() == 3
    assert page.locator(".columns > .column.right:not(.session) .hit").count() == 2
    page.get_by_label("Right", exact=True).select_option(label="second: rerank")
    error = page.locator(".session.right > .error").inner_text()
    assert error == "This session failed: no session was given for this question"


HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202egnp"


def test_what_agents_asked_stays_text(open_page: Callable) -> None:
    deep: dict[str, Any] = {"query": HOSTILE, HOSTILE: [HOSTILE]}
    one = rl.Call.of(HOSTILE, chunks("lamp"), tool=HOSTILE, arguments=deep, error=HOSTILE)
    long = rl.Call.of("x" * 100_000, chunks("lamp"), tool="y" * 100_000, arguments={"z" * 9_999: "z" * 100_000})
    session = rl.Session("who-and-when", [one, long], context=chunks("lamp"), error=HOSTILE)
    page = open_page(evaluation_page(rl.evaluate_sessions([session], DATA)), "#queries?query=who-and-when").page
    assert page.title().startswith("lighthouse")
    assert page.locator(".detail img, .detail script").count() == 0
    assert page.locator(".call .searched").first.text_content().startswith("</script><script>")
    assert "\u202e" not in page.evaluate("document.body.innerText")
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
