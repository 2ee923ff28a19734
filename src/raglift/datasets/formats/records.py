"""The records of a file that a tool exported: lines of JSON, one JSON list, or the rows of a CSV table."""

from __future__ import annotations

import ast
import csv
import io
from typing import TYPE_CHECKING, Any

from raglift.base.strict_files import parse_list_or_object, parse_object, read_text, stream_lines
from raglift.base.validation import Location, quoted, shown
from raglift.datasets.documents import LINES_SUFFIXES
from raglift.records.parsing import read_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


TEXT_FIELDS = ("page_content", "pageContent", "content", "text")
"""What the text of a document is called where documents are objects."""
_DEEPEST = 4


def read_records(
    path: Path, location: Location, *, listed: str | None = None
) -> Iterator[tuple[Location, dict[str, Any]]]:
    """Yield the records of a file, each with its line or index.

    Args:
        path: the file; its ending says what it is: `.jsonl`, `.csv`, else JSON.
        location: the file, for faults.
        listed: the field that holds the list where the JSON is an object.
    """
    suffix = path.suffix.lower()
    if suffix in LINES_SUFFIXES:
        for here, line in stream_lines(path, location):
            entry = parse_object(line, here)
            if entry is not None:
                yield here, entry
        return
    text = read_text(path, location)
    if text is None:
        return
    if suffix == ".csv":
        yield from csv_records(text, location)
        return
    value = parse_list_or_object(text, location)
    if isinstance(value, dict):
        if listed is None or not isinstance(value.get(listed), list):
            location.fault(shown(value), "a list of records" + ("" if listed is None else f", or a list {listed!r}"))
            return
        value, location = value[listed], location / listed
    for index, entry in enumerate(value or ()):
        if isinstance(entry, dict):
            yield location / index, entry
        else:
            (location / index).fault(shown(entry), "an object")


def csv_records(text: str, location: Location) -> Iterator[tuple[Location, dict[str, str]]]:
    """Yield the rows of a table with a first row of names, each with its first line; blank cells are left out.

    Args:
        text: the table.
        location: the file, for faults.
    """
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: list[str] = []
    line = 1
    try:
        for row in rows:
            here = location.at_line(line)
            line = rows.line_num + 1
            if not any(cell.strip() for cell in row):
                continue
            if not names:
                names = [cell.strip() for cell in row]
                if len(set(names)) < len(names):
                    here.fault("two columns of one name", "one column of each name")
                    return
            elif len(row) > len(names):
                here.fault(f"{len(row)} cells", f"at most {len(names)}: {', '.join(names)}")
            else:
                yield here, {name: cell for name, cell in zip(names, row, strict=False) if cell.strip()}
    except csv.Error as error:
        location.at_line(line).fault(f"a row that is no CSV ({error})", "rows of cells, with quotation marks doubled")


def named_path(field: str, path: str = "path.of.it") -> str:
    """Return how to say where a field is, in Python and on the command line.

    Args:
        field: as `query`.
        path: an example.
    """
    return f"columns={{{field!r}: {path!r}}}, or with `raglift labels convert` --column {field}={path}"


def cell_value(value: Any) -> Any:
    """Return what a text holds that is a list or an object as JSON, or as Python prints it; else the value as it is.

    Args:
        value: what a cell of a table holds, or a field.
    """
    if not looks_like_list(value):
        return value
    found = parse_list_or_object(value, Location("", []))
    if found is not None:
        return found
    try:
        return ast.literal_eval(value.strip())  # of constants alone: nothing is called
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return value


def looks_like_list(value: Any) -> bool:
    """Whether a value is a text with the brackets of a list or an object around it."""
    return isinstance(value, str) and value.strip()[:1] + value.strip()[-1:] in ("[]", "{}")


def field_at(entry: Mapping[str, Any], path: str, location: Location) -> tuple[Any, Location] | None:
    """Return the value at a path as `outputs.contexts`, with its location; None where there is none.

    Args:
        entry: the record.
        path: names with dots between them; a field that has the whole path as its name comes first.
        location: the record.
    """
    if path in entry:
        return entry[path], location / path
    value: Any = entry
    for name in path.split("."):
        value = cell_value(value)
        if not isinstance(value, dict) or name not in value:
            return None
        value, location = value[name], location / name
    return value, location


def texts_of(value: Any, location: Location, *, is_cell: bool = False) -> Iterator[str]:
    """Yield the texts in a field: a text, a list of them, or documents with their text in a field of their own.

    Args:
        value: the field; null has none.
        location: its location.
        is_cell: whether it is a cell of a table, where a list with a mistake in it would else be taken for a text.
    """
    found = cell_value(value)
    if is_cell and looks_like_list(found):
        location.fault(quoted(found), "a list as JSON or Python writes it")
        return
    yield from _texts_of(found, location, 0)


def _texts_of(value: Any, location: Location, depth: int) -> Iterator[str]:
    """Yield the texts in a value.

    Args:
        value: the field; null has none.
        location: its location.
        depth: how deep it lies in lists.
    """
    if value is None:
        return
    if isinstance(value, dict):
        name = next((each for each in TEXT_FIELDS if each in value), None)
        if name is not None:
            value, location = value[name], location / name
    if isinstance(value, list) and depth < _DEEPEST:
        for index, each in enumerate(value):
            yield from _texts_of(each, location / index, depth + 1)
        return
    text = read_string(value, location)
    if text is not None:
        yield text
