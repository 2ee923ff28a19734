"""Chunkers that cut by structure and by meaning: what the libraries cut, each in its place."""

from __future__ import annotations

import inspect
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.adapters import cutters
from raglift.adapters.cutting import without_markup
from raglift.adapters.named_chunkers import KINDS, NamedChunker
from raglift.adapters.splitters import chunker_by_name
from raglift.errors import ConfigurationError, MissingDependency
from raglift.records.documents import Chunk, Document

MARKDOWN = """# Shop

An intro line.
A second   line.

## Returns

You may return anything within 30 days.

- one
  - two

```python
# no heading

x = 1
```

## Exchanges

You may return anything within 30 days.

###  By   post

Wrap it well.
"""
HTML = (
    "<html><body><h1>Returns</h1><p>You may return <b>any item</b> within 30 days.</p>"
    "<h2>Refunds</h2><p>Refunds take 5 days &amp; a bit.</p></body></html>"
)
CODE = Path(inspect.getsourcefile(cutters) or "").read_text(encoding="utf-8")
# Latin with accents, Cyrillic, Greek, Arabic with marks, Hindi, Thai, Chinese, Japanese, Korean, an emoji of two parts
SCRIPTS = (
    *(
        "Élan vital.",
        "Маяк горит.",
        "Ο φάρος.",
        "الفَنار مضيء.",
        "दीपस्तंभ।",
        "ประภาคาร",
        "灯塔。",
        "灯台です。",
        "등대다.",
    ),
    *("👩‍🚀", "\u200b", "a", " ", "\n", "\n\n", "## ", "```\n", "<|endoftext|>"),
)


def split(name: str, text: str, **document: Any) -> tuple[Chunk, ...]:
    return chunker_by_name(name).split([Document("d", text, **document)])


def check_places(chunks: tuple[Chunk, ...], text: str, *, whole: bool = True) -> None:
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks if chunk.start is not None)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    starts = [chunk.start for chunk in chunks if chunk.start is not None]
    assert starts == sorted(starts)
    if whole:
        covered = {place for chunk in chunks for place in range(chunk.start or 0, chunk.end or 0)}
        assert all(letter.isspace() or place in covered for place, letter in enumerate(text))


