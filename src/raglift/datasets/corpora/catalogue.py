"""The bundled corpora: what `corpus.toml` says of each, which addresses it may name, and where its text is."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from raglift.datasets.documents import read_documents
from raglift.errors import CorpusError, CorpusMissing, DatasetError, Fault
from raglift.types.documents import Document
from raglift.utilities.cache import cache_folder
from raglift.utilities.limits import is_folder, is_there, resolved, user_path
from raglift.utilities.strict_files import check_encoding, decode_document, decode_text, read_bytes
from raglift.utilities.validation import Expected, Location, faults_of, nearest, path_text, quoted, shown

# Which addresses raglift downloads from.


_THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


def is_allowed(url: str, *, came_from: str | None = None) -> bool:
    """Return whether a download may go there: over https, or over http to this machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    from_here = came_from is None or urlsplit(came_from).hostname in _THIS_MACHINE
    return parts.scheme == "http" and parts.hostname in _THIS_MACHINE and from_here


# Project Gutenberg's header and licence, which are not part of the book. The header ends after the line START; the
# footer begins with whichever closing formula comes first near the end. A text that has neither is left as it is.


_HEADER_LINES = 200
_FOOTER_LINES = 600

_BOOK = r"e-?(?:book|text)"
_START = re.compile(rf"\s*\*\*\* ?start of (?:this|the) project gutenberg {_BOOK}\b", re.IGNORECASE)
_END = re.compile(
    rf"\s*(?:\*\*\* ?end of (?:this|the) project gutenberg {_BOOK}\b"
    rf"|end of (?:this |the )?project gutenberg(?:[’']s)?(?:-tm|™)? (?:{_BOOK}\b|.*, by\b)"
    r"|\*\*\* ?start: full license \*\*\*)",
    re.IGNORECASE,
)
_PRODUCED = re.compile(rf"(?:produced|{_BOOK} prepared) by\b", re.IGNORECASE)


def strip_gutenberg(text: str) -> str:
    """Return the book without Project Gutenberg's header and licence, and without blank lines around it."""
    lines = text.split("\n")
    begin = _header_end(lines)
    end = _footer_start(lines, begin)
    if (begin, end) == (0, len(lines)):
        return text
    book = lines[_skip_credits(lines, begin) : end] if begin else lines[:end]
    while book and not book[0].strip():
        del book[0]
    while book and not book[-1].strip():
        del book[-1]
    return "\n".join(book)


def _header_end(lines: list[str]) -> int:
    """Return the first line after the header: 0 without one."""
    for index, line in enumerate(lines[:_HEADER_LINES]):
        if _START.match(line):
            # a long title wraps
            return index + 1 if line.rstrip().endswith("***") else _paragraph_end(lines, index)
    return 0


def _footer_start(lines: list[str], begin: int) -> int:
    """Return the first line of the footer: the number of lines without one."""
    for index in range(max(begin, len(lines) - _FOOTER_LINES), len(lines)):
        if _END.match(lines[index]):
            return index
    return len(lines)


def _skip_credits(lines: list[str], begin: int) -> int:
    """Return the first line after a paragraph of credits, if one follows the header."""
    for index in range(begin, len(lines)):
        if lines[index].strip():
            return _paragraph_end(lines, index) if _PRODUCED.match(lines[index]) else begin
    return begin


def _paragraph_end(lines: list[str], begin: int) -> int:
    """Return the blank line after a paragraph: a field may wrap."""
    for index in range(begin, len(lines)):
        if not lines[index].strip():
            return index
    return len(lines)


# The descriptor of a corpus, `corpus.toml`, read strictly.


DESCRIPTOR = "corpus.toml"
_FILE_NAME = re.compile(r"[\w-][\w. -]*")


_Words = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True), Expected("a text that is not empty")]
_Several = Annotated[tuple[_Words, ...], Field(min_length=1)]


