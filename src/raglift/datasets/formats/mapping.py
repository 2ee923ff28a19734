"""Labels from rows: which value of a row is the question, what answers it, and which rows count."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from raglift.datasets.formats.judged_documents import read_grade
from raglift.errors import ConfigurationError, LabelWarning
from raglift.types.anchors import Sources
from raglift.types.documents import Document
from raglift.types.labels import Passage, Query, distinct_facts
from raglift.types.parsing import read_characters, read_id, read_name, read_passage, read_string
from raglift.utilities.strict_files import parse_list_or_object
from raglift.utilities.validation import Location, nearest, quoted, shown

if TYPE_CHECKING:
    from raglift.datasets.formats.rows import Row

JSON, LITERAL = "json", "literal"
"""Decodings of a cell besides separators: JSON, and a literal as Python writes it."""
FIELDS = (
    *("question", "id", "passage", "doc", "page", "start", "end", "chunk", "fact", "grade", "tags"),
    *("answerable", "unanswerable", "document", "title"),
)
"""What a value of a row can be."""
IGNORE = "ignore"
"""What `columns` calls those that are not read."""
TEXT_FIELDS = ("page_content", "pageContent", "content", "text")
"""What the text of a document is called if documents are objects."""
_EVIDENCE = re.compile(r"(reference )?contexts?|evidences?|excerpts?|quotes?|source texts?")
"""What other tables call passages; their “ground truth” and “reference” are answers, which are no labels."""
_DEEPEST = 4
_BEGUN = re.compile(r"""\s*\[\s*["'\[{]""")
"""How a list begins whose end is missing: a spreadsheet cuts a cell at 32,767 characters."""
_MOST_DIGITS = 18
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class RowMapping:
    """Where the rows of a file have what labels consist of."""

    title: str
    """What people call the format."""
    paths: Mapping[str, tuple[str, ...]]
    """For some of `FIELDS` the paths of the value, `outputs.contexts`; the first that a row has counts."""
    decode: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """How the cells of a field are decoded: `json`, `literal`, or a separator between values."""
    where: tuple[str, ...] = ()
    """Which rows count: `split=test`, `status!=ARCHIVED`."""
    root: str | None = None
    """Where the rows are; see `read_rows`."""
    fields: tuple[frozenset[str], ...] = ()
    """The fields by which rows of a preset are recognized: they have all of one of these sets."""
    prefix: str = ""
    """A pattern of what may stand before a passage and is no part of it."""
    alternatives: bool = False
    """Whether the passages of a row are alternatives of one fact; else each is a fact."""
    is_preset: bool = True
    """Whether rows may have other fields, each row is a query, and texts come before ids of chunks."""


OWN = RowMapping("rows", {name: (name,) for name in FIELDS} | {"question": ("question", "query")}, is_preset=False)
"""Columns that have the names of `FIELDS`."""


def customized(
    base: RowMapping,
    columns: Mapping[str, str | Sequence[str]] | None,
    decode: Mapping[str, str] | None,
    where: str | Sequence[str],
    root: str | None,
) -> RowMapping:
    """Return a mapping with what a user gives in place of its own."""
    for name, given in (("columns", columns), ("decode", decode)):
        known = (*FIELDS, IGNORE) if name == "columns" else FIELDS
        for key in given or {}:
            if key not in known:
                raise ConfigurationError(f"{name}: found {key!r}; expected {nearest(key, known)}")
    filters = (where,) if isinstance(where, str) else tuple(where)
    for each in filters:
        if "=" not in each:
            raise ConfigurationError(f"where: found {each!r}; expected a comparison, as 'split=test' or 'split!=test'")
    for key, value in (decode or {}).items():
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"decode: found {value!r} for {key!r}; expected 'json', 'literal' or a separator")
    given_paths = {
        name: (paths,) if isinstance(paths, str) else tuple(paths)
        for name, paths in (columns or {}).items()
        if name != IGNORE
    }
    taken = {path for paths in given_paths.values() for path in paths}
    paths = base.paths
    if not base.is_preset:  # a column that is named as something else, or ignored, is no longer what it is called
        taken |= set(ignored(columns))
        paths = {name: tuple(path for path in own if path not in taken) for name, own in base.paths.items()}
    return replace(
        base,
        paths={**paths, **given_paths},
        decode={**base.decode, **{name: (value,) for name, value in (decode or {}).items()}},
        where=(*base.where, *filters),
        root=root or base.root,
    )


