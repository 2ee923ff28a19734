"""Whose labels figures rest on is said wherever they stand, where a model had a part; else nothing changes."""

import re

import pandas as pd
import pytest

from raglift.analysis.frames import export
from raglift.auditing.dataset_audit import audit
from raglift.rendering.document import Cell, Section, Table
from raglift.rendering.notebook import html_of
from raglift.report.page.layout import laid_table
from raglift.report.page.rendering import Page, render
from raglift.results.comparison import compare

pytestmark = pytest.mark.slow

SAID = "labels: 8 passages judged by people, 4 by openai:gpt-4o-mini (relevance@3f9a1c07)"
BEFORE, AFTER = [3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1], [1, 1, 2, 1, 2, 1, 3, 1, 1, 1, 2, 1]
TAGS = [("easy",), ("hard",)] * 6


@pytest.fixture(scope="module")
def shown(ranked, judged_by_model):
    """Everything that is shown of two systems, by name, with so many labels of a model."""

    def build(labels):
        options = {"metrics": ["rr", "recall", "context_tokens"]}
        one = judged_by_model(ranked(BEFORE, reranked=AFTER, tags=TAGS), labels=labels, **options)
        two = judged_by_model(ranked(AFTER, tags=TAGS), labels=labels, **options)
        comparison = compare({"one": one, "two": two}, primary="rr@3")
        return {
            "evaluation": one,
            "lift": one.reranker_lift("rr@3"),
            "loss": one.failure_analysis(),
            "headroom": one.headroom(),
            "explanation": one.explain("q0001"),
            "tags": one.by_tag("rr@3"),
            "comparison": comparison,
            "tags of systems": comparison.by_tag(),
            "tradeoff": comparison.pareto(),
            "audit": audit(one.dataset),
            "dataset": one.dataset,
        }

    return build


PRINTED = ["evaluation", "lift", "loss", "headroom", "tags", "comparison", "tags of systems", "tradeoff", "audit"]
IN_NOTEBOOKS = ["evaluation", "loss", "comparison", "tags of systems", "tradeoff", "audit", "dataset"]


def one_line(text):
    return " ".join(text.split())


def test_what_is_printed_says_it(shown):
    by_model, by_people = shown(4), shown(0)
    for name in PRINTED:
        assert SAID in one_line(str(by_model[name])), name
        assert "labels: " not in one_line(str(by_people[name])), name


def test_an_explanation_says_it_of_its_own_query(shown):
    explanation = shown(4)["explanation"]
    assert "labels: 1 passage judged by openai:gpt-4o-mini (relevance@3f9a1c07)" in str(explanation)
    assert "(grade 1, openai:gpt-4o-mini (relevance@3f9a1c07, 2026-11-21))" in one_line(str(explanation))
    assert "openai" not in str(shown(0)["explanation"])


def test_each_table_of_a_notebook_says_it(shown):
    by_model, by_people = shown(4), shown(0)
    for name in IN_NOTEBOOKS:
        found = by_model[name]._repr_html_()
        tables = len(re.findall("<table", found)) - found.count('aria-label="Questions of each tag"')
        assert found.count(f"{SAID}</p>") == tables, name
        assert "labels: " not in by_people[name]._repr_html_(), name


@pytest.mark.parametrize("name", ["evaluation", "comparison"])
def test_each_table_of_markdown_says_it(shown, name):
    blocks = shown(4)[name].to_markdown().split("\n\n")
    tables = [number for number, block in enumerate(blocks) if block.startswith("|")]
    assert tables
    for number in tables:
        assert "labels: 8 passages judged by people, 4 by openai" in blocks[number + 1]
    assert "labels: " not in shown(0)[name].to_markdown()


@pytest.mark.parametrize("name", ["evaluation", "comparison"])
def test_each_table_and_figure_of_a_page_says_it(shown, name, tmp_path):
    page = shown(4)[name].report(tmp_path / "page.html").read_text(encoding="utf-8")
    captions = re.findall(r"<(?:fig)?caption[^>]*>(.*?)</(?:fig)?caption>", page, flags=re.DOTALL)
    silent = [caption for caption in captions if SAID[1:] not in one_line(caption)]
    assert len(captions) > 6
    assert silent == []
    assert "judged by" not in shown(0)[name].report(tmp_path / "other.html").read_text(encoding="utf-8")


def test_exported_tables_have_a_column_of_it(shown, tmp_path):
    for file in export(shown(4)["comparison"], tmp_path / "found.csv"):
        assert set(pd.read_csv(file)["labels"]) == {SAID}
    for file in export(shown(0)["evaluation"], tmp_path / "people.csv"):
        assert "labels" not in pd.read_csv(file).columns


def test_a_table_that_rests_on_no_label_does_not_say_it():
    table = Table("Seconds", ("stage",), ((Cell("retrieve"),),), rests_on_labels=False)
    document = Page("T", "", table, (), sections=(Section("Cost", tables=(table,)),), labels="labels: 1")
    assert laid_table(table, "labels: 1").caption == "Seconds"
    assert "labels: 1" not in html_of(document)
    assert "labels: 1" not in render(document)


def test_a_caption_that_is_a_sentence_is_followed_by_another():
    assert laid_table(Table("All of it.", ("a",), ()), "labels: 1 by m").caption == "All of it. Labels: 1 by m."
    assert laid_table(Table("All of it", ("a",), ()), "labels: 1 by m").caption == "All of it · labels: 1 by m"
