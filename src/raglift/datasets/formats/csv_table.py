"""CSV: one row for each query and passage, in columns that the user names."""

from __future__ import annotations

import csv
import io
import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raglift.base.strict_files import read_text
from raglift.base.validation import Location, nearest, quoted
from raglift.datasets.documents import read_documents
from raglift.datasets.formats.capabilities import ANY_LABELS
from raglift.datasets.formats.judged_documents import read_grade
from raglift.errors import ConfigurationError
from raglift.records.anchors import Sources
from raglift.records.labels import Passage, Query, distinct_facts
from raglift.records.parsing import read_name, read_passage, read_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Document


COLUMNS = ("id", "query", "fact", "passage", "doc", "page", "start", "end", "chunk", "grade", "tags", "answerable")
"""What a column can hold; only `query` must be there."""
IGNORE = "ignore"
"""What `columns` calls those that are not read."""
_WRITTEN = tuple(name for name in COLUMNS if name != "page")
_DELIMITERS = (",", ";", "\t", "|")
_TAGS = ";"
_MOST_DIGITS = 18
_MOST_CHARACTERS = 131_072  # of the csv module, where the limit is one for the whole process
_ANSWERS = {"": True, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _fits(query: Query, location: Location) -> None:
    for tag in query.tags:
        if _TAGS in tag or tag != tag.strip():
            (location / "tags").fault(quoted(tag), f"a tag without {_TAGS!r} or white space around it")
    passages = [passage for fact in query.facts for passage in fact.passages]
    passages += query.judged_irrelevant
    texts = [text or "" for passage in passages for text in (passage.text, passage.doc_id, passage.chunk_id)]
    for text in (query.id, query.text, *query.tags, *texts):
        if len(text) > _MOST_CHARACTERS or "\0" in text:
            location.fault(f"a text of {len(text):,} characters", f"at most {_MOST_CHARACTERS:,}, and no NUL")


CAPABILITIES = replace(ANY_LABELS, title="CSV", also=_fits)


@dataclass
class _Asked:
    """A query, as its rows tell it one after the other."""

    id: str
    text: str
    location: Location
    facts: dict[str, list[Passage]] = field(default_factory=dict)
    irrelevant: list[Passage] = field(default_factory=list)
    grades: dict[Passage, tuple[int, int | None]] = field(default_factory=dict)
    """The grade of each passage that is no alternative, and its line."""
    tags: tuple[str, ...] = ()
    answerable: bool = True


def read_csv(
    path: Path,
    faults: list[Fault],
    *,
    documents: DocumentSource = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    delimiter: str | None = None,
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries of a table with a first row of names.

    Rows with one id (or, without ids, one question) are one query. Each row is a fact; rows with the same entry in the
    `fact` column are alternatives of one. A row's passage is its `passage` (a text), in `doc` if there is one; `doc`,
    `start` and `end` (a span); `doc` and `page` (all of the page); `doc` alone (all of the document); or `chunk` (a
    chunk id). A row with none of them leaves its query as it is. A `grade` of 0 or less is judged irrelevant. Tags are
    separated by semicolons. A row that says the same as another is not counted again.

    A column that is none of `COLUMNS`, and not ignored, is a fault: what it holds may be the labels.

    Args:
        path: the file.
        faults: where what is wrong is noted.
        documents: the source texts that `doc` refers to.
        columns: the names of the file's columns for some of `COLUMNS`, as `{"query": "Question"}`; for the others, the
            columns of these names. `ignore` is one or several that are not read.
        delimiter: the column separator; by default the comma, semicolon, tab or bar with which the first row has the
            columns.

    Raises:
        ConfigurationError: `columns` names something else than `COLUMNS`, or the delimiter is not one character.
    """
    for name, column in (columns or {}).items():
        if name not in (*COLUMNS, IGNORE):
            raise ConfigurationError(f"columns: found {name!r}; expected {nearest(name, (*COLUMNS, IGNORE))}")
        if not isinstance(column, str) and name != IGNORE:
            raise ConfigurationError(f"columns: found {column!r} for {name!r}; expected the name of one column")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise ConfigurationError(f"delimiter: found {delimiter!r}; expected one character, as ',' or ';'")
    location = Location(path.name, faults)
    given = read_documents(documents)
    text = read_text(path, location)
    if text is None:
        return (), given
    reader = _Reader(given, columns, location)
    chosen = delimiter or max(_DELIMITERS, key=lambda candidate: reader.score(_header(text, candidate)))
    for number, (here, row) in enumerate(_rows(text, chosen, location)):
        if number == 0:
            reader.read_header(row, here)
            if faults:
                break
        else:
            reader.read_row(row, here)
    return reader.queries(), given


def _rows(text: str, delimiter: str, location: Location) -> Iterator[tuple[Location, list[str]]]:
    """Yield each row that is not blank, with the line that it begins on."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                yield location.at_line(line), row
            line = rows.line_num + 1
    except csv.Error as error:
        location.at_line(line).fault(f"a row that is no CSV ({error})", "rows of cells, with quotation marks doubled")


def _by_convert(name: str, *columns: str) -> str:
    """Return how columns are named on the command line."""
    options = (f"--column {shlex.quote(f'{name}={column}')}" for column in columns or ("…",))
    return f", or raglift labels convert {' '.join(options)}"


def _header(text: str, delimiter: str) -> list[str]:
    unseen: list[Fault] = []
    return next((row for _, row in _rows(text, delimiter, Location("", unseen))), [])


class _Reader:
    """Puts rows together to queries."""

    def __init__(
        self,
        documents: tuple[Document, ...],
        columns: Mapping[str, str | Sequence[str]] | None,
        location: Location,
    ) -> None:
        self._documents = {document.id: document for document in documents}
        self._sources = Sources(documents)
        given = dict(columns or {})
        ignored = given.pop(IGNORE, ())
        self._ignored = (ignored,) if isinstance(ignored, str) else tuple(ignored)
        self._columns = {name: str(column) for name, column in given.items()}
        self._place = location
        self._cells: dict[str, int] = {}
        self._width = 0
        self._unnamed: list[int] = []
        self._asked: dict[str, _Asked] = {}

    def score(self, header: list[str]) -> tuple[int, int]:
        """Return how many of the wanted columns a header has, and how many it has at all."""
        wanted = {*COLUMNS, *self._ignored, *self._columns.values()}
        return sum(name in wanted for name in header), len(header)

    def read_header(self, header: list[str], location: Location) -> None:
        """Find the columns."""
        taken = {*self._ignored, *self._columns.values()}
        found = {name: name for name in COLUMNS if name in header and name not in taken}
        named = found | self._columns
        for name in header:
            if header.count(name) > 1 and name in named.values():
                location.fault(f"the column {quoted(name)} twice", "one column of each name")
        for name, column in named.items():
            if column not in header:
                location.fault(
                    f"no column {quoted(column)}",
                    f"{nearest(column, header)} (columns={{{name!r}: …}}{_by_convert(name)})",
                )
        if "query" not in named:
            expected = (
                f"one that holds the questions: columns={{'query': {nearest('query', header)}}}{_by_convert('query')}"
            )
            location.fault("no column 'query'", expected)
        known = (*named.values(), *self._ignored)
        unknown = [column for column in dict.fromkeys(header) if column.strip() and column not in known]
        every = unknown[0] if len(unknown) == 1 else unknown
        for column in unknown:
            expected = nearest(column, COLUMNS)
            if column == unknown[-1]:  # once, for all of them
                unread = "to leave it unread" if len(unknown) == 1 else f"to leave all {len(unknown)} unread"
                expected += f"; {unread}: columns={{'{IGNORE}': {every!r}}}{_by_convert(IGNORE, *unknown)}"
            location.fault(f"an unknown column {quoted(column)}", expected)
        # Spreadsheets end their rows with cells of no column: they must be empty
        self._unnamed = [
            index for index, column in enumerate(header) if not column.strip() and column not in self._ignored
        ]
        self._cells = {name: header.index(column) for name, column in named.items() if column in header}
        self._width = len(header)

    def read_row(self, row: list[str], location: Location) -> None:
        """Add what a row says to its query."""
        if len(row) != self._width:
            location.fault(f"{len(row)} cells", f"{self._width}, as in the first row")
            return
        for index in self._unnamed:
            if row[index].strip():
                expected = f"a name in the first row, or an empty cell; to leave it unread: columns={{'{IGNORE}': ''}}"
                location.fault(f"{quoted(row[index])} in column {index + 1}, which has no name", expected)
        cells = {name: row[index] for name, index in self._cells.items()}
        text = read_string(cells["query"], location / "query")
        query_id = read_name(cells["id"], location / "id") if "id" in cells else text
        if text is None or query_id is None:
            return
        new = _Asked(query_id if "id" in cells else f"q{len(self._asked) + 1}", text, location)
        new.tags = tuple(tag.strip() for tag in cells.get("tags", "").split(_TAGS) if tag.strip())
        answer = cells.get("answerable", "").strip().lower()
        if answer not in _ANSWERS:
            (location / "answerable").fault(quoted(answer), "true or false")
        new.answerable = _ANSWERS.get(answer, True)
        asked = self._asked.setdefault(query_id, new)
        self._check_same(asked, new, location)
        self._read_passage(asked, cells, location)

    def _check_same(self, asked: _Asked, row: _Asked, location: Location) -> None:
        for name in ("text", "tags", "answerable"):
            if getattr(asked, name) != getattr(row, name):
                where = location / ("query" if name == "text" else name)
                where.fault(
                    f"another entry than in line {asked.location.line} for {quoted(asked.id)}", "the same entry"
                )

    def _read_passage(self, asked: _Asked, cells: Mapping[str, str], location: Location) -> None:
        given = cells.get("grade", "").strip()
        grade = read_grade(given, location / "grade") if given else 1
        passage = self._passage(cells, location)
        if passage is None or grade is None:
            return
        fact = cells.get("fact", "").strip()
        if not fact:
            first, line = asked.grades.setdefault(passage, (grade, location.line))
            if first != grade:
                found = f"{grade}, for a passage that has {first} in line {line}"
                (location / "grade").fault(found, "one grade for each query and passage")
        passage = replace(passage, grade=grade)
        if grade == 0:
            asked.irrelevant.append(passage)
            return
        if not asked.answerable:
            (location / "answerable").fault("false, and a passage", "only one of the two")
        asked.facts.setdefault(fact or f" {location.line}", []).append(passage)

    def _passage(self, cells: Mapping[str, str], location: Location) -> Passage | None:
        """Return the passage of a row; None when there is none, or a fault."""
        filled = {name for name in ("passage", "doc", "start", "end", "chunk") if cells.get(name, "").strip()}
        if not filled:
            return None
        text, doc_id = cells.get("passage", ""), cells.get("doc", "")
        if filled == {"doc"}:
            return self._document_or_page(doc_id, cells.get("page", "").strip(), location)
        if "start" in filled or "end" in filled:
            return self._span(cells, filled, location)
        names = {"passage": "text", "chunk": "chunk", "doc": "doc"}
        value = {names[name]: cells[name] for name in filled}
        if value.keys() not in ({"text"}, {"text", "doc"}, {"chunk"}):
            location.fault(f"entries for {', '.join(sorted(filled))}", "a passage, with its doc or without, or a chunk")
            return None
        return read_passage(text if value.keys() == {"text"} else value, location, self._sources, range(1, 2))

    def _document_or_page(self, doc_id: str, page: str, location: Location) -> Passage | None:
        if not page:
            return read_passage({"doc": doc_id}, location, self._sources, range(1, 2))
        if not (page.isascii() and page.isdigit() and len(page) <= _MOST_DIGITS):
            (location / "page").fault(quoted(page), "an integer: which page of the file, the first is 1")
            return None
        return read_passage({"doc": doc_id, "page": int(page)}, location, self._sources, range(1, 2))

    def _span(self, cells: Mapping[str, str], filled: set[str], location: Location) -> Passage | None:
        if not {"doc", "start", "end"} <= filled or "chunk" in filled:
            location.fault(f"entries for {', '.join(sorted(filled))}", "a span: doc, start and end")
            return None
        offsets = []
        for bound in ("start", "end"):
            cell = cells[bound].strip()
            if not (cell.isascii() and cell.isdigit() and len(cell) <= _MOST_DIGITS):
                (location / bound).fault(quoted(cell), "a character offset: an integer, 0 or more")
            else:
                offsets.append(int(cell))
        if len(offsets) < 2:
            return None
        start, end = offsets
        span: dict[str, str | int] = {"doc": cells["doc"], "start": start, "end": end}
        if not self._documents and "passage" in filled:
            span["text"] = cells["passage"]
        passage = read_passage(span, location, self._sources, range(1, 2))
        if passage is not None and "passage" in filled and passage.text != cells["passage"]:
            found = f"another text than the document's at {start} to {end}"
            (location / "passage").fault(found, quoted(passage.text))
            return None
        return passage

    def queries(self) -> tuple[Query, ...]:
        """Return the queries, in the order of their first rows."""
        self._sources.note_missing_documents()
        return tuple(
            Query(
                asked.id,
                asked.text,
                distinct_facts(tuple(passages) for passages in asked.facts.values()),
                asked.tags,
                asked.answerable,
                tuple(dict.fromkeys(asked.irrelevant)),
            )
            for asked in self._asked.values()
        )


def write_csv(dataset: Dataset, path: Path) -> None:
    """Write a table with all of `COLUMNS` but `page`, which is written as a span; the documents are not in it.

    Args:
        dataset: what fits `CAPABILITIES`.
        path: the file.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        # a cell is quoted for what ends a line, and only for that: so both a \r and a \n are safe
        table = csv.writer(file, lineterminator="\r\n", strict=True)
        table.writerow(_WRITTEN)
        for query in dataset.queries:
            rows: list[tuple[str, Passage | None]] = [
                (str(number), passage) for number, fact in enumerate(query.facts, start=1) for passage in fact.passages
            ]
            rows += [("", passage) for passage in query.judged_irrelevant]
            for fact, passage in rows or [("", None)]:
                table.writerow(_cells(query, fact, passage))


def _cells(query: Query, fact: str, passage: Passage | None) -> list[object]:
    location = (
        ("", "", "", "", "", "")
        if passage is None
        else (passage.text, passage.doc_id, passage.start, passage.end, passage.chunk_id, passage.grade)
    )
    return [query.id, query.text, fact, *location, _TAGS.join(query.tags), "true" if query.answerable else "false"]
