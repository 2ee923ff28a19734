"""The page of an evaluation holds what the records hold."""

from __future__ import annotations

import pytest

from raglift.errors import QueryFailed
from raglift.rendering.document import Document, Section
from raglift.report.page.rendering import evaluation_page

BEFORE = [2, 3, 1, 5, 1, None] * 6
AFTER = [1, 1, 2, 2, 1, 1] * 6
TAGS = [["hard"], ["easy"], []] * 12


def section(document: Document, heading: str) -> Section:
    return next(one for one in document.sections if one.heading == heading)


def texts(rows) -> list[list[str]]:
    return [[cell.text for cell in row] for row in rows]


@pytest.fixture(scope="module")
def reranked(ranked):
    return ranked(BEFORE, reranked=AFTER, tags=TAGS, metrics=("rr", "recall", "ndcg"))


@pytest.fixture(scope="module")
def page(reranked):
    return evaluation_page(reranked, primary="rr@3")


@pytest.mark.slow
def test_the_first_screen_says_what_the_lift_says(reranked):
    document = evaluation_page(reranked, primary="rr@3", seed=4, confidence=0.9)
    lift = reranked.reranker_lift("rr@3", seed=4, confidence=0.9)
    row = lift.row()
    assert document.title == "stones: fake + fake"
    assert document.lead == "The reranker helped: MRR@3 rose from 0.472 to 0.667."
    assert document.headline.titles[1] == "before [90%]"
    first = document.headline.rows[0]
    assert first[0].text == "MRR@3"
    assert first[1].full_text == f"0.472 [{row.before_interval.low:.3f}, {row.before_interval.high:.3f}]"
    assert (first[3].low, first[3].middle, first[3].high) == (
        row.difference.low, row.difference.mean, row.difference.high,
    )  # fmt: skip
    assert (first[3].emphasis, first[5].text) == ("better", "better")
    assert [cells[0] for cells in texts(document.headline.rows)] == ["MRR@3", "Recall@3", "NDCG@3"]
    assert document.headline.rows[1][5].text == "exploratory"


@pytest.mark.slow
def test_what_was_measured_is_named(page):
    names = dict(page.measured)
    assert names["Retriever"].startswith("fake (36 queries)")
    assert names["Dataset"].startswith("stones: 36 questions, 36 facts (hash ")
    assert names["Failed questions"] == "0"
    assert names["Match rule"].startswith("containment: ")
    assert (names["Primary metric"], names["Candidates"]) == ("MRR@3", "6 per question")
    assert names["Measured on"].endswith(" UTC")
    assert names["Versions"].startswith("raglift ")
    assert "Python 3" in names["Versions"]


@pytest.mark.slow
def test_loss_tags_and_moved_queries_have_their_sections(reranked, page):
    document = page
    losses = reranked.failure_analysis(3)
    lost = section(document, "Where recall was lost")
    assert texts(lost.tables[0].rows)[0][:2] == ["found by rank 3", str(losses.of("found").facts)]
    assert any(text.startswith("A perfect order of these candidates would reach ") for text in lost.paragraphs)
    tags = section(document, "By tag").tables[0]
    assert [cells[0] for cells in texts(tags.rows)] == ["easy", "hard", "(no tag)"]
    moved = section(document, "Winners and losers").tables
    assert [table.caption for table in moved] == [
        "The questions that moved up most", "The questions that moved down most",
    ]  # fmt: skip
    assert texts(moved[1].rows)[0] == ["q0002", "Where does stone number 0002 lie?", "1.000 → 0.500", "1 → 2"]
    figures = [figure for one in document.sections for figure in one.figures]
    assert all(figure.chart().description.endswith(".") for figure in figures)


def test_few_queries_failures_and_notes_are_told(ranked):
    document = evaluation_page(ranked([1, 2, RuntimeError("down")], reranked=[1, 1, 1], unlabelled=[1]))
    assert (
        document.warnings[0] == "1 of 3 questions failed and counts 0. The first, q0002: retrieve: RuntimeError: down"
    )
    assert document.warnings[1].startswith("only 2 labelled questions: ")
    assert dict(document.measured)["Failed questions"] == "1 (scored as 0)"
    assert any("no labels" in note for note in document.notes)


@pytest.mark.slow
def test_of_a_run_that_failed_whole_no_zeros_are_charted(ranked):
    down = RuntimeError("down")
    with pytest.raises(QueryFailed) as caught:
        ranked([down, down, down], reranked=[1, 1, 1])
    document = evaluation_page(caught.value.evaluation)
    assert document.warnings[0] == "All 3 questions failed and count 0. The first, q0000: retrieve: RuntimeError: down"
    assert document.lead == "All 3 questions failed and count 0."
    assert not document.headline.rows
    assert [one.heading for one in document.sections] == ["Why questions failed"]
    partly = evaluation_page(ranked([down, down, 1], reranked=[1, 1, 1]))
    assert partly.headline.rows
    assert "Quality by depth (k)" in [one.heading for one in partly.sections]


def test_no_labels_and_no_fair_pair_still_make_a_page(ranked):
    blank = evaluation_page(ranked([1, 2], reranked=[2, 1], unlabelled=[0, 1]))
    assert blank.lead == "No question has labels that count, so MRR@3 cannot be computed."
    assert not any(one.heading in ("Where recall was lost", "By tag") for one in blank.sections)
    cut = evaluation_page(ranked([1, 2, 3], reranked=[1, 1, 1], top_n=2), primary="rr@3")
    assert "cannot be compared" in cut.lead
    assert cut.headline.rows[0][2].text.endswith("†")
    assert cut.headline.rows[0][3].text == "–"
    assert "nan" not in str(texts(cut.headline.rows))


def test_the_page_is_whole_in_a_browser(page, open_page):
    page = open_page(page, "").page
    assert page.inner_text("h1") == "stones: fake + fake"
    assert "The reranker helped: " in page.inner_text("body")
    page.evaluate("location.hash = '#details'")
    page.wait_for_selector("figure svg, figure canvas")
    assert page.locator("figure").count() == 2
    assert "36 of 36 questions" in page.locator("#explorer").text_content()
    page.locator("#details .mark-rect path").last.click()  # the largest loss, in the chart of winners and losers
    page.wait_for_selector(".query-head .id")
    assert page.evaluate("location.hash").startswith("#queries?query=q")
    assert page.locator(".standing").first.inner_text().startswith("rank 1 → ")
