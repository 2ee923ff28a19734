"""The page of a comparison holds what the comparison holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

import raglift as rl
from raglift.rendering.document import Document, Section
from raglift.report.page.rendering import comparison_page
from raglift.report.views.comparison import other_of
from raglift.types.rankings import Cost, StageLatency

pytestmark = pytest.mark.slow

TAGS = [["hard"], ["easy"], []] * 12


def section(document: Document, heading: str) -> Section:
    return next(one for one in document.sections if one.heading == heading)


def texts(rows) -> list[list[str]]:
    return [[cell.text for cell in row] for row in rows]


def seconds(evaluation, p50: float):
    cost = Cost(whole=StageLatency("whole", 10, p50, 2 * p50))
    return replace(evaluation, run=replace(evaluation.run, cost=cost))


@pytest.fixture(scope="module")
def systems(ranked):
    return {
        "base": seconds(ranked([2] * 36, tags=TAGS), 0.1),
        "better": seconds(ranked([1] * 30 + [3] * 6, tags=TAGS), 0.2),
        "reranked": seconds(ranked([3] * 36, reranked=[1] * 20 + [2] * 16, tags=TAGS), 0.3),
    }


@pytest.fixture(scope="module")
def comparison(systems):
    return rl.compare(systems, primary="rr@3", baseline="base")


@pytest.fixture(scope="module")
def page(comparison):
    return comparison_page(comparison)


def test_the_first_screen_says_what_the_comparison_says(comparison, page):
    document = page
    assert document.title == "stones: 3 systems compared"
    assert document.lead == ("better leads 3 systems: MRR@3 0.889, significantly above the baseline's 0.500.")
    table = document.headline
    assert [row[0] for row in texts(table.rows)] == ["better", "reranked", "base"]
    assert table.columns[4:] == ("verdict", "Recall@3", "tokens", "latency")
    assert [(row[4], row[-1]) for row in texts(table.rows)] == [
        ("better", "200 ms"),
        ("better", "300 ms"),
        ("baseline", "100 ms"),
    ]
    row = comparison.row("better")
    cell = table.rows[0][2]
    assert (cell.low, cell.middle, cell.high) == (row.difference.low, row.difference.mean, row.difference.high)
    assert table.rows[0][3].text == f"{row.p_holm:.3f}"
    assert document.warnings == comparison.warnings
    names = dict(document.measured)
    assert names["Compared"] == "3 systems, each beside base"
    assert names["Failed questions"] == "0"


def test_differences_rerankers_failures_tags_and_costs_have_their_sections(comparison, page):
    document = page
    (wins,) = section(document, "Differences").tables
    found = comparison.row("reranked").difference
    assert texts(wins.rows)[1][:4] == ["reranked", str(found.wins), str(found.ties), str(found.losses)]
    (before,) = section(document, "Before and after reranking").tables
    assert [row[0] for row in texts(before.rows)] == ["reranked"]
    (lost,) = section(document, "Where recall was lost").tables
    assert [row[0] for row in texts(lost.rows)] == ["better", "reranked", "base"]
    assert lost.columns[:2] == ("system", "found by rank 3")
    assert texts(lost.rows)[2][1] == "36 (100%)"
    (cost,) = section(document, "Quality vs. cost").tables
    assert cost.columns == ("system", "MRR@3", "latency p50 (s)", "")
    assert [row[-1] for row in texts(cost.rows)] == ["Pareto-optimal", "beaten by better", "Pareto-optimal"]
    (tags,) = section(document, "By tag").tables
    assert [row[:2] for row in texts(tags.rows)][:3] == [["easy", "base"], ["", "better"], ["", "reranked"]]


def test_the_queries_show_the_baseline_beside_the_best_of_the_others(comparison, page):
    queries = page.queries
    assert queries is not None
    left, right = queries.views[queries.left], queries.views[queries.right]
    assert ((left.system, left.stage), (right.system, right.stage)) == (("base", "retrieve"), ("better", "retrieve"))
    assert other_of(comparison) == "better"


def test_a_system_without_a_fair_pair_is_shown_without_a_difference(ranked, systems):
    comparison = rl.compare({**systems, "cut": ranked([1] * 36, top_n=2, tags=TAGS)}, primary="rr@3", baseline="base")
    rows = {row[0].text: row for row in comparison_page(comparison).headline.rows}
    assert rows["cut"][1].text.endswith("†")
    assert [cell.text for cell in rows["cut"][2:5]] == ["–", "–", ""]


def test_notes_of_several_systems_are_told_once(ranked):
    systems = {name: ranked([1, 2, 3] * 12, unlabelled=[0]) for name in ("a", "b")}
    notes = section(comparison_page(rl.compare(systems, primary="rr@3")), "Notes of the evaluations").paragraphs
    assert "every system: 1 question excluded from all averages: no labels" in notes