BY_STRUCTURE = [
    *("sentence:60/20", "sentence:20/5:tokens", "markdown", "markdown:40", "markdown:40/10", "html", "html:40"),
    *(
        "langchain.MarkdownHeaderTextSplitter",
        "chonkie.SentenceChunker:20/5",
        "chonkie.SentenceChunker:60/20:characters",
    ),
    *("chonkie.RecursiveChunker:20", "chonkie.RecursiveChunker:60:characters"),
]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(SCRIPTS), max_size=40).map("".join), st.sampled_from(BY_STRUCTURE))
def test_every_offset_is_where_the_document_has_the_text(text: str, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chunks = split(name, text)
    check_places(chunks, text, whole=False)
    assert bool(chunks) == bool(text.strip()) or "html" in name or "Markdown" in name


@pytest.mark.parametrize("name", [name for name in BY_STRUCTURE if "html" not in name])
def test_chunks_cover_a_page_of_markdown_with_repeated_paragraphs(name: str) -> None:
    chunks = split(name, MARKDOWN)
    assert None not in [chunk.start for chunk in chunks]
    check_places(chunks, MARKDOWN)


def test_sections_of_markdown_begin_at_headings_outside_of_code() -> None:
    firsts = [chunk.text.splitlines()[0] for chunk in split("markdown", MARKDOWN)]
    assert firsts == ["# Shop", "## Returns", "## Exchanges", "###  By   post"]


def test_a_section_larger_than_the_size_is_cut_again() -> None:
    chunks = split("markdown:40/0", MARKDOWN)
    assert max(len(chunk.text) for chunk in chunks) <= 40
    assert len(chunks) > len(split("markdown", MARKDOWN))


def test_html_is_cut_at_headings_and_its_text_counted_as_without_offsets() -> None:
    with pytest.warns(UserWarning, match="2 of 2 chunks are not in their documents word for word"):
        chunks = split("html", HTML)
    assert [" ".join(chunk.text.split()) for chunk in chunks] == [
        "Returns You may return any item within 30 days.",
        "Refunds Refunds take 5 days & a bit.",
    ]
    assert [(chunk.start, chunk.doc_id) for chunk in chunks] == [(None, "d")] * 2


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([*SCRIPTS, "<p>", "</p>", "<h2>", "</h2>", "<b>a</b>", "&amp;", "&nbsp;", "<!-- c -->"])),
    st.sampled_from(["html", "html:30/10", "llama_index.HTMLNodeParser", "langchain.HTMLHeaderTextSplitter"]),
)
def test_the_text_of_html_is_at_its_place_among_the_markup(parts: list[str], name: str) -> None:
    text = "".join(parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chunks = split(name, text)
    for chunk in chunks:
        start, end = chunk.metadata.get("html_span", (chunk.start, chunk.end))
        if start is not None:
            assert "".join(without_markup(text)[start:end].split()) == "".join(chunk.text.split())
    check_places(chunks, text, whole=False)


@pytest.mark.parametrize("name", ["html", "llama_index.HTMLNodeParser", "langchain.HTMLHeaderTextSplitter"])
@pytest.mark.parametrize("text", ["<!-- c -->", "<p></p>", "&nbsp;", "<h2><b></b></h2>"])
def test_markup_without_text_has_no_chunks(name: str, text: str) -> None:
    assert split(name, text) == ()


def test_repeated_paragraphs_of_html_have_places_of_their_own() -> None:
    page = (
        "<title>Soon</title><h1>A</h1><p alt='Soon'>Soon &amp; <i>cheap</i>.</p>"
        "<h1>B</h1><p>Soon &amp; <i>cheap</i>.</p>"
    )
    with pytest.warns(UserWarning, match="the places of 2 among the markup are known"):
        chunks = [chunk for chunk in split("html", page) if "cheap" in chunk.text]
    assert [page[slice(*chunk.metadata["html_span"])] for chunk in chunks] == [
        "A</h1><p alt='Soon'>Soon &amp; <i>cheap</i>.",
        "B</h1><p>Soon &amp; <i>cheap</i>.",
    ]


@pytest.mark.parametrize(
    "name",
    ["langchain.HTMLHeaderTextSplitter", "langchain.HTMLSectionSplitter", "llama_index.HTMLNodeParser", "html:30"],
)
def test_broken_html_is_read_as_browsers_read_it(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chunks = split(name, "<h1>Open<p>never closed <b>at all<h2>Next</h1></div>the end")
    words = " ".join(chunk.text for chunk in chunks)
    assert all(word in words for word in ("Open", "never closed", "at all", "Next"))


@pytest.mark.parametrize("name", ["code(language=python):400", "code(language=python):100:tokens"])
def test_code_is_cut_at_its_syntax_tree(name: str) -> None:
    chunks = split(name, CODE)
    check_places(chunks, CODE)
    counted = chunker_by_name(name).count  # type: ignore[attr-defined]
    assert max(counted(chunk.text) for chunk in chunks) <= int(name.split(":")[1])
    short = split("code(language=python):400", "def one():\n    return 1\n\n\ndef two():\n    return 2\n" * 8)
    assert all(chunk.text.startswith("def") and chunk.text.endswith(("1", "2")) for chunk in short)


@pytest.mark.parametrize("name", [*BY_STRUCTURE, "code(language=python):400"])
@pytest.mark.parametrize("text", ["", " \n\t "])
def test_empty_documents_have_no_chunks(name: str, text: str) -> None:
    assert split(name, text) == ()


@pytest.mark.parametrize("name", ["markdown", "markdown:1000", "langchain.MarkdownHeaderTextSplitter"])
def test_a_document_without_headings_is_one_section(name: str) -> None:
    [chunk] = split(name, "No heading here.\n\nNor here.\n")
    assert (chunk.text, chunk.start) == ("No heading here.\n\nNor here.", 0)


@pytest.mark.parametrize("name", ["sentence:100/10", "markdown:100", "chonkie.RecursiveChunker:100:characters"])
def test_a_line_of_20_000_characters_is_cut(name: str) -> None:
    line = "x" * 20_000
    chunks = split(name, line)
    check_places(chunks, line)
    assert max(len(chunk.text) for chunk in chunks) <= 100


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sentence:1000", "sentence:1000/0"),
        (" sentence:250/25:tokens ", "sentence:250/25:tokens"),
        ("sentence:250/25:tokens:o200k_base", "sentence:250/25:tokens:o200k_base"),
        ("chonkie.SentenceChunker:250/25:tokens", "chonkie.SentenceChunker:250/25"),
        ("markdown", "markdown"),
        ("markdown:1000/100:characters", "markdown:1000/100"),
        ("code( language = python ):1500/0", "code(language=python):1500"),
        ("semantic(model=minilm)", "semantic(model=minilm)"),
        ("semantic(percentile=95,model=minilm,buffer=1):1000/0", "semantic(model=minilm):1000/0"),
        (
            "langchain.SemanticChunker(model=minilm,percentile=90)",
            "langchain.SemanticChunker(model=minilm,percentile=90)",
        ),
        (
            "chonkie.SemanticChunker(model=./m,threshold=0.70):200",
            "chonkie.SemanticChunker(model=./m,threshold=0.7):200",
        ),
    ],
)
def test_the_text_form_says_no_more_than_it_must(text: str, shown: str) -> None:
    chunker = chunker_by_name(text)
    assert str(chunker) == shown
    assert chunker_by_name(shown) == chunker


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sentense:100", "found 'sentense'; expected one of .*; nearest: \"sentence\""),
        ("chonkie.SentenceChunk:100", 'nearest: "chonkie.SentenceChunker"'),
        ("sentence", "found none for sentence; expected one, as sentence:1000"),
        ("sentence:100/100", "chunk overlap: found 100; expected 0 or more and less than the chunk size 100"),
        ("sentence:0", "chunk size: found 0"),
        ("code:1000", r"found code without its language; expected code\(language=…\)"),
        ("code(language=python)", "found none for code"),
        ("code(language=python):100/10", "found 10 for code, whose chunks share nothing"),
        ("code(language=Py-thon):100", "found language='Py-thon' of code; expected a programming language"),
        ("semantic", r"found semantic without its model; expected semantic\(model=…\)"),
        ("semantic(model=openai:text-embedding-3-small)", "expected minilm, .*: a model that computes on this machine"),
        ("semantic(model=minilm,percentile=0)", "found percentile='0' of semantic; expected an integer from 1 to 99"),
        ("semantic(model=minilm,percent=9)", "found the setting 'percent' of semantic; expected .*\"percentile\""),
        ("semantic(model=minilm,model=minilm)", "found the setting 'model' twice"),
        ("semantic(minilm)", "found the setting 'minilm'; expected NAME=VALUE"),
        ("markdown(level=2)", "found the setting 'level' of markdown; expected none: markdown has no settings"),
        ("markdown:100:words", "chunk unit: found 'words'"),
        ("markdown:100:characters:o200k_base", "expected it with tokens"),
        ("html:1000/", "found 'html:1000/'; expected NAME"),
        ("recursive(model=minilm):100/0", "expected no settings: recursive has none"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        chunker_by_name(text)


def test_a_language_without_its_grammar_says_what_to_install() -> None:
    with pytest.raises(ConfigurationError, match=r"no package tree-sitter-cobol; .* pip install tree-sitter-cobol"):
        split("code(language=cobol):100", "x")


def test_what_is_no_code_is_named_with_its_document() -> None:
    with pytest.raises(ConfigurationError, match=r"failed on the document 'd': .*Could not parse code"):
        split("code(language=python):100", "def f(:\n  \n x = = 3\nclass")


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("chonkie", "chonkie.SentenceChunker:100"),
        ("bs4", "html"),
        ("tree_sitter", "code(language=python):100"),
        ("langchain_experimental.text_splitter", "langchain.SemanticChunker(model=minilm)"),
        ("llama_index.core.node_parser", "markdown"),
    ],
)
def test_what_is_not_installed_is_named_with_the_extra(module: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependency, match=r"raglift\[chunkers\]"):
        split(text, "x")


