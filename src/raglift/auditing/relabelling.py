"""Conversion of the literal texts of a queries file to quote anchors or offsets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from raglift.auditing.labels import Occurrences, find_occurrences
from raglift.datasets.jsonl import read_queries
from raglift.errors import ConfigurationError
from raglift.text.normalization import NormalizedText, normalize, normalize_with_offsets
from raglift.types.anchors import Sources
from raglift.types.labels import Passage
from raglift.utilities.replacing import replacing_file
from raglift.utilities.strict_files import decode_lines, parse_object, read_bytes
from raglift.utilities.validation import Location

if TYPE_CHECKING:
    from raglift.auditing.records import Place
    from raglift.types.documents import Document


Form = Literal["anchors", "offsets"]
FORMS: tuple[Form, ...] = get_args(Form)
"""What literal texts can be moved to."""

_WORDS = 4
_CHARACTERS = 25


@dataclass(frozen=True)
class Left:
    """A literal text that was left as it is."""

    query_id: str
    where: str
    """Which label, such as `relevant[0]`."""
    text: str
    reason: str
    """Why, in words."""


@dataclass(frozen=True)
class Relabelling:
    """The outcome of the literal texts of a queries file."""

    lines: tuple[str, ...]
    """The new file: one JSON object on each line."""
    moved: int
    """How many literal texts are anchors or offsets now."""
    left: tuple[Left, ...]
    """Those that are not."""

    def write(self, path: Path) -> None:
        """Write the new file, all of it or nothing; an existing one is replaced.

        Raises:
            DatasetError: it cannot be written.
        """
        with replacing_file(path) as file:
            file.writelines(line + "\n" for line in self.lines)


@dataclass(frozen=True)
class _Literal:
    """A literal text in a parsed line, and where to put what replaces it."""

    line: int
    query_id: str
    where: str
    holder: list[Any]
    index: int

    @property
    def value(self) -> Any:
        return self.holder[self.index]

    @property
    def passage(self) -> Passage:
        value = self.value
        return Passage(value) if isinstance(value, str) else Passage(value["text"], value.get("doc"))


def relabel(path: Path, documents: Sequence[Document], to: Form = "anchors") -> Relabelling:
    """Move the literal texts of a queries file to quote anchors or offsets.

    A text that occurs exactly once in the documents (in its own, if it names one) is replaced by its location, and what
    replaces it is resolved and compared with that. One that occurs several times or nowhere is left as it is, as is
    everything else: ids, tags, grades, annotators, order, labels in other forms.

    Args:
        path: a queries file, JSON Lines, that `load_dataset` reads with these documents.
        documents: the source texts.
        to: "anchors", `{"doc", "from", "to"}` with the fewest words that resolve to the location; or "offsets",
            `{"doc", "start", "end"}`.

    Raises:
        ConfigurationError: an unknown form, or no documents.
        DatasetError: the file cannot be read; nothing was written.
    """
    if to not in FORMS:
        raise ConfigurationError(f"relabel to: found {to!r}; expected one of {', '.join(map(repr, FORMS))}")
    if not documents:
        raise ConfigurationError("relabel: found no documents; expected those that the labels are about")
    entries = _read(path, documents)
    literals = [literal for number, entry in enumerate(entries) for literal in _literals(number, entry)]
    found_at = find_occurrences([literal.passage for literal in literals], documents, unicode_folding=False)
    quotes = Quotes(documents)
    left = []
    for literal, at in zip(literals, found_at, strict=True):
        reason = _replace(literal, at, quotes, to)
        if reason is not None:
            left.append(Left(literal.query_id, literal.where, literal.passage.text or "", reason))
    lines = tuple(json.dumps(entry, ensure_ascii=False) for entry in entries)
    return Relabelling(lines, len(literals) - len(left), tuple(left))


def _read(path: Path, documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Return the objects of the lines, each of which is a query that can be read."""
    queries, location = read_queries(path, documents), Location(path.name, [])
    lines = decode_lines(read_bytes(path, location) or b"", location)
    entries = (parse_object(line, here) or {} for here, line in lines)
    return [{"id": query.id} | entry for query, entry in zip(queries, entries, strict=True)]


def _literals(line: int, entry: dict[str, Any]) -> Iterator[_Literal]:
    """Yield the literal texts of a query."""
    for field in ("relevant", "passages", "judged_irrelevant"):
        values = entry.get(field, [])
        for number, value in enumerate(values):
            where = f"{field}[{number}]"
            if isinstance(value, list):
                for alternative, inner in enumerate(value):
                    if _is_literal(inner):
                        yield _Literal(line, str(entry["id"]), f"{where}[{alternative}]", value, alternative)
            elif _is_literal(value):
                yield _Literal(line, str(entry["id"]), where, values, number)


def _is_literal(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and "text" in value and "start" not in value)


def _replace(literal: _Literal, at: Occurrences, quotes: Quotes, to: Form) -> str | None:
    """Replace a literal text by its location; return the reason if that is not possible."""
    if at.count != 1:
        return f"it occurs {at}" if at.count else "it occurs nowhere"
    location = at.places[0]
    if normalize(quotes.text(location)) != normalize(literal.passage.text or ""):
        return f"it begins or ends within a character of {location.doc_id}: é may be written as e and an accent"
    new: dict[str, Any] = {"doc": location.doc_id}
    if to == "offsets":
        new |= {"start": location.start, "end": location.end}
    else:
        found = quotes.find(location.doc_id, location.start, location.end)
        if found is None:
            return f"no quotes lead to {location.start} to {location.end} of {location.doc_id}"
        new |= {"from": found[0], "to": found[1]}
    value = literal.value
    if isinstance(value, dict):
        new |= {name: value[name] for name in ("grade", "annotator") if name in value}
    literal.holder[literal.index] = new
    return None


class Quotes:
    """Finds the fewest words at both ends of a span that resolve to it; each document is normalized once."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {document.id: document for document in documents}
        self._sources = Sources(documents)
        self._normalized: dict[str, NormalizedText] = {}

    def text(self, location: Place) -> str:
        """Return the text at a location."""
        return self._documents[location.doc_id].text[location.start : location.end]

    def find(self, doc_id: str, start: int, end: int) -> tuple[str, str] | None:
        """Return the quotes `from` and `to`; None if none resolve exactly to the span."""
        document = self._documents[doc_id]
        if doc_id not in self._normalized:
            self._normalized[doc_id] = normalize_with_offsets(document.text)
        text = self._normalized[doc_id].text
        words = document.text[start:end].split()
        for first in _beginnings(words):
            if not _is_unique(text, normalize(first)):
                continue
            for last in _endings(words):
                if self._sources.find_quote(doc_id, first, last, Location("", [])) == (start, end):
                    return first, last
            return None
        return None


def _beginnings(words: list[str]) -> Iterator[str]:
    """Yield the prefixes that are long enough for a quote, the shortest first; at least the whole text."""
    return (" ".join(words[:count]) for count in range(_fewest(words), len(words) + 1))


def _endings(words: list[str]) -> Iterator[str]:
    """Yield the ends likewise."""
    return (" ".join(words[-count:]) for count in range(_fewest(words[::-1]), len(words) + 1))


def _fewest(words: list[str]) -> int:
    """Return how many of the first words are enough for a quote: four, or fewer that are long; at most all."""
    few = range(1, min(_WORDS, len(words)))
    return next((count for count in few if len(" ".join(words[:count])) >= _CHARACTERS), min(_WORDS, len(words)))


def _is_unique(text: str, quote: str) -> bool:
    first = text.find(quote)
    return first >= 0 and text.find(quote, first + 1) < 0
