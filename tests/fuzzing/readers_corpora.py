"""Corpora: `corpus.toml`, and what it leads to."""

from __future__ import annotations

import json
from pathlib import Path

import raglift as rl
from raglift.datasets.corpora.catalogue import read_corpus
from raglift.datasets.corpora.descriptor import DESCRIPTOR, read_descriptor
from raglift.errors import ConfigurationError, CorpusError, CorpusMissing, DatasetError

from .reader import Reader
from .valid import valid_dataset

__all__ = ["READERS"]

_TEXT = (
    "*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\nIt was a bright day.\n\n*** END OF THE PROJECT GUTENBERG EBOOK"
)
_HEAD = 'title = "Days"\ndescription = "Of days."\nlanguage = "en"\nlicence = "CC0-1.0"\nsources = ["a book"]\n'
_BOOK = """
[text]
doc = "book"
file = "book.txt"
format = "gutenberg"
urls = ["https://example.org/book.txt"]
max_bytes = 1000000
sha256 = "00"
"""


def _described(folder: Path, toml: str) -> None:
    (folder / DESCRIPTOR).write_text(toml, encoding="utf-8")
    entry = {"id": "q1", "query": "What day?", "relevant": [{"doc": "book", "from": "It was", "to": "day."}]}
    (folder / "queries.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")


def _book(folder: Path) -> None:
    _described(folder, _HEAD + _BOOK)
    (folder / "book.txt").write_text(_TEXT, encoding="utf-8")


def _folder(folder: Path) -> None:
    _described(folder, _HEAD + 'documents = "texts"\n')
    (folder / "texts").mkdir()
    (folder / "texts" / "book").with_suffix(".txt").write_text("It was a bright day.", encoding="utf-8")
    entry = {"id": "q1", "query": "What day?", "relevant": [{"doc": "book.txt", "from": "It was", "to": "day."}]}
    (folder / "queries.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")


def _places(folder: Path) -> object:
    """Read a descriptor, and ask for all that is derived from it."""
    corpus = read_corpus(folder)
    return corpus.places, corpus.status, corpus.query_count, read_descriptor(folder / DESCRIPTOR)


_ERRORS = (DatasetError, CorpusError, CorpusMissing, ConfigurationError)

READERS: tuple[Reader, ...] = (
    Reader("corpus.toml", _book, _places, targets=(DESCRIPTOR,)),
    Reader("corpus with a text", _book, rl.load_dataset, _ERRORS, valid_dataset, codecs={"*.txt": "bytes"}),
    Reader("corpus with a folder", _folder, rl.load_dataset, _ERRORS, valid_dataset, codecs={"*.txt": "bytes"}),
)
"""All of the readers here."""