class CorpusText(BaseModel):
    """A text that a corpus does not bring along: what it is, and where it can be had."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    doc: _Words
    """The id of the document that it becomes."""
    file: _Words
    """The name of the file on this machine."""
    format: Literal["gutenberg", "plain"]
    """`gutenberg` (header and licence are stripped) or `plain`."""
    urls: _Several
    """Where to download it; tried in turn."""
    max_bytes: Annotated[int, Field(strict=True, gt=0), Expected("an integer above 0")]
    """A download that is larger is not this text."""
    sha256: str | None = None
    """Of an edition that is known to work: a record, not a condition. The labels judge an edition."""

    def parse(self, data: bytes, location: Location, *, encoding: str | None = None) -> Document | None:
        """Return the document in the bytes of a file; None, and a fault, when they are not text.

        Args:
            data: the file.
            location: the file, for the fault.
            encoding: of a text that is not in UTF-8 and has no byte-order mark.
        """
        text = decode_document(data, location, encoding)
        if text is None:
            return None
        return Document(self.doc, strip_gutenberg(text) if self.format == "gutenberg" else text)


class Descriptor(BaseModel):
    """The fields of a `corpus.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: _Words
    """For people."""
    description: _Words
    """What it is good for, in a sentence or two."""
    language: _Words
    """Of the text and the queries: a BCP 47 tag."""
    licence: _Words
    """An SPDX expression, or a sentence."""
    sources: _Several
    """Where it comes from: addresses, or words."""
    documents: str | None = None
    """The folder of its documents, when it brings them along."""
    text: CorpusText | None = None
    """Its text, when it does not."""


def read_descriptor(path: Path) -> Descriptor:
    """Return what a `corpus.toml` says."""
    faults: list[Fault] = []
    location = Location(path.name, faults)
    data = read_bytes(path, location)
    text = None if data is None else decode_text(data, location)
    form = TypeAdapter(Descriptor)
    descriptor = None
    try:
        if text is not None:
            descriptor = form.validate_python(tomllib.loads(text))
    except ValidationError as error:
        for finding in faults_of(error, form, yaml=True):
            where = path_text(finding.keys)
            (location / where if where else location).fault(finding.found, finding.expected)
    except (ValueError, RecursionError) as error:  # also an integer of thousands of digits
        location.fault(f"no valid TOML ({error})", "TOML")
    if descriptor is not None:
        _check(descriptor, location)
    if descriptor is None or faults:
        raise DatasetError(str(path), faults)
    return descriptor


def _check(descriptor: Descriptor, location: Location) -> None:
    """Note what a corpus must not name: a file out of its own folder, or an address that is not https."""
    text = descriptor.text
    if (descriptor.documents is None) == (text is None):
        found = "documents and [text]" if text else "neither documents nor [text]"
        location.fault(found, "one of the two: a folder of documents, or a text to download")
    for where, name in (("documents", descriptor.documents), ("text.file", None if text is None else text.file)):
        if name is not None and not _FILE_NAME.fullmatch(name):
            (location / where).fault(shown(name), "a name in the folder of the corpus, without any path")
    for index, url in enumerate(text.urls if text else ()):
        if not is_allowed(url):
            (location / "text.urls" / index).fault(shown(url), "an https:// address")


QUERIES = "queries.jsonl"
_PACKAGE = Path(__file__).parents[2]


@dataclass(frozen=True)
class Corpus:
    """A labelled query set, and its documents or the way to them."""

    name: str
    """The name of its folder."""
    folder: Path
    """Where its labels are."""
    descriptor: Descriptor
    """What its `corpus.toml` says."""

    @property
    def text(self) -> CorpusText | None:
        """The text that it does not bring along; None when it has a folder of documents."""
        return self.descriptor.text

    @property
    def queries_path(self) -> Path:
        """The file with its queries and labels."""
        return self.folder / QUERIES

    @cached_property
    def query_count(self) -> int:
        """How many queries it has: the lines of its queries file that are not blank."""
        try:
            return sum(bool(line.strip()) for line in self.queries_path.read_bytes().splitlines())
        except OSError:
            return 0

    def text_to_fetch(self) -> tuple[CorpusText, Path]:
        """Return the text that can be downloaded, and where `fetch` puts it.

        Raises:
            CorpusError: the corpus brings its documents along.
        """
        if self.text is None:
            raise CorpusError(f"corpus {self.name!r} has nothing to fetch: its documents are in {self.folder}")
        return self.text, cache_folder() / "corpora" / self.name / self.text.file

    @property
    def places(self) -> tuple[Path, ...]:
        """Where its text, or its folder of documents, is looked for; the first that exists is taken."""
        if self.text is None:
            return (self.folder / str(self.descriptor.documents),)
        named = os.environ.get("RAGLIFT_CORPORA")
        first = (user_path(named) / self.name / self.text.file,) if named else ()
        return (*first, self.text_to_fetch()[1], self.folder / self.text.file)

    @property
    def path(self) -> Path | None:
        """Where its text, or its folder of documents, is on this machine; None when it is not there."""
        return next((location for location in self.places if is_there(location)), None)

    @property
    def status(self) -> str:
        """Whether its documents are on this machine, in words."""
        return f"present: {self.path}" if self.path else f"missing: raglift corpus fetch {self.name}"

    def documents(self, path: Path | None = None, *, encoding: str | None = None) -> tuple[Document, ...]:
        """Return its documents, without what the publisher added to them.

        Args:
            path: a file to read its text from, in place of the one that is looked for.
            encoding: of a text that is not in UTF-8 and has no byte-order mark, as `cp1252`.

        Raises:
            ConfigurationError: no such encoding.
            CorpusMissing: they are not on this machine.
            DatasetError: they are there and cannot be read.
        """
        path = path or self.path
        if path is None:
            places = "\n".join(f"  {location}" for location in self.places)
            how = (
                ""
                if self.text is None
                else (
                    f"\nget it with: raglift corpus fetch {self.name}\n"
                    f"or, if you have it, set RAGLIFT_CORPORA to a folder that holds {self.name}/{self.text.file}"
                )
            )
            raise CorpusMissing(f"the text of corpus {self.name!r} is not on this machine; looked for:\n{places}{how}")
        if self.text is None:
            return read_documents(path, encoding=encoding)
        location = Location(path.name, [])
        data = read_bytes(path, location)
        document = None if data is None else self.text.parse(data, location, encoding=check_encoding(encoding))
        if document is None:
            raise DatasetError(str(path), location.faults)
        return (document,)


def read_corpus(folder: Path) -> Corpus:
    """Return the corpus in a folder that holds a `corpus.toml`.

    Args:
        folder: the folder; its name is the name of the corpus.

    Raises:
        DatasetError: `corpus.toml` is missing or malformed.
    """
    return Corpus(resolved(folder).name, folder, read_descriptor(folder / DESCRIPTOR))


def known_corpora() -> tuple[Corpus, ...]:
    """Return the corpora that come with raglift, by name.

    Raises:
        DatasetError: a `corpus.toml` is malformed.
    """
    return tuple(read_corpus(path.parent) for path in sorted(_bundled().glob(f"*/{DESCRIPTOR}")))


def find_corpus(name: str) -> Corpus:
    """Return a corpus that comes with raglift.

    Args:
        name: its name.

    Raises:
        CorpusError: there is none of that name; the message lists those there are.
    """
    by_name = {corpus.name: corpus for corpus in known_corpora()}
    if name not in by_name:
        raise CorpusError(f"unknown corpus {quoted(name)}; expected {nearest(name, by_name)}")
    return by_name[name]


def _bundled() -> Path:
    """Return the folder of the corpora: inside the package in a wheel, else next to `src` in a checkout."""
    inside = _PACKAGE / "_corpora"
    return inside if is_folder(inside) else _PACKAGE.parents[1] / "corpora"
