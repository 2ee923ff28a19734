"""Short reports as Markdown: their structure holds whatever the texts are."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from raglift.rendering.document import Cell, Detail, Document, Section, Table
from raglift.rendering.markdown import markdown_of
from raglift.results.comparison import compare

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OWN_HTML = re.compile(r"<details><summary>[^<]*(<!-- -->[^<]*)*</summary>\n|</details>\n?|<!-- -->")


def tokens_of(markdown):
    return [inner for token in MARKDOWN.parse(markdown) for inner in (token, *(token.children or ()))]


def structure(markdown):
    """The kinds of tokens without texts, and how many cells there are in each row."""
    return [token.type for token in tokens_of(markdown) if token.type not in ("text", "html_inline", "inline")]


def check(markdown):
    for token in tokens_of(markdown):
        assert token.type not in ("link_open", "image", "code_inline", "fence", "code_block", "s_open", "hr")
        if token.type in ("html_block", "html_inline"):
            assert OWN_HTML.fullmatch(token.content), token.content
    assert markdown.count("<details>") == markdown.count("</details>")
    assert "\x1b" not in markdown
    assert "\u202e" not in markdown
    assert len(markdown) < 65_536


@pytest.mark.slow
def test_hostile_texts_do_not_change_the_structure(hostile, hostile_text):
    for make in (
        lambda one, _: one.to_markdown(),
        lambda one, _: one.reranker_lift(primary="ndcg@2").to_markdown(),
        lambda one, other: compare({hostile_text: one, f"{hostile_text} other": other}, primary="ndcg@1").to_markdown(),
    ):
        harmless = make(hostile("harmless"), hostile("harmless", seed=1))
        told = make(hostile(hostile_text), hostile(hostile_text, seed=1))
        check(told)
        assert structure(told) == structure(harmless)


def test_an_evaluation_in_short(hostile):
    told = hostile("harmless").to_markdown(primary="ndcg@1")
    first, blank, lead, *_ = told.splitlines()
    assert first == "### harmless: fake + fake"
    assert not blank
    assert lead.startswith("The reranker made no clear difference: NDCG@1 stays at 0.500 on average")
    assert "| found by rank 1 | 6 |" in told
    headings = re.findall(r"<summary>(.*)</summary>", told)
    assert headings == [
        "Winners and losers",
        "By tag",
        "All metrics",
        "What was measured",
    ]
    lowered = told.split(headings[0])[1].split("</details>")[0]
    assert len(re.findall(r"^\| harmless \d+ \| harmless\? \d+ \| 1\.000 → 0\.000 \|", lowered, re.MULTILINE)) == 6


@pytest.mark.slow
def test_an_evaluation_without_a_measure_of_quality_shows_its_figures(ranked):
    told = ranked([1, 2], metrics=["context_tokens"]).to_markdown()
    assert "| ContextTokens@3 |" in told


def test_a_comparison_names_the_worst_regressions(ranked):
    comparison = compare({"old": ranked([1, 1, 1, 2]), "new": ranked([1, 3, 2, 1])}, primary="rr@3")
    told = comparison.to_markdown()
    check(told)
    found = told.split("<summary>Winners and losers</summary>")[1].split("</details>")[0]
    rows = re.findall(r"^\| (q\d+) \| .* \| (.*) \|$", found, re.MULTILINE)
    assert rows == [("q0001", "1.000 → 0.333"), ("q0002", "1.000 → 0.500"), ("q0003", "0.500 → 1.000")]


def test_tones_are_bold_and_long_tables_are_cut():
    rows = (*((Cell(str(number)), Cell("+0.1", "better")) for number in range(70)),)
    told = markdown_of(Document("", "", Table("", ("a", "b"), rows), ()))
    assert "| 0 | **+0.1** |" in told
    assert told.count("**+0.1**") == 60
    assert told.rstrip().endswith("and 10 more")


def test_sections_are_folded_where_they_are_asked_to_be():
    empty = Table("", ("a",), ())
    document = Document(
        "t", "", empty, (), sections=(Section("open", ("p",)), Section("shut", ("q",), detail=Detail.DETAILS))
    )
    assert markdown_of(document) == ("### t\n\n**open**\n\np\n\n<details><summary>shut</summary>\n\nq\n\n</details>\n")