def test_every_kind_makes_what_it_names() -> None:
    for name, kind in KINDS.items():
        given = [(each, {"model": "minilm", "language": "python"}.get(each)) for each in kind.settings]
        chosen = tuple((each, value) for each, value in given if value is not None)
        chunker = NamedChunker(name, chosen, 50 if kind.needs_size else None)
        assert chunker_by_name(str(chunker)) == chunker
        assert callable(kind.cutter(chunker))


def test_a_chunker_by_name_is_audited() -> None:
    audit = rl.audit(rl.load_dataset("lighthouse"), chunkers=["markdown:400", "sentence:400/40"], embedding=None)
    assert [chunking.name for chunking in audit.chunkings] == ["markdown:400/0", "sentence:400/40"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "semantic(model=minilm,percentile=60)",
        "semantic(model=minilm,percentile=60):40/10",
        "langchain.SemanticChunker(model=minilm,percentile=60)",
        "chonkie.SemanticChunker(model=minilm):20",
    ],
)
def test_what_is_cut_by_meaning_covers_the_document(name: str) -> None:
    text = MARKDOWN.replace("\n\n", " ") + "Haddock is a fish. It lives in the sea. " * 3
    chunks = split(name, text)
    assert len(chunks) > 2
    check_places(chunks, text)
    assert split(name, " ") == ()
