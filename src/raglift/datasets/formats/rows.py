"""The rows of one file: JSON Lines, JSON, CSV, TSV, XLSX or Parquet, each with where it is."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zipfile import BadZipFile, ZipFile

from raglift.datasets.documents import LINES_SUFFIXES
from raglift.errors import ConfigurationError, MissingDependency
from raglift.utilities.limits import allowed, most_bytes
from raglift.utilities.strict_files import (
    decode_document,
    lines_of,
    parse_list_or_object,
    parse_object,
    read_bytes,
    read_text,
    stream_lines,
)
from raglift.utilities.validation import Location, quoted, shown


class Row(NamedTuple):
    """One row of a file."""

    location: Location
    values: dict[str, Any]
    outer: Row | None = None
    """The object around the list that it is in, with `root="data.items"` the one in `data`."""
    header: Location | None = None
    """Where the names of the columns are, of a table whose cells are texts: CSV, TSV or XLSX."""


TABLE_SUFFIXES = (".csv", ".tsv", ".xlsx")
"""Tables whose cells are texts."""
SUFFIXES = (*LINES_SUFFIXES, ".json", *TABLE_SUFFIXES, ".parquet")
"""How the names of the files end that have rows; texts may also be compressed, and end with `.gz`."""
PACKED = ".gz"
"""How the name of a compressed file ends."""
_DELIMITERS = (",", ";", "\t", "|")
_BATCH = 4096


def suffix_of(name: str) -> str:
    """Return how a file's name ends, `.gz` apart, in small letters."""
    plain = name.lower().removesuffix(PACKED)
    return plain[plain.rfind(".") :] if "." in plain else ""


def read_rows(
    path: Path,
    location: Location,
    *,
    root: str | None = None,
    delimiter: str | None = None,
    quotes: bool = True,
    name: str | None = None,
    encoding: str | None = None,
) -> Iterator[Row]:
    """Yield the rows of a file; the ending of its name says what it is.

    Args:
        path: the file.
        location: the file, for faults.
        root: where the rows are: in JSON the field with the list of them, `data`, also in lists of lists,
            `data.paragraphs.qas`; in XLSX the sheet. By default the JSON is a list, and there is one sheet with cells.
        delimiter: of CSV; by default the one of comma, semicolon, tab and bar that divides the first row most.
        quotes: whether quotation marks in a table are around cells; else they are parts of them.
        name: the name of the file if the path has another, as in a cache.
        encoding: of a table that is not in UTF-8 and has no byte-order mark.

    Raises:
        ConfigurationError: a delimiter that is not one character.
        MissingDependency: what reads XLSX files is not installed.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise ConfigurationError(f"delimiter: found {delimiter!r}; expected one character, as ',' or ';'")
    called = name or path.name
    suffix = suffix_of(called)
    packed = called.lower().endswith(PACKED)
    if suffix == ".parquet":
        for here, values in parquet_rows(path, location):
            yield Row(here, values)
    elif suffix == ".xlsx":
        yield from _from_workbook(path, location, root)
    elif suffix in TABLE_SUFFIXES:
        data = read_packed(path, location) if packed else read_bytes(path, location)
        text = None if data is None else decode_document(data, location, encoding)
        if text is not None:
            yield from _from_table(text, location, "\t" if suffix == ".tsv" else delimiter, quotes=quotes)
    elif suffix == ".json" and not _is_of_lines(path):
        text = read_text(path, location)
        value = None if text is None else parse_list_or_object(text, location)
        if value is not None:
            yield from _from_json(value, location, root)
    else:
        yield from _from_lines(path, location, packed=packed)


def _from_lines(path: Path, location: Location, *, packed: bool) -> Iterator[Row]:
    data = read_packed(path, location) if packed else None
    lines = lines_of(io.BytesIO(data or b""), location) if packed else stream_lines(path, location)
    for here, line in lines:
        entry = parse_object(line, here)
        if entry is not None:
            yield Row(here, entry)


def _is_of_lines(path: Path) -> bool:
    """Whether a file has one object on each line, and is no JSON document, as many of the Hugging Face hub."""
    try:
        with path.open("rb") as file:
            first, second = file.readline(most_bytes()).strip(), file.readline(1000).strip()
    except OSError:
        return False
    return first.endswith(b"}") and second.startswith(b"{")


def _from_json(value: Any, location: Location, root: str | None) -> Iterator[Row]:
    if isinstance(value, list):
        yield from _objects(value, location, None)
    elif root is None:
        location.fault(shown(value), "a list of objects, or the field that has it as root=")
    else:
        yield from _below(Row(location, value), root.split("."))


def _below(row: Row, names: list[str]) -> Iterator[Row]:
    """Yield the objects in a list of a row, and in the lists of these; a row whose list is empty itself."""
    name, *rest = names
    items = row.values.get(name)
    here = row.location / name
    if not isinstance(items, list):
        here.fault("no such field" if name not in row.values else shown(items), "a list of objects")
        return
    outer = Row(row.location, {key: value for key, value in row.values.items() if key != name}, row.outer)
    if not items and not rest:
        yield outer
    for inner in _objects(items, here, outer):
        yield from _below(inner, rest) if rest else [inner]


def _objects(items: list[Any], location: Location, outer: Row | None) -> Iterator[Row]:
    for index, item in enumerate(items):
        if isinstance(item, dict):
            yield Row(location / index, item, outer)
        else:
            (location / index).fault(shown(item), "an object")


def _from_table(text: str, location: Location, delimiter: str | None, *, quotes: bool) -> Iterator[Row]:
    if delimiter is None:
        unseen = Location("", [])
        delimiter = max(_DELIMITERS, key=lambda each: len(next(_cells(text, each, unseen, quotes=quotes), (0, []))[1]))
    rows = _cells(text, delimiter, location, quotes=quotes)
    yield from _named((location.at_line(line), cells) for line, cells in rows)


def _cells(text: str, delimiter: str, location: Location, *, quotes: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row that is not blank, with the line that it begins on."""
    lines = io.StringIO(text, newline="")
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    rows = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    line = 1
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                yield line, row
            line = rows.line_num + 1
    except csv.Error as error:
        location.at_line(line).fault(f"a row that is not CSV ({error})", "rows of cells, with quotation marks doubled")


