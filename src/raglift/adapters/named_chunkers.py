"""Chunkers of LangChain, LlamaIndex and chonkie that cut by structure or by meaning, with the place of every chunk."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.cutters import (
    chonkie_recursive,
    chonkie_semantic,
    chonkie_sentences,
    code,
    html_elements,
    html_headers,
    html_sections,
    langchain_semantic,
    llama_index_semantic,
    markdown_headers,
    markdown_sections,
    sentences,
)
from raglift.adapters.cutting import HTML_SPAN, cut_by, quiet_splitters, warn_of_lost, without_markup
from raglift.adapters.embeddings import is_of_provider
from raglift.base.display import short_repr
from raglift.base.tokens import DEFAULT_ENCODING, load_encoding
from raglift.base.validation import nearest
from raglift.components.chunkers import UNITS, RecursiveChunker, check_sizes
from raglift.components.locating import locate_pieces, overlap_in
from raglift.errors import ConfigurationError
from raglift.records.documents import Chunk, Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from raglift.adapters.cutting import Cutter
    from raglift.components.chunkers import Unit


# The settings that stand in brackets after a name.


@dataclass(frozen=True)
class Setting:
    """A setting of a chunker: how it is read, and what it is unless it is given."""

    read: Callable[[str], Any]
    """Returns the value of a text; raises ValueError for a text that is none."""
    expected: str
    default: Any = None
    """None where it must be given."""


def _between(kind: Callable[[str], Any], least: float, most: float, *, open_ends: bool) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = kind(text)
        if not (least < value < most if open_ends else least <= value <= most):
            raise ValueError(text)
        return value

    return read


def _local_model(text: str) -> str:
    if is_of_provider(text):
        raise ValueError(text)
    return text


def _language(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", text):
        raise ValueError(text)
    return text


_MODEL = Setting(_local_model, "minilm, minilm-static, a folder or a hub id: a model that computes on this machine")
_PERCENTILE = Setting(_between(int, 1, 99, open_ends=False), "an integer from 1 to 99", 95)
_BUFFER = Setting(_between(int, 1, 20, open_ends=False), "an integer from 1 to 20", 1)
_THRESHOLD = Setting(_between(float, 0, 1, open_ends=True), "a number between 0 and 1", 0.8)
_LANGUAGE = Setting(_language, "a programming language in lower case, as python")
_SEMANTIC = {"model": _MODEL, "percentile": _PERCENTILE, "buffer": _BUFFER}


# The kinds.


@dataclass(frozen=True)
class Kind:
    """A kind of chunker: what cuts, and which settings and sizes it takes."""

    cutter: Callable[[NamedChunker], Callable[[str], list[str]]]
    """Returns what cuts a text; raises MissingDependency where the library is not installed."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    needs_size: bool = True
    """Whether the library takes a size. Otherwise one is optional: what is larger is cut again."""
    has_overlap: bool = True
    unit: Unit = "characters"
    """What sizes are counted in unless that is said."""
    is_of_html: bool = False
    """Whether it takes the text out of HTML."""


KINDS: Mapping[str, Kind] = {
    "sentence": Kind(sentences),
    "semantic": Kind(llama_index_semantic, _SEMANTIC, needs_size=False),
    "markdown": Kind(markdown_sections, needs_size=False),
    "html": Kind(html_sections, needs_size=False, is_of_html=True),
    "code": Kind(code, {"language": _LANGUAGE}, has_overlap=False),
    "langchain.SemanticChunker": Kind(langchain_semantic, _SEMANTIC, needs_size=False),
    "langchain.MarkdownHeaderTextSplitter": Kind(markdown_headers, needs_size=False),
    "langchain.HTMLHeaderTextSplitter": Kind(html_headers, needs_size=False, is_of_html=True),
    "langchain.HTMLSectionSplitter": Kind(html_sections, needs_size=False, is_of_html=True),
    "llama_index.SemanticSplitterNodeParser": Kind(llama_index_semantic, _SEMANTIC, needs_size=False),
    "llama_index.HTMLNodeParser": Kind(html_elements, needs_size=False, is_of_html=True),
    "llama_index.CodeSplitter": Kind(code, {"language": _LANGUAGE}, has_overlap=False),
    "chonkie.SentenceChunker": Kind(chonkie_sentences, unit="tokens"),
    "chonkie.RecursiveChunker": Kind(chonkie_recursive, has_overlap=False, unit="tokens"),
    "chonkie.SemanticChunker": Kind(
        chonkie_semantic, {"model": _MODEL, "threshold": _THRESHOLD}, has_overlap=False, unit="tokens"
    ),
}
"""Every kind by its name: the short ones are raglift's choice among the libraries."""

