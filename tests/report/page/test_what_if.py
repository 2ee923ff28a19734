"""The panel of a page that answers what if: its controls, its address, and what it leaves as it was measured."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import raglift as rl
from raglift.report.page.rendering import comparison_page, evaluation_page
from raglift.results.evaluation import Evaluation

from .random_evaluations import Measured

RESULTS = ".what-if-results"
REFERENCE = Measured(30)
"""Of spans with grades and tags, with a reranker."""


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return REFERENCE.evaluation()


def slide(page: Any, name: str, value: object) -> None:
    page.evaluate(
        """([name, value]) => {
          const input = document.getElementById(`if-${name}`);
          input.value = value;
          for (const kind of ["input", "change"]) input.dispatchEvent(new Event(kind));
        }""",
        [name, str(value)],
    )


def means(page: Any) -> list[str]:
    """The means after reranking, as the table has them when the tests are done."""
    page.wait_for_function(f"() => !document.querySelector('{RESULTS} table').textContent.includes('…')")
    return [text.split("\n")[0] for text in page.locator(f"{RESULTS} tbody tr td:nth-of-type(2)").all_inner_texts()]


def test_a_setting_is_computed_named_and_in_the_address_until_it_is_taken_back(
    open_page: Callable[..., Any], evaluation: Evaluation
) -> None:
    page = open_page(evaluation_page(evaluation), "#summary").page
    lead = page.locator("#summary > .lead")
    measured = lead.inner_text()
    page.click("#what-if > summary")
    page.wait_for_selector("#if-k")
    slide(page, "k", 2)
    page.wait_for_selector(f"{RESULTS}:not([hidden])")
    scores = rl.rescore(evaluation, metrics=["ndcg@2", "recall@2"]).scores
    assert means(page)[:2] == [f"{scores.mean(evaluation.after, name):.3f}" for name in ("ndcg@2", "recall@2")]
    assert "Not what was measured" in page.inner_text(".what-if-setting")
    assert page.url.endswith("#summary?if=k%3A2")
    assert not lead.is_visible()
    page.emulate_media(media="print")
    assert lead.is_visible()
    assert not page.locator("#what-if").is_visible()
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Back to what was measured").click()
    assert lead.inner_text() == measured
    assert page.url.endswith("#summary")
    page.go_back()
    page.wait_for_selector(f"{RESULTS}:not([hidden])")
    assert page.locator("#if-k").input_value() == "2"


def test_a_link_restores_a_setting_and_leads_to_the_questions_that_it_changes(
    open_page: Callable[..., Any], evaluation: Evaluation
) -> None:
    page = open_page(evaluation_page(evaluation), "#summary?if=tag:easy,k:1,candidates:3").page
    page.wait_for_selector(f"{RESULTS}:not([hidden])")
    assert [page.locator(f"#if-{name}").input_value() for name in ("k", "candidates", "tag")] == ["1", "3", "easy"]
    link = page.locator(".what-if-questions a").last
    count = int(re.findall(r"\d+", link.inner_text())[0])
    link.click()
    for _ in range(2):
        page.wait_for_function(f"() => document.querySelectorAll('.rows li').length === {count}")
        page.wait_for_selector(f".chip[aria-pressed='true'] .number:text-is('{count}')")
        page.reload()


@pytest.mark.parametrize(
    "asked",
    [
        "k:0",
        "k:x,weight:7,candidates:-1",
        "tag:<b>nobody</b>",
        "tokens:1e99",
        "grade:17",
        "k:99999999999999999999",
        "x" * 5000,
        "%F0%9F%A6",
    ],
)
def test_what_an_address_asks_for_and_the_page_has_not_is_as_measured(
    open_page: Callable[..., Any], evaluation: Evaluation, asked: str
) -> None:
    page = open_page(evaluation_page(evaluation), f"#summary?if={asked}").page
    page.wait_for_selector("#if-k")
    page.wait_for_function("() => !document.querySelector('.what-if-need tbody').textContent.includes('…')")
    assert page.locator("#what-if > [role='alert']").is_visible()
    assert page.locator("#summary > .lead").is_visible()
    assert not page.locator(RESULTS).is_visible()


def test_the_least_that_a_goal_needs_is_what_trying_each_finds(
    open_page: Callable[..., Any], evaluation: Evaluation
) -> None:
    page = open_page(evaluation_page(evaluation), "#summary").page
    page.click("#what-if > summary")
    page.wait_for_selector("#if-goal")
    page.fill("#if-goal", "90")
    page.wait_for_function(
        "() => document.querySelectorAll('.what-if-need tbody tr').length === 3"
        " && !document.querySelector('.what-if-need tbody').textContent.includes('…')"
    )
    usual = evaluation_page(evaluation).queries
    assert usual is not None
    deep = int(evaluation.run.spec["candidates"])
    scores = rl.rescore(evaluation, metrics=[f"recall@{k}" for k in range(1, deep + 1)]).scores
    means = [scores.mean(evaluation.after, f"recall@{k}") for k in range(1, deep + 1)]
    least = next(k for k, mean in enumerate(means, start=1) if mean >= 0.9 * means[usual.k - 1] - 1e-9)
    assert page.locator("[data-need='k'] strong").first.inner_text() == str(least)
    assert "keep%3A90" in page.url
    page.fill("#if-goal", "0.95")
    assert page.locator(".what-if-need tbody tr").count() == 0


def test_with_a_tag_figures_are_as_measured_of_its_questions(
    open_page: Callable[..., Any], evaluation: Evaluation
) -> None:
    page = open_page(evaluation_page(evaluation), "#summary?if=tag:hard").page
    page.wait_for_selector(f"{RESULTS}:not([hidden])")
    usual = evaluation_page(evaluation).queries
    assert usual is not None
    values = evaluation.scores.of(evaluation.after, f"ndcg@{usual.k}")
    tagged = [value for value, query in zip(values, evaluation.dataset.queries, strict=True) if "hard" in query.tags]
    mean = f"{np.nanmean(tagged):.3f}"
    assert means(page)[0] == mean
    assert page.locator(f"{RESULTS} .tile .note").first.inner_text() == f"measured: {mean}"
    assert "Not what was measured" not in page.inner_text(".what-if-setting")


def test_closed_with_a_setting_the_panel_leaves_what_was_measured(
    open_page: Callable[..., Any], evaluation: Evaluation
) -> None:
    page = open_page(evaluation_page(evaluation), "#summary?if=k:2").page
    page.wait_for_selector(f"{RESULTS}:not([hidden])")
    page.click("#what-if > summary")
    assert page.locator("#summary > .lead").is_visible()
    assert "Not what was measured" in page.inner_text("#what-if > summary")


def test_candidates_are_greyed_for_a_reranker_that_may_look_at_all_hits(
    open_page: Callable[..., Any], evaluation: Evaluation
) -> None:
    stages = tuple(replace(stage, by_pair=False) for stage in evaluation.run.stages)
    other = replace(evaluation, run=replace(evaluation.run, stages=stages))
    page = open_page(evaluation_page(other), "#summary?if=candidates:2").page
    page.wait_for_selector("#if-candidates")
    assert page.locator("#if-candidates").is_disabled()
    assert "--candidates" in page.inner_text("#if-candidates-why")
    assert page.inner_text(".what-if-setting") == ""


def test_a_comparison_is_computed_system_by_system(open_page: Callable[..., Any], evaluation: Evaluation) -> None:
    other = REFERENCE.evaluation(4)
    comparison = rl.compare({"all": evaluation, "four": other}, primary="recall@1")
    page = open_page(comparison_page(comparison), "#summary?if=k:2").page
    page.wait_for_selector(f"{RESULTS}:not([hidden])")
    cells = page.locator(f"{RESULTS} tbody tr td:nth-of-type(1)").all_inner_texts()
    found = [rl.rescore(one, metrics=["recall@2"]).scores.mean(one.after, "recall@2") for one in (evaluation, other)]
    assert [text.split("\n")[0] for text in cells] == [f"{mean:.3f}" for mean in found]


def test_other_conventions_and_metrics_that_the_page_does_not_know_have_no_panel(evaluation: Evaluation) -> None:
    assert evaluation_page(rl.rescore(evaluation, profile="trec", metrics=["ndcg@3"])).what_if is None
    assert evaluation_page(rl.rescore(evaluation, metrics=["rbp@3"]), primary="rbp@3").what_if is None


def test_what_is_read_is_not_compared_where_a_reranker_cuts_before_the_budget(evaluation: Evaluation) -> None:
    read = rl.rescore(evaluation, metrics=["ndcg@3", "recall_area@tokens(100)"])
    cut = replace(read, truncated={"rerank": 3}, truncated_tokens={"rerank": 1})
    for one, is_read in ((read, True), (cut, False)):
        found = json.loads(gzip.decompress(evaluation_page(one).what_if or b""))
        assert len(found["sides"]) == 2
        assert ("recall_area" in [metric["name"] for metric in found["metrics"]]) is is_read


def test_systems_that_are_not_comparable_by_size_are_so_by_other_settings(open_page: Callable[..., Any]) -> None:
    data = rl.Dataset.from_dict({f"Who trims lamp {n}?": ["The keeper trims the lamp at dusk."] for n in range(9)})
    hits = {"good": "The keeper trims the lamp at dusk.", "short": "Tar."}
    evaluations = {
        name: rl.evaluate(lambda _, k, own=own: [f"{own} {n}" for n in range(k)], data) for name, own in hits.items()
    }
    comparison = rl.compare(evaluations)
    assert comparison.row("short").verdict == "not comparable by size"
    page = open_page(comparison_page(comparison), "#summary?if=k:1").page
    page.wait_for_function(f"() => document.querySelector('{RESULTS}')?.textContent.includes('not comparable by size')")
    assert "better" not in page.inner_text(RESULTS)
    assert "worse" not in page.inner_text(RESULTS)
