"""The bundled corpora, and where their texts are on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.datasets.corpora.descriptor import DESCRIPTOR, CorpusText, Descriptor, read_descriptor
from raglift.datasets.documents import read_documents
from raglift.errors import CorpusError, CorpusMissing, DatasetError
from raglift.utilities.cache import cache_folder
from raglift.utilities.limits import is_folder, is_there, resolved, user_path
from raglift.utilities.strict_files import check_encoding, read_bytes
from raglift.utilities.validation import Location, nearest, quoted

if TYPE_CHECKING:
    from raglift.types.documents import Document


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
