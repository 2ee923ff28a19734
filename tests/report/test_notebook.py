"""What notebooks show: tables whose structure holds whatever the texts are, and nothing that runs or loads."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import raglift as rl
from raglift.rendering.document import Cell, Document, Table
from raglift.rendering.notebook import html_of
from raglift.results.comparison import compare

TAGS = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "ul", "li"}
ATTRIBUTES = {"class", "style", "scope", "aria-label"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.open, self.texts = [], [], []

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS
        assert {name for name, _ in attributes} <= ATTRIBUTES
        assert not any("url(" in value or "\n" in value for name, value in attributes if name == "style")
        self.tags.append((tag, [value for name, value in attributes if name == "style"]))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def views(one, other):
    comparison = compare({"one": one, "other": other}, primary="ndcg@1")
    yield one.dataset
    yield one
    yield comparison
    yield comparison.by_tag()
    yield one.failure_analysis(1)
    yield one.explain(one.dataset.queries[0].id)
    yield rl.audit(one.dataset)


@pytest.mark.slow
def test_hostile_texts_do_not_change_the_structure(hostile, hostile_text):
    harmless = list(views(hostile("harmless"), hostile("harmless", seed=1)))
    for shown, plain in zip(views(hostile(hostile_text), hostile(hostile_text, seed=1)), harmless, strict=True):
        told = shown._repr_html_()
        reader = read(told)
        if not isinstance(shown, rl.auditing.Audit):  # whose findings depend on what the texts are
            assert reader.tags == read(plain._repr_html_()).tags, type(shown)
        assert not {"\x1b", "\u202e"} & set(told)
        assert len(told) < 100_000


def test_a_dataset_shows_counts_tags_and_an_example():
    dataset = rl.load_dataset("lighthouse")
    texts = read(dataset._repr_html_()).texts
    assert f"{len(dataset):,}" in texts
    assert any(dataset.queries[0].text in text for text in texts)
    assert not any("more" in text for text in read(rl.Dataset(())._repr_html_()).texts)


def test_dollars_are_no_formula():
    html = html_of(Document("$x$", "", Table("", ("a",), ((Cell("$y$"),),)), ()))
    assert "mathjax_ignore" in html
    assert "tex2jax_ignore" in html


def test_cells_bring_their_style_and_only_what_was_decided_has_a_colour():
    cells = (Cell("1", "better"), Cell("2", "better", is_exploratory=True), Cell("3", "muted", is_exploratory=True))
    html = html_of(Document("", "", Table("", ("a", "b", "c"), (cells,)), ()))
    styles = [style for tag, (style,) in (each for each in read(html).tags if each[0] in ("th", "td"))]
    assert all("padding:" in style and "border:" in style for style in styles)
    assert ["background" in style for style in styles[3:]] == [True, False, False]
    assert "opacity" in styles[-1]


def test_long_tables_are_cut():
    html = html_of(Document("", "", Table("", ("a",), ((Cell("x"),),) * 100), ()))
    assert html.count("<td") == 60
    assert "and 40 more" in html
