from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_text_splitters import (
    CharacterTextSplitter,
    MarkdownTextSplitter,
    RecursiveCharacterTextSplitter,
    TokenTextSplitter,
)
from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter, SentenceWindowNodeParser
from llama_index.core.node_parser import TokenTextSplitter as LlamaTokenTextSplitter

from raglift.adapters.splitters import SplitterChunker, as_chunker, chunker_by_name
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.text.tokens import load_encoding
from raglift.types.documents import Chunk, Document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

TOKENS = load_encoding("cl100k_base")
SIZED = {"chunk_size": 60, "chunk_overlap": 12}
IN_TOKENS = {"length_function": TOKENS.count}
SPLITTERS: dict[str, Any] = {
    "recursive in tokens": RecursiveCharacterTextSplitter(**SIZED, **IN_TOKENS),
    "Markdown": MarkdownTextSplitter(**SIZED, **IN_TOKENS),
    "characters": CharacterTextSplitter(**SIZED),
    "sentences": SentenceSplitter(**SIZED),
    "tokens": LlamaTokenTextSplitter(**SIZED),
}


@pytest.fixture(scope="module")
def documents() -> tuple[Document, ...]:
    return load_dataset("lighthouse").documents


@pytest.mark.parametrize("name", SPLITTERS)
def test_chunks_are_the_splitters_own_each_located(name: str, documents: tuple[Document, ...]) -> None:
    chunks = SplitterChunker(SPLITTERS[name]).split(documents)
    for document in documents:
        mine = [chunk for chunk in chunks if chunk.doc_id == document.id]
        assert [chunk.text for chunk in mine] == SPLITTERS[name].split_text(document.text)
        assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in mine)
        starts, ends = [chunk.start for chunk in mine], [chunk.end for chunk in mine]
        assert starts == sorted(starts)  # type: ignore[type-var]
        assert ends == sorted(ends)  # type: ignore[type-var]
        covered = {place for chunk in mine for place in range(chunk.start or 0, chunk.end or 0)}
        assert all(letter.isspace() or place in covered for place, letter in enumerate(document.text))
    assert len({chunk.id for chunk in chunks}) == len(chunks)


@dataclass
class Piece:
    """What chonkie calls a chunk."""

    text: str


class Lines:
    """A splitter with chonkie's interface."""

    def chunk(self, text: str) -> list[Piece]:
        return list(map(Piece, text.split("\n")))


def by_lines(text: str) -> Iterator[str]:
    yield from text.split("\n")


@pytest.mark.parametrize(
    "splitter",
    [
        MarkdownNodeParser(),
        SentenceWindowNodeParser(),
        Lines(),
        by_lines,
        lambda text: [Chunk(line) for line in text.split("\n")],
    ],
)
def test_nodes_chunks_and_functions(splitter: Any, documents: tuple[Document, ...]) -> None:
    by_id = {document.id: document.text for document in documents}
    chunks = SplitterChunker(splitter).split(documents)
    assert len(chunks) > len(documents)
    assert all(by_id[chunk.doc_id or ""][chunk.start : chunk.end] == chunk.text for chunk in chunks)


@settings(max_examples=50, deadline=None)
@given(st.text(st.sampled_from("ab \n.é🎈"), max_size=300), st.sampled_from(sorted(SPLITTERS)))
def test_no_offset_is_ever_wrong(text: str, name: str) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chunks = SplitterChunker(SPLITTERS[name]).split([Document("d", text)])
    for chunk in chunks:
        assert chunk.start is None or text[chunk.start : chunk.end] == chunk.text


def test_chunks_that_the_splitter_rewrote_have_no_offsets_and_are_counted() -> None:
    text = "one\n\n\n\n\ntwo\n\nthree"  # what is cut at two line ends is put together with two
    with pytest.warns(UserWarning, match="1 of 2 chunks are not in their documents word for word"):
        chunks = SplitterChunker(CharacterTextSplitter(chunk_size=10, chunk_overlap=0)).split([Document("d", text)])
    assert chunks[0] == Chunk("one\n\n\ntwo", id="d#0", doc_id="d")
    assert chunks[1] == Chunk("three", id="d:13-18", doc_id="d", start=13, end=18)


def test_the_frameworks_lines_for_each_long_chunk_are_kept_back(caplog: pytest.LogCaptureFixture) -> None:
    splitter = CharacterTextSplitter(chunk_size=5, chunk_overlap=0)
    with caplog.at_level(logging.WARNING):
        assert len(SplitterChunker(splitter).split([Document("d", "a long line\n\nanother")])) == 2
    assert not caplog.records


def test_a_splitter_by_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_splitters.py").write_text(
        "from raglift.retrieval import RecursiveChunker\n"
        "def lines():\n    return lambda text: text.split('\\n')\n"
        "def by_lines(text):\n    return text.split('\\n')\n"
        "own = RecursiveChunker(7, 0)\n"
        "def broken():\n    raise ValueError('no model')\n"
    )
    monkeypatch.chdir(tmp_path)
    document = Document("d", "one\ntwo")
    for name in ("my_splitters:lines", "my_splitters:by_lines"):
        chunker = chunker_by_name(name)
        assert str(chunker) == name
        assert [(chunk.start, chunk.end) for chunk in chunker.split([document])] == [(0, 3), (4, 7)]
    assert chunker_by_name("my_splitters:own") == RecursiveChunker(7, 0)
    assert str(chunker_by_name("my_splitters:lines+headings")) == "my_splitters:lines+headings"
    for name, message in {
        "my_splitters:broken": "no model",
        "my_splitters:other": "chunker: my_splitters has no 'other'",
        "no_such_module:lines": "chunker: the module 'no_such_module' cannot be imported",
    }.items():
        with pytest.raises(ConfigurationError, match=message):
            chunker_by_name(name)


@pytest.mark.parametrize("text", ["", "markdown:1000", "recursiv:9/1", "langchain.TokenTextSplitter:9/1", "recursive"])
def test_what_names_no_chunker_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        chunker_by_name(text)


@pytest.mark.parametrize("given", [7, None, TokenTextSplitter])
def test_what_is_no_splitter_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"chunker: found .*; expected a chunker"):
        as_chunker(given)


@pytest.mark.parametrize(
    ("splitter", "message"),
    [(lambda text: 1 / 0, "ZeroDivisionError"), (lambda text: [text, 7], "it returned a int; expected texts")],
)
def test_a_splitter_that_fails_is_named_with_the_document(splitter: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"failed on the document 'd': .*{message}"):
        SplitterChunker(splitter).split([Document("d", "one")])


def test_an_order_to_stop_is_no_failure_of_a_splitter() -> None:
    def stopped(text: str) -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SplitterChunker(stopped).split([Document("d", "one")])