def _named(rows: Iterator[tuple[Location, list[str]]]) -> Iterator[Row]:
    """Yield rows of cells by the names in the first of them."""
    names: list[str] = []
    header: Location | None = None
    for here, cells in rows:
        if header is None:
            header = here
            names = [name.strip() for name in cells]
            twice = next((name for name in names if name and names.count(name) > 1), None)
            if twice is not None:
                here.fault(f"the column {quoted(twice)} twice", "one column of each name")
                return
        elif len(cells) != len(names):
            here.fault(f"{len(cells)} cells", f"{len(names)}, as in the first row")
        else:
            for number, (name, cell) in enumerate(zip(names, cells, strict=True), start=1):
                if not name and cell.strip():  # spreadsheets end their rows with empty cells
                    found = f"{quoted(cell)} in column {number}, which has no name"
                    here.fault(found, "a name in the first row, or an empty cell")
            yield Row(here, {name: cell for name, cell in zip(names, cells, strict=True) if name}, header=header)


def _from_workbook(path: Path, location: Location, root: str | None) -> Iterator[Row]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise MissingDependency("python_calamine", "xlsx", "reading XLSX files") from None
    try:
        with ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > most_bytes():
            location.fault(f"a workbook that unpacks to {size:,} bytes", allowed())
            return
        workbook = CalamineWorkbook.from_path(str(path))
        names = workbook.sheet_names if root is None else [name for name in workbook.sheet_names if name == root]
        sheets = {name: workbook.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in names}
    except (OSError, ValueError, BadZipFile, CalamineError) as error:
        said = str(error).partition("\n")[0]
        location.fault(f"no readable workbook ({said})", "an XLSX file that opens in a spreadsheet program")
        return
    filled = {name: rows for name, rows in sheets.items() if any(map(_is_filled, rows))}
    if len(filled) != 1:
        found = f"{len(filled)} sheets with cells" + (f": {', '.join(map(quoted, filled))}" if filled else "")
        location.fault(found, "one sheet, or its name as root=")
        return
    rows = next(iter(filled.values()))
    yield from _named(
        (location / f"row {number}", [_text_of(cell) for cell in row])
        for number, row in enumerate(rows, start=1)
        if _is_filled(row)
    )


def _is_filled(row: list[Any]) -> bool:
    return any(_text_of(cell).strip() for cell in row)


def _text_of(cell: Any) -> str:
    """Return what a cell of a spreadsheet shows as text: 7 for the number 7.0."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def parquet_rows(
    path: Path,
    location: Location,
    *,
    columns: Collection[str] | None = None,
) -> Iterator[tuple[Location, dict[str, Any]]]:
    """Yield the rows of a Parquet file with their numbers; what cannot be read is a fault."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                location.fault("two columns of one name", "one column of each name")
                return
            chosen = [name for name in names if columns is None or name in columns]
            number = taken = 0
            for batch in file.iter_batches(batch_size=_BATCH, columns=chosen):
                taken += batch.nbytes
                if taken > most_bytes():
                    location.fault(f"values that unpack to more than {most_bytes():,} bytes", allowed())
                    return
                for row in batch.to_pylist():
                    number += 1
                    yield location / f"row {number}", {name: _without_nulls(value) for name, value in row.items()}
    except (OSError, OverflowError, ValueError, pa.ArrowException) as error:  # ValueError: texts that are not UTF-8
        location.fault(f"no readable Parquet file ({str(error).partition(chr(10))[0]})", f"a Parquet file at {path}")


def _without_nulls(value: Any) -> Any:
    """Return a struct without the fields that it lacks, in place of which Parquet has nulls."""
    return {name: each for name, each in value.items() if each is not None} if isinstance(value, dict) else value


def read_packed(path: Path, location: Location) -> bytes | None:
    """Return what a file holds that is compressed with gzip; None, and a fault, if it is damaged or too much."""
    try:
        with gzip.open(path, "rb") as file:
            data = file.read(most_bytes() + 1)
    except (OSError, EOFError, zlib.error) as error:
        location.fault(f"no readable gzip file ({error})", f"a file compressed with gzip at {path}")
        return None
    if len(data) > most_bytes():
        location.fault(f"a file that unpacks to more than {most_bytes():,} bytes", allowed())
        return None
    return data