GRAMMAR = (
    "NAME[(SETTING=VALUE,…)][:SIZE[/OVERLAP][:UNIT[:ENCODING]]], as sentence:1000/100, markdown, html:1000, "
    "code(language=python):1500 or semantic(model=minilm,percentile=95)"
)
_FORM = re.compile(
    r"(?P<kind>[^:(+]+?)\s*(?:\((?P<settings>[^()]*)\))?\s*"
    r"(?::(?P<size>-?[0-9]{1,9})(?:/(?P<overlap>-?[0-9]{1,9}))?(?::(?P<unit>[^:]+)(?::(?P<encoding>\w+))?)?)?",
    re.ASCII,
)


# The chunker.


@dataclass(frozen=True)
class NamedChunker:
    """A chunker of LangChain's, LlamaIndex's or chonkie's that cuts by structure or by meaning.

    What the library cuts is located in the document by everything but white space, all chunks of a document together. A
    chunk's text is the document's own at that place, even where the library rewrote the white space. A chunk that the
    document does not have is the library's, without offsets, and a warning counts such chunks. So is the plain text of
    HTML wherever there is markup in between; its place in the markup is in its id and in its metadata, as `html_span`.
    Documents and chunks of white space alone are left out.

    Raises:
        ConfigurationError: an unknown kind or setting, or a size, overlap or unit that the kind cannot have.
    """

    kind: str
    """One of `KINDS`."""
    settings: tuple[tuple[str, Any], ...] = ()
    """Names and values; those that are left out are the defaults."""
    size: int | None = None
    """The most characters or tokens in a chunk; None for chunks of any size."""
    overlap: int = 0
    """The most characters or tokens that neighbours share."""
    unit: Unit | None = None
    """What size and overlap count; by default what the kind counts."""
    encoding: str = DEFAULT_ENCODING
    """The tiktoken encoding that tokens are counted in."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigurationError(f"chunker: found {short_repr(self.kind)}; expected {nearest(self.kind, KINDS)}")
        kind = KINDS[self.kind]
        object.__setattr__(self, "settings", _checked_settings(self.kind, self.settings))
        if self.unit is None:
            object.__setattr__(self, "unit", kind.unit)
        if self.unit not in UNITS:
            raise ConfigurationError(f"chunk unit: found {self.unit!r}; expected one of {', '.join(UNITS)}")
        if self.unit != "tokens" and self.encoding != DEFAULT_ENCODING:
            raise ConfigurationError(
                f"encoding: found {self.encoding!r} for chunks counted in {self.unit}; expected it with tokens"
            )
        if self.size is None:
            if kind.needs_size:
                raise ConfigurationError(f"chunk size: found none for {self.kind}; expected one, as {self.kind}:1000")
            if (self.overlap, self.unit) != (0, kind.unit):
                raise ConfigurationError("chunk overlap: found one without a size; expected both, or neither")
            return
        if self.overlap and not kind.has_overlap:
            raise ConfigurationError(
                f"chunk overlap: found {self.overlap!r} for {self.kind}, whose chunks share nothing; expected none"
            )
        check_sizes(self.size, self.overlap, self.unit)

    def __str__(self) -> str:
        known = KINDS[self.kind].settings
        told = [f"{name}={value}" for name, value in self.settings if value != known[name].default]
        settings = f"({','.join(told)})" if told else ""
        if self.size is None:
            return self.kind + settings
        named = "" if self.encoding == DEFAULT_ENCODING else f":{self.encoding}"
        unit = "" if self.unit == KINDS[self.kind].unit and not named else f":{self.unit}"
        overlap = f"/{self.overlap}" if KINDS[self.kind].has_overlap else ""
        return f"{self.kind}{settings}:{self.size}{overlap}{unit}{named}"

    def setting(self, name: str) -> Any:
        """Return the value of a setting."""
        return dict(self.settings)[name]

    @property
    def model(self) -> str | None:
        """The name of the embedding model that decides where is cut; None if none does."""
        return dict(self.settings).get("model")

    @property
    def count(self) -> Callable[[str], int]:
        """What counts sizes."""
        return load_encoding(self.encoding).count if self.unit == "tokens" else len

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Split each document; chunk ids are the document's id and the chunk's offsets, or else its number.

        Raises:
            MissingDependency: the library is not installed.
            ConfigurationError: the library fails on a document.
        """
        cut = KINDS[self.kind].cutter(self)
        with quiet_splitters():
            chunks = tuple(chunk for document in documents for chunk in self._chunks(document, cut))
        warn_of_lost(self, chunks)
        return chunks

    def _chunks(self, document: Document, cut: Cutter) -> Iterator[Chunk]:
        is_of_html = KINDS[self.kind].is_of_html
        if not (without_markup(document.text) if is_of_html else document.text).strip():
            return
        text, pieces = document.text, cut_by(cut, document, self)
        if is_of_html:
            bounded = [piece[start:end] for piece in pieces for start, end in self._bounded(piece)]
            yield from self._of_html(document, bounded)
            return
        overlap = self.overlap if KINDS[self.kind].needs_size else 0
        spans = locate_pieces(text, pieces, overlap_in(text, overlap, self.count), exact=False)
        previous: tuple[int, int] | None = None
        number = 0
        for piece, span in zip(pieces, spans, strict=True):
            begin, words = (None, piece) if span is None else (span[0], text[slice(*span)])
            for start, end in self._bounded(words):
                if begin is None:
                    yield Chunk(words[start:end], id=f"{document.id}#{number}", doc_id=document.id)
                    number += 1
                elif (begin + start, begin + end) != previous:  # the same place twice in a row is one chunk
                    first, last = previous = begin + start, begin + end
                    chunk_id = f"{document.id}:{first}-{last}"
                    yield Chunk(text[first:last], id=chunk_id, doc_id=document.id, start=first, end=last)

    def _of_html(self, document: Document, pieces: list[str]) -> Iterator[Chunk]:
        """Yield the plain texts that were cut, located among what is left of the document without its markup."""
        shown = without_markup(document.text)
        # the white space in the place of markup is counted too, so pieces may lie farther apart
        reach = overlap_in(shown, 10 * self.overlap, self.count)
        previous: tuple[int, int] | None = None
        spans = locate_pieces(shown, pieces, reach, exact=False)
        for number, (piece, span) in enumerate(zip(pieces, spans, strict=True)):
            if span is None:
                yield Chunk(piece, id=f"{document.id}#{number}", doc_id=document.id)
            elif span != previous:
                start, end = previous = span
                chunk = Chunk(piece, id=f"{document.id}:{start}-{end}", doc_id=document.id)
                if document.text[start:end] == piece:
                    yield replace(chunk, start=start, end=end)
                else:
                    yield replace(chunk, metadata={HTML_SPAN: [start, end]})

    def _bounded(self, words: str) -> Iterable[tuple[int, int]]:
        """Return the spans of a piece: itself, or several where it is larger than the size."""
        if self.size is None or KINDS[self.kind].needs_size or self.count(words) <= self.size:
            return [(0, len(words))]
        assert self.unit is not None  # noqa: S101 — set when it is made
        smaller = RecursiveChunker(self.size, self.overlap, self.unit, encoding=self.encoding)
        return [(chunk.start or 0, chunk.end or 0) for chunk in smaller.split([Document("piece", words)])]