def ignored(columns: Mapping[str, str | Sequence[str]] | None) -> tuple[str, ...]:
    """Return the columns that are not read."""
    given = (columns or {}).get(IGNORE, ())
    return (given,) if isinstance(given, str) else tuple(given)


def _passes(row: Row, condition: str) -> bool:
    path, _, wanted = condition.partition("=")
    found = at_path(row, path.removesuffix("!"))
    value = None if found is None or found.is_list else found.items[0].value
    text = str(value).lower() if isinstance(value, bool) else str("" if value is None else value)
    return (text == wanted) != path.endswith("!")


@dataclass
class _Asked:
    """A query, as its rows have it one after the other."""

    id: str
    text: str
    location: Location
    tags: tuple[str, ...] = ()
    answerable: bool = True
    facts: dict[object, list[Passage]] = field(default_factory=dict)
    irrelevant: list[Passage] = field(default_factory=list)
    grades: dict[Passage, tuple[int, Location]] = field(default_factory=dict)


def read_labels(
    rows: Iterable[Row],
    mapping: RowMapping,
    location: Location,
    documents: tuple[Document, ...] = (),
    *,
    ignore: Sequence[str] = (),
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries of rows, and their documents.

    Rows with one id (or, without ids, one question) are one query. A passage is a `passage` (a text, or a list of
    them), in `doc` if there is one; `doc`, `start` and `end` (a span; without an end, of the passage's length); `doc`
    and `page`; `doc` alone; or a `chunk`. Each is a fact; those with the same entry of `fact` are alternatives of one.
    A grade of 0 or less is judged irrelevant. What a row repeats is not counted again.

    Warns:
        LabelWarning: how many rows the filter left out.
    """
    reader = _Reader(mapping, location, documents, frozenset(ignore))
    chosen = list(reader.chosen(rows))
    return reader.queries(chosen), reader.documents


class _Reader:
    """Puts rows together to queries."""

    def __init__(
        self, mapping: RowMapping, location: Location, documents: tuple[Document, ...], ignore: frozenset[str]
    ) -> None:
        self._mapping = mapping
        self._location = location
        self._documents = {document.id: document for document in documents}
        self._own_ids: dict[tuple[str | None, str], str] = {}
        self._titles: Counter[str | None] = Counter()
        self._ignore = ignore
        self._asked: dict[str, _Asked] = {}
        self._unknown: dict[str, None] = {}

    @property
    def documents(self) -> tuple[Document, ...]:
        return tuple(self._documents.values())

    def chosen(self, rows: Iterable[Row]) -> Iterator[tuple[Row, str | None]]:
        """Yield the rows that count, each with the id of its own document."""
        total = left_out = 0
        missing: set[str] = set()
        if not self._mapping.is_preset:
            missing = {name for name, paths in self._mapping.paths.items() if not set(paths) <= set(OWN.paths[name])}
        for row in rows:
            total += 1
            missing -= {name for name in missing if any(at_path(row, path) for path in self._mapping.paths[name])}
            if not self._mapping.is_preset and not self._has_known_columns(row, is_first=total == 1):
                return
            if all(_passes(row, condition) for condition in self._mapping.where):
                yield row, self._own_document(row)
            else:
                left_out += 1
        for name in sorted(missing) if total else ():
            paths = " or ".join(map(quoted, self._mapping.paths[name]))
            self._location.fault(f"no row with {paths}", f"the path of {name} in some row")
        if left_out:
            conditions = " and ".join(self._mapping.where)
            warnings.warn(
                f"{self._location.file}: {left_out:,} of {total:,} rows left out by the filter {conditions}",
                LabelWarning,
                stacklevel=2,
            )

    def _has_known_columns(self, row: Row, *, is_first: bool) -> bool:
        """Note columns that nothing is said of, and a table without questions; whether to read on."""
        location = row.header or row.location
        if row.header is not None and not is_first:
            return True
        paths = [path for paths in self._mapping.paths.values() for path in paths]
        known = {*paths, *(path.partition(".")[0] for path in paths), *self._ignore}
        names = [name for name in row.values if name not in self._unknown]
        unknown = [name for name in names if name not in known]
        self._unknown.update(dict.fromkeys(unknown))
        faults = len(location.faults)
        for name in unknown:
            hint = f"; to leave it unread: {how('columns', IGNORE, name)}" if name == unknown[-1] else ""
            location.fault(f"an unknown column {quoted(name)}", f"{_expected(name)}{hint}")
        if row.header is not None and not any(at_path(row, path) for path in self._mapping.paths["question"]):
            first = next(iter(row.values), "…")
            wanted = next(iter(self._mapping.paths["question"]), "question")
            location.fault(f"no column {wanted!r}", f"one with the questions: {how('columns', 'question', first)}")
        return row.header is None or len(location.faults) == faults

    def _own_document(self, row: Row) -> str | None:
        """Return the id of the document that a row brings; None if it brings none."""
        paths = self._mapping.paths.get("document", ())
        text = self._one(row, "document", blank=True)
        if text is None:
            if paths and self._mapping.is_preset:
                (row.location / paths[0]).fault("no such field", "the text of a document")
            return None
        named, title = self._one(row, "doc"), self._one(row, "title")
        content = read_characters(*text)
        doc_id = None if named is None else read_id(*named)
        if content is None or (named is not None and doc_id is None):
            return None
        heading = None if title is None or not isinstance(title.value, str) else title.value
        if doc_id is None:
            if (heading, content) not in self._own_ids:
                self._own_ids[heading, content] = f"{heading or 'document'}/{self._titles[heading]}"
                self._titles[heading] += 1
            doc_id = self._own_ids[heading, content]
        document = Document(doc_id, content, {} if heading is None else {"title": heading})
        if self._documents.setdefault(doc_id, document) != document:
            text.location.fault(f"another text for the document {quoted(doc_id)}", "one text for each id")
        return doc_id

    def queries(self, rows: Iterable[tuple[Row, str | None]]) -> tuple[Query, ...]:
        """Return the queries, in the order of their first rows."""
        sources = Sources(self.documents)
        has_passages = False
        for row, own in rows:
            asked = self._query_of(row, own)
            found = self._passages_of(row, own, sources)
            has_passages |= found is not None
            if asked is not None:
                for group, passage, here in found or ():
                    self._add(asked, row, group, passage, here)
        if self._mapping.is_preset and self._asked and not has_passages and not self._location.faults:
            paths = (*self._mapping.paths.get("passage", ()), *self._mapping.paths.get("chunk", ()))
            expected = f"texts in {', '.join(paths)}; or their path named: {how('columns', 'passage')}"
            self._location.fault("no field with texts in any row", expected)
        sources.note_missing_documents()
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

    def _query_of(self, row: Row, own: str | None) -> _Asked | None:
        """Return the query of a row, a new one if the row is the first of it; None, and a fault, without one."""
        text = self._question(row, may_be_missing=own is not None)
        named = self._one(row, "id")
        key = None if named is None else read_id(*named)
        if text is None or (named is not None and key is None):
            return None
        empty = self._one(row, "id", blank=True) if named is None else None
        if empty is not None and (empty.value is not None or not self._mapping.is_preset):
            empty.location.fault("an empty text", "an id in each row, or in none")
            return None
        number = f"q{len(self._asked) + 1}"
        new = _Asked(key or number, text, row.location, self._tags(row), self._is_answerable(row))
        if self._mapping.is_preset:
            known = self._asked.setdefault(new.id, new)
            if known is not new:
                row.location.fault(f"the id {quoted(new.id)} of {known.location}", "a unique id")
            return new
        asked = self._asked.setdefault(text if key is None else f"id {key}", new)
        for name in ("text", "tags", "answerable"):
            if getattr(asked, name) != getattr(new, name):
                found = f"another entry than in {_where(asked.location)} for {quoted(asked.id)}"
                (row.location / ("question" if name == "text" else name)).fault(found, "the same entry")
        return asked

    def _question(self, row: Row, *, may_be_missing: bool) -> str | None:
        item = self._one(row, "question") or self._one(row, "question", blank=True)
        if item is not None:
            return read_string(*item)
        if not may_be_missing:
            expected = f"{' or '.join(self._mapping.paths['question'])}; or {how('columns', 'question')}"
            row.location.fault(f"no question: {shown(row.values)}", expected)
        return None

    def _one(self, row: Row, name: str, *, blank: bool = False) -> Item | None:
        """Return the one value of a field; None if there is none, or only a blank one unless that will do."""
        for path in self._mapping.paths.get(name, ()):
            found = at_path(row, path)
            if found is not None and not found.is_list and (blank or not found.is_missing):
                return found.items[0]
        return None

    def _many(self, row: Row, name: str) -> Found | None:
        """Return the values of a field, decoded, and of lists the items; None if there are none."""
        for path in self._mapping.paths.get(name, ()):
            found = at_path(row, path)
            if found is None or found.is_missing:
                continue
            items = [each for item in found.items for each in self._decoded(item, name, row)]
            given = [each for item in items for each in _texts(item, 0)] if name == "passage" else items
            return Found(given, found.is_list or len(given) != 1 or items[0] is not found.items[0])
        return None

    def _decoded(self, item: Item, name: str, row: Row) -> Iterator[Item]:
        value, location = item
        ways = self._mapping.decode.get(name, ())
        if isinstance(value, str) and (row.header is not None or not self._mapping.is_preset):
            for way in ways:
                value = parsed(value, (way,)) if way in (JSON, LITERAL) else value
                if way not in (JSON, LITERAL) and isinstance(value, str):
                    value = [part.strip() for part in value.split(way) if part.strip()]
            is_cut = bool(ways) and isinstance(value, str) and _BEGUN.match(value) is not None
            if (looks_like_list(value) or is_cut) and name in ("passage", "chunk"):
                if ways:
                    location.fault(quoted(value), "a list as JSON or Python writes it")
                    return
                if row.header is not None and isinstance(parsed(value, (JSON, LITERAL)), list):
                    location.fault(f"a list in a cell, {quoted(value)}", f"a text, or {how('decode', name, JSON)}")
                    return
        if isinstance(value, list):
            for index, each in enumerate(value):
                yield Item(each, location / index)
        else:
            yield item

    def _tags(self, row: Row) -> tuple[str, ...]:
        found = self._many(row, "tags")
        if found is None:
            return ()
        if not self._mapping.is_preset and not found.is_list and isinstance(found.items[0].value, str):
            here = found.items[0].location
            found = Found([Item(tag.strip(), here) for tag in found.items[0].value.split(";") if tag.strip()], True)
        return tuple(tag for tag in (read_name(*item) for item in found.items) if tag is not None)

    def _is_answerable(self, row: Row) -> bool:
        for name in ("answerable", "unanswerable"):
            item = self._one(row, name)
            if item is not None:
                known = item.value if isinstance(item.value, bool) else _TRUTHS.get(str(item.value).strip().lower())
                if known is None:
                    item.location.fault(shown(item.value), "true or false")
                return known is not False if name == "answerable" else known is not True
        return True

    def _passages_of(
        self, row: Row, own: str | None, sources: Sources
    ) -> list[tuple[object, Passage, Location]] | None:
        """Return the passages of a row, each with the fact it belongs to; None if the row has no field for them."""
        names = ("passage", "doc", "page", "start", "end", "chunk", "grade")
        found = {name: values for name in names if (values := self._many(row, name)) is not None}
        if own is not None:
            found["doc"] = Found([Item(own, row.location)], is_list=False)
        if self._mapping.is_preset and found.get("passage"):
            found.pop("chunk", None)
        if not found.keys() - {"grade", "page"}:
            return None
        lengths = {name: len(values.items) for name, values in found.items() if values.is_list}
        count = max(lengths.values(), default=0 if own is not None else 1)
        if len(set(lengths.values())) > 1:
            row.location.fault(
                ", ".join(f"{length} of {name}" for name, length in lengths.items()), "as many of each in one row"
            )
            return []
        group = self._one(row, "fact")
        result: list[tuple[object, Passage, Location]] = []
        for index in range(count):
            items = {name: values.items[index if values.is_list else 0] for name, values in found.items()}
            passage = self._passage(items, row, sources)
            grade = grade_of(*items["grade"]) if "grade" in items else 1
            if passage is None or grade is None:
                continue
            here = (items.get("passage") or items.get("doc") or next(iter(items.values()))).location
            fact = str(group.value).strip() if group is not None else ("row" if self._mapping.alternatives else None)
            result.append((fact, replace(passage, grade=grade), here))
        return result

    def _passage(self, items: Mapping[str, Item], row: Row, sources: Sources) -> Passage | None:
        """Return the passage that a row describes in one of the forms of raglift's own labels."""
        entry: dict[str, Any] = {}
        for name in ("passage", "doc", "page", "start", "end", "chunk"):
            if name in items:
                value = _READERS[name](*items[name]) if name in _READERS else items[name].value
                if value is None:
                    return None
                if name == "passage":
                    value = re.sub(rf"\A{self._mapping.prefix}", "", str(value))
                entry["text" if name == "passage" else name] = value
        if "text" in entry:
            entry.pop("page", None)
            if "start" in entry:
                entry.setdefault("end", entry["start"] + len(entry["text"]))
        return read_passage(entry, row.location, sources, range(1, 2))

    def _add(self, asked: _Asked, row: Row, group: object, passage: Passage, here: Location) -> None:
        """Add a passage to its query."""
        if not asked.answerable:
            here.fault("a passage, and a question that nothing answers", "only one of the two")
            return
        if group is None:
            unmarked = replace(passage, grade=1)
            grade, first = asked.grades.setdefault(unmarked, (passage.grade, here))
            if grade != passage.grade:
                found = f"the grade {passage.grade}, for a passage that has {grade} in {_where(first)}"
                here.fault(found, "one grade for each query and passage")
        if passage.grade == 0:
            asked.irrelevant.append(passage)
            return
        key = (id(row), group) if group == "row" else (len(asked.facts), None) if group is None else group
        asked.facts.setdefault(key, []).append(passage)


# What a row has at a path, `outputs.contexts`: in objects, in each item of a list, and in what a cell holds.


class Item(NamedTuple):
    """A value, and where it is."""

    value: Any
    location: Location


class Found(NamedTuple):
    """What a path leads to."""

    items: list[Item]
    is_list: bool

    @property
    def is_missing(self) -> bool:
        """Whether there is a blank or a null instead of a value."""
        value = None if self.is_list else self.items[0].value
        return not self.is_list and (value is None or (isinstance(value, str) and not value.strip()))


def at_path(row: Row, path: str) -> Found | None:
    """Return what a row has at a path, `outputs.contexts`; None if it has nothing there.

    A field that has the whole path as its name comes first. Of a list the path goes on in each item, and in a cell in
    what it holds as JSON or as a literal of Python's. What a row does not have, the object around it may.
    """
    scope: Row | None = row
    names = path.split(".")
    while scope is not None:
        if path in scope.values:
            return Found([Item(scope.values[path], scope.location / path)], is_list=False)
        if names[0] in scope.values:
            return _walked(scope.values[names[0]], names[1:], scope.location / names[0])
        scope = scope.outer
    return None


def _walked(value: Any, names: Sequence[str], location: Location) -> Found | None:
    if not names:
        return Found([Item(value, location)], is_list=False)
    if isinstance(value, str):
        value = parsed(value, (JSON, LITERAL))
    if isinstance(value, dict):
        return _walked(value[names[0]], names[1:], location / names[0]) if names[0] in value else None
    if not isinstance(value, list):
        return None
    items: list[Item] = []
    for index, each in enumerate(value):
        here = location / index
        part = _walked(each, names, here)
        # Where others have a value, or nothing could have one, it is for the field to say what it expected
        missing = Item(None, here / names[0]) if isinstance(each, dict) else Item(each, here)
        items += [missing] if part is None else part.items
    if items and all(item.value is None for item in items):
        return None
    return Found(items, is_list=True)


def looks_like_list(value: Any) -> bool:
    """Whether a value is a text with the brackets of a list or an object around it."""
    return isinstance(value, str) and value.strip()[:1] + value.strip()[-1:] in ("[]", "{}")


def parsed(text: str, ways: Sequence[str]) -> Any:
    """Return the list or object that a text is as JSON or as a literal of Python's; the text if it is neither."""
    if not looks_like_list(text):
        return text
    value = parse_list_or_object(text, Location("", [])) if JSON in ways else None
    if value is None and LITERAL in ways:
        try:
            value = ast.literal_eval(text.strip())  # of constants alone: nothing is called
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return text
    return text if value is None else value


def how(option: str, name: str, value: str = "path.of.it") -> str:
    """Return how an option of a mapping is given, in Python and on the command line."""
    flag = {"columns": "--column", "decode": "--decode"}[option]
    return f"{option}={{{name!r}: {value!r}}}, or raglift labels convert {flag} {name}={value}"


def _expected(column: str) -> str:
    """Return which columns there are, or that one is to be named as the passages that its name suggests."""
    words = re.sub(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])", " ", column).strip().lower()
    if _EVIDENCE.fullmatch(words):
        return f"passage, if it has those: {how('columns', 'passage', column)}"
    return nearest(column, FIELDS)


def _where(location: Location) -> str:
    return f"line {location.line}" if location.line is not None else str(location)


def _texts(item: Item, depth: int) -> Iterator[Item]:
    """Yield the texts in a value: a text, a list of them, or documents with their text in a field of their own."""
    value, location = item
    if isinstance(value, dict):
        name = next((each for each in TEXT_FIELDS if each in value), None)
        if name is not None:
            value, location = value[name], location / name
    if isinstance(value, list) and depth < _DEEPEST:
        for index, each in enumerate(value):
            yield from _texts(Item(each, location / index), depth + 1)
    else:
        yield Item(value, location)


def _integer(value: Any, location: Location) -> int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) <= _MOST_DIGITS:
        return int(value)
    if type(value) is int and value >= 0:
        return value
    location.fault(shown(value), "an integer, 0 or more")
    return None


_READERS = {"passage": read_string, "page": _integer, "start": _integer, "end": _integer, "chunk": read_id}
"""How the values of some fields of a passage are read."""


def grade_of(value: Any, location: Location) -> int | None:
    """Return a grade, which tables may have as 1.0 or as a text; None, and a fault, if it is no grade."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        location.fault(shown(value), "an integer: how relevant it is")
        return None
    return read_grade(str(value).strip(), location)
