from __future__ import annotations

import logging
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_text_splitters import CharacterTextSplitter, MarkdownTextSplitter, RecursiveCharacterTextSplitter
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.node_parser import TokenTextSplitter as LlamaTokenTextSplitter

from raglift.adapters.splitters import FrameworkChunker, chunker_by_name
from raglift.base.tokens import load_encoding
from raglift.components.chunkers import RecursiveChunker, TokenChunker
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, MissingDependency
from raglift.records.documents import Chunk, Document

TOKENS = load_encoding("cl100k_base")
SIZED = {"chunk_size": 60, "chunk_overlap": 12}
IN_TOKENS = {"length_function": TOKENS.count}
# each by its text, and the framework's own object that it stands for
SPLITTERS: dict[str, Any] = {
    "langchain.RecursiveCharacterTextSplitter:60/12": RecursiveCharacterTextSplitter(**SIZED),
    "langchain.RecursiveCharacterTextSplitter:60/12:tokens": RecursiveCharacterTextSplitter(**SIZED, **IN_TOKENS),
    "langchain.MarkdownTextSplitter:60/12:tokens": MarkdownTextSplitter(**SIZED, **IN_TOKENS),
    "langchain.CharacterTextSplitter:60/12": CharacterTextSplitter(**SIZED),
    "llama_index.SentenceSplitter:60/12": SentenceSplitter(**SIZED),
    "llama_index.SentenceSplitter:60/12:characters": SentenceSplitter(**SIZED, tokenizer=list),
    "llama_index.TokenTextSplitter:60/12": LlamaTokenTextSplitter(**SIZED),
}