def _checked_settings(kind: str, given: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """Return all settings of a kind in its own order, read and checked."""
    known = KINDS[kind].settings
    found: dict[str, Any] = {}
    for name, value in given:
        if name not in known:
            expected = nearest(name, known) if known else f"none: {kind} has no settings"
            raise ConfigurationError(f"chunker: found the setting {short_repr(name)} of {kind}; expected {expected}")
        if name in found:
            raise ConfigurationError(f"chunker: found the setting {short_repr(name)} twice; expected it once")
        try:
            found[name] = known[name].read(str(value))
        except ValueError:
            raise ConfigurationError(
                f"chunker: found {name}={short_repr(str(value))} of {kind}; expected {known[name].expected}"
            ) from None
    for name, setting in known.items():
        if found.setdefault(name, setting.default) is None:
            raise ConfigurationError(
                f"chunker: found {kind} without its {name}; expected {kind}({name}=…), {setting.expected}"
            )
    return tuple((name, found[name]) for name in known)


def parse_named_chunker(text: str) -> NamedChunker:
    """Read a chunker of `KINDS` from its text form; `parse_named_chunker(str(chunker)) == chunker`.

    Raises:
        ConfigurationError: the text does not have this form, or names something that there is not.
    """
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise ConfigurationError(f"chunker: found {short_repr(text)}; expected {GRAMMAR}")
    settings = []
    for part in filter(None, (part.strip() for part in (form["settings"] or "").split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (equals and value):
            raise ConfigurationError(
                f"chunker: found the setting {short_repr(part)}; expected NAME=VALUE, as {GRAMMAR}"
            )
        settings.append((name, value))
    size = None if form["size"] is None else int(form["size"])
    overlap = int(form["overlap"] or 0)
    encoding = form["encoding"] or DEFAULT_ENCODING
    return NamedChunker(form["kind"], tuple(settings), size, overlap, form["unit"], encoding)  # type: ignore[arg-type]


def kind_of(text: str) -> str:
    """Return the name at the beginning of a chunker's text form."""
    return re.split(r"[:(+]", text.strip(), maxsplit=1)[0].strip()
