"""Text that shows as it is in GitHub's Markdown."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from raglift.rendering.markdown import escaped, escaped_cell, escaped_html

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HOSTILE = [
    "a | b",
    "\\| c \\",
    "`code` ``x``",
    "**bold** __bold__ *it* _it_ ~~gone~~",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "---",
    "```",
    "![x](http://evil.example/x.png)",
    "[x][y]",
    "[x]: http://evil.example",
    "[ ] task",
    "<http://evil.example>",
    "<script>alert(1)</script>",
    "</details></summary>",
    "<!-- hidden",
    "&lt;b&gt; &amp; &#60;",
    "two\n\n# lines",
    "a\u2028b\u0085c",
    "    indented",
    "[!WARNING]",
    "hard break  ",
    "ends in \\",
    "0.554 [0.513, 0.595]",
    ":--- | ---:",
    "$x^2$ and $$y$$",
]
LINKED = [
    "@somebody",
    "(@org/team)",
    "mail me@example.org now",
    "see #12",
    "owner/name#12",
    "GH-12",
    "https://evil.example/x",
    "www.evil.example",
    "ftp://evil.example",
    ":smile: a:100:b",
]
# What GitHub makes links, pictures or formulas of in whatever text the Markdown came to, outside code
FILTERS = re.compile(
    r"(?<![A-Za-z0-9_])@\w|[\w.+-]@[\w-]+\.[\w-]|#\d|\bgh-\d|://|\bwww\.|:[a-z0-9_+-]+:", re.IGNORECASE
)


def nodes(markdown):
    """The kinds of all tokens, and the texts between tags and comments."""
    tokens = [inner for token in MARKDOWN.parse(markdown) for inner in (token, *(token.children or ()))]
    return [token.type for token in tokens], [token for token in tokens if token.type in ("text", "html_inline")]


def shown(tokens):
    return "".join(token.content for token in tokens if token.type == "text")


def plain(text):
    return " ".join(text.split())


def split_at_comments(tokens):
    """The runs of text that GitHub's filters see: a comment ends one."""
    runs = [""]
    for token in tokens:
        if token.type == "text":
            runs[-1] += token.content
        else:
            assert token.content == "<!-- -->"
            runs.append("")
    return runs


@pytest.mark.parametrize("text", [*HOSTILE, *LINKED])
def test_a_line_a_cell_and_a_summary_say_the_text(text):
    kinds, texts = nodes(escaped(text))
    assert set(kinds) - {"html_inline"} == {"paragraph_open", "inline", "text", "paragraph_close"}
    assert shown(texts) == plain(text)

    kinds, texts = nodes(f"| a | b |\n| --- | --- |\n| {escaped_cell(text)} | {escaped_cell(text)} |")
    assert kinds.count("td_open") == 2
    assert set(kinds) & {"link_open", "image", "em_open", "strong_open", "s_open", "code_inline"} == set()
    assert shown(texts) == "ab" + 2 * plain(text)

    first, *_, last = MARKDOWN.parse(f"<details><summary>{escaped_html(text)}</summary>\n\ninside\n\n</details>")
    assert (first.type, last.type) == ("html_block", "html_block")
    said = first.content.removeprefix("<details><summary>").removesuffix("</summary>\n").replace("<!-- -->", "")
    assert "<" not in said
    assert html.unescape(said) == plain(text)


@pytest.mark.parametrize("text", LINKED)
def test_nobody_is_mentioned_and_nothing_is_linked(text):
    assert FILTERS.search(text)
    assert not any(FILTERS.search(run) for run in split_at_comments(nodes(escaped(text))[1]))


def test_what_needs_no_escape_has_none_and_a_formula_no_dollars():
    assert "$" not in escaped("$x$")
    for text in (
        "NDCG@10 0.554 [0.513, 0.595]",
        "shop_support: 332 queries",
        "recursive:1000/100 · bm25 · none",
        "q-1",
    ):
        assert escaped(text) == text


@given(st.text("ab1 \\`*_{}[]()<>#+-.!|~:@/&;$\"'=\n\t", max_size=30))
def test_any_text_is_said_as_it_is(text):
    for written, before in ((escaped(f"x{text}"), "x"), (escaped(text), "")):
        kinds, texts = nodes(written)
        assert set(kinds) <= {"paragraph_open", "inline", "text", "html_inline", "paragraph_close"}
        assert shown(texts) == plain(before + text)
        assert not any(FILTERS.search(run) for run in split_at_comments(texts))


@given(st.text("ab1 \\`*_[]()<>|~:@$&\n", max_size=30))
def test_any_text_is_one_cell(text):
    kinds, texts = nodes(f"| a |\n| --- |\n| {escaped_cell(text)} |")
    assert kinds.count("td_open") == 1
    assert shown(texts) == "a" + plain(text)