@pytest.fixture(scope="module")
def documents() -> tuple[Document, ...]:
    return load_dataset("lighthouse").documents


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTERS)
def test_chunks_are_the_splitters_own_each_located(name: str, documents: tuple[Document, ...]) -> None:
    chunks = chunker_by_name(name).split(documents)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["langchain.RecursiveCharacterTextSplitter:200/40:tokens", "langchain.TokenTextSplitter:200/40"]
)
def test_chunks_of_the_book_are_those_of_raglifts_own(name: str, book_path: Any) -> None:
    book = [Document("book", book_path.read_text(encoding="utf-8-sig")[:300_000])]
    own = RecursiveChunker(200, 40, "tokens") if "Recursive" in name else TokenChunker(200, 40)
    assert [(c.start, c.end) for c in chunker_by_name(name).split(book)] == [(c.start, c.end) for c in own.split(book)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama_index.MarkdownNodeParser", "llama_index.SentenceWindowNodeParser"])
def test_node_parsers_without_a_size(name: str, documents: tuple[Document, ...]) -> None:
    by_id = {document.id: document.text for document in documents}
    chunks = chunker_by_name(name).split(documents)
    assert len(chunks) > len(documents)
    assert all(by_id[chunk.doc_id or ""][chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert str(chunker_by_name(name)) == name


@settings(max_examples=50, deadline=None)
@given(st.text(st.sampled_from("ab \n.é🎈"), max_size=300), st.sampled_from(sorted(SPLITTERS)))
def test_no_offset_is_ever_wrong(text: str, name: str) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chunks = chunker_by_name(name).split([Document("d", text)])
    for chunk in chunks:
        assert chunk.start is None or text[chunk.start : chunk.end] == chunk.text


def test_chunks_that_the_splitter_rewrote_have_no_offsets_and_are_counted() -> None:
    text = "one\n\n\n\n\ntwo\n\nthree"  # what is cut at two line ends is put together with two
    with pytest.warns(UserWarning, match="1 of 2 chunks are not in their documents word for word"):
        chunks = chunker_by_name("langchain.CharacterTextSplitter:10/0").split([Document("d", text)])
    assert chunks[0] == Chunk("one\n\n\ntwo", id="d#0", doc_id="d")
    assert chunks[1] == Chunk("three", id="d:13-18", doc_id="d", start=13, end=18)


def test_special_tokens_in_a_document_are_text_like_any_other() -> None:
    [chunk] = chunker_by_name("langchain.TokenTextSplitter:50/0").split([Document("d", "before <|endoftext|> after")])
    assert chunk.text == "before <|endoftext|> after"


def test_the_frameworks_lines_for_each_long_chunk_are_kept_back(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        chunks = chunker_by_name("langchain.CharacterTextSplitter:5/0").split([Document("d", "a long line\n\nanother")])
    assert len(chunks) == 2
    assert not caplog.records


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "langchain.RecursiveCharacterTextSplitter:400/40:characters",
            "langchain.RecursiveCharacterTextSplitter:400/40",
        ),
        ("langchain.TokenTextSplitter:400/40:tokens", "langchain.TokenTextSplitter:400/40"),
        ("llama_index.SentenceSplitter:400/40:tokens:cl100k_base", "llama_index.SentenceSplitter:400/40"),
        (
            " llama_index.SentenceSplitter:400/40:tokens:o200k_base ",
            "llama_index.SentenceSplitter:400/40:tokens:o200k_base",
        ),
        ("llama_index.SentenceSplitter:400/40:characters", "llama_index.SentenceSplitter:400/40:characters"),
    ],
)
def test_the_text_form_says_no_more_than_it_must(text: str, shown: str) -> None:
    chunker = chunker_by_name(text)
    assert str(chunker) == shown
    assert chunker_by_name(shown) == chunker


def test_raglifts_own_chunkers_are_read_too() -> None:
    assert chunker_by_name("recursive:1000/100") == RecursiveChunker(1000, 100)
    assert chunker_by_name("token:250/125") == TokenChunker(250, 125)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "langchain.RecursiveTextSplitter:9/1",
            "found 'langchain.RecursiveTextSplitter'; expected one of .*nearest: \"lang",
        ),
        ("llama_index.SentenceSpliter:9/1", 'nearest: "llama_index.SentenceSplitter"'),
        ("llama_index.SentenceWindowNodeParser:9/1", "expected FRAMEWORK.SPLITTER:SIZE/OVERLAP"),
        ("langchain.TextSplitter:9/1", "which is not made of a size and an overlap"),
        ("langchain.SentenceTransformersTokenTextSplitter:9/1", "which is not made of a size and an overlap"),
        ("langchain.RecursiveCharacterTextSplitter", "expected FRAMEWORK.SPLITTER:SIZE/OVERLAP"),
        ("llama_index.MarkdownNodeParser:9/1", "expected FRAMEWORK.SPLITTER:SIZE/OVERLAP"),
        ("langchain.RecursiveCharacterTextSplitter:9/9", "chunk overlap: found 9"),
        ("langchain.RecursiveCharacterTextSplitter:9/1:words", "chunk unit: found 'words'"),
        ("langchain.RecursiveCharacterTextSplitter:9/1:characters:o200k_base", "expected it with tokens"),
        ("langchain.TokenTextSplitter:9/1:characters", "found 'characters' for langchain.TokenTextSplitter"),
        ("haystack.Splitter:9/1", "found 'haystack.Splitter'; expected one of recursive, token"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        chunker_by_name(text)


def test_a_node_parser_without_a_size_takes_none() -> None:
    with pytest.raises(ConfigurationError, match="which cuts where the text says; expected none"):
        FrameworkChunker("llama_index.MarkdownNodeParser", 100, 10)


@pytest.mark.slow
def test_a_splitter_that_fails_is_named_with_the_document() -> None:
    with pytest.raises(ConfigurationError, match=r"failed on the document 'd': .*is the size too small"):
        chunker_by_name("llama_index.SentenceSplitter:1/0").split([Document("d", "🎈 🎈")])


@pytest.mark.parametrize(
    ("module", "text", "extra"),
    [
        ("langchain_text_splitters", "langchain.TokenTextSplitter:9/1", "langchain"),
        ("llama_index.core.node_parser", "llama_index.SentenceSplitter:9/1", "llama-index"),
    ],
)
def test_a_missing_framework_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, text: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependency, match=rf"raglift\[{extra}\]"):
        chunker_by_name(text)
