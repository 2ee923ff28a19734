"""Files of traces: one JSON value, or lines of JSON, also packed with gzip; bounded in every size."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from raglift.errors import DatasetError, Fault
from raglift.tracing.decoding import otlp, rows
from raglift.utilities.limits import allowed, is_folder, most_bytes, user_path
from raglift.utilities.strict_files import decode_text, lines_of, parse_list_or_object, parse_object
from raglift.utilities.validation import Location, shown

if TYPE_CHECKING:
    import os
    from pathlib import Path
    from typing import IO

    from raglift.tracing.spans import Options, RawSpan


MOST_SPANS = 1_000_000
"""The spans that are read of all files together."""
_LONGEST_LINE = 256 * 2**20
_GZIP = b"\x1f\x8b"
_LINES = (".jsonl", ".ndjson", ".jsonlines")
_LISTS = ("data", "traces", "spans", "results", "items")
_DEEPEST_LIST = 4
_FORMS = (
    "a trace: OTLP (resourceSpans) or a span of OpenTelemetry; of another export, columns (--column) say what is what"
)


def files_in(given: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a path stands for: itself, or those of a folder, in the order of their names.

    Raises:
        DatasetError: there is nothing, or a folder without files of traces.
    """
    path = user_path(given)
    if not is_folder(path):
        return [path]
    endings = (".json", *_LINES)
    found = sorted(each for each in path.iterdir() if each.name.lower().removesuffix(".gz").endswith(endings))
    if not found:
        raise DatasetError(str(path), [Fault(str(path), "a folder without traces", "files .json, .jsonl or .json.gz")])
    return found


def spans_in(path: Path, faults: list[Fault], options: Options) -> Iterator[RawSpan]:
    """Yield the spans of a file; what cannot be read is noted, and the rest is read.

    Args:
        path: the file.
        faults: where every fault is noted.
        options: how spans are read.
    """
    location = Location(path.name, faults)
    for entry, here in _records(path, location):
        yield from spans_of_record(entry, here, options)


def spans_of_record(entry: Any, location: Location, options: Options, depth: int = 0) -> Iterator[RawSpan]:
    """Yield the spans of one JSON value: a request, a span, a trace, or a list of these.

    Args:
        entry: the value.
        location: where it is.
        options: how spans are read.
        depth: how deep it lies in lists.
    """
    if isinstance(entry, list) and depth <= _DEEPEST_LIST:
        for number, each in enumerate(entry):
            yield from spans_of_record(each, location / number, options, depth + 1)
        return
    if not isinstance(entry, Mapping):
        location.fault(shown(entry), _FORMS)
        return
    found = otlp.spans_of(entry, location, options)
    if found is not None:
        yield from found
        return
    inner = next((name for name in _LISTS if isinstance(entry.get(name), list)), None)
    if inner is None and isinstance(entry.get("trace"), Mapping):  # the answer of Tempo
        inner = "trace"
    if inner is None and options.columns is not None:
        yield from rows.span_of(entry, location, options, options.columns)
        return
    if inner is None or depth > _DEEPEST_LIST:
        location.fault(shown(entry), _FORMS)
        return
    yield from spans_of_record(entry[inner], location / inner, options, depth + 1)


def _records(path: Path, location: Location) -> Iterator[tuple[Any, Location]]:
    """Yield the JSON values of a file: of each line, or of the whole where no line has one for itself."""
    try:
        if _has_lines(path):
            with _opened(path) as file:
                yield from _of_lines(_Bounded(file, location), location)
            return
        with _opened(path) as file:
            data = file.read(most_bytes() + 1)
        if len(data) > most_bytes():
            location.fault(f"more than {most_bytes():,} bytes", allowed())
            return
        text = decode_text(data, location)
        value = None if text is None else parse_list_or_object(text, location)
        if value is not None:
            yield value, location
    except _TooMuch:
        location.fault(f"more than {most_bytes():,} bytes", allowed())
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        location.fault(f"gzip that ends too early or is damaged ({error})", "the whole file")
    except OSError as error:
        location.fault(f"no readable file ({error.strerror or error})", f"a readable file at {path}")


def _of_lines(file: Any, location: Location) -> Iterator[tuple[Any, Location]]:
    for here, line in lines_of(file, location, longest=_LONGEST_LINE):
        value = parse_object(line, here)
        if value is not None:
            yield value, here


def _has_lines(path: Path) -> bool:
    """Whether each line is JSON for itself, whatever the file is called: collectors call such files `.json`."""
    if path.name.lower().removesuffix(".gz").endswith(_LINES):
        return True
    with _opened(path) as file:
        first = file.readline(_LONGEST_LINE)
    try:
        text = first.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return isinstance(parse_list_or_object(text, Location("", [])), dict)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked where it is packed with gzip."""
    with path.open("rb") as file:
        is_packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        if not is_packed:
            yield file
            return
        with gzip.open(file, "rb") as unpacked:
            yield unpacked  # type: ignore[misc]


class _TooMuch(Exception):
    """More bytes than are read."""


class _Bounded:
    """The lines of a file, up to as many bytes as are read."""

    def __init__(self, file: IO[bytes], location: Location) -> None:
        self._file, self._location = file, location
        self._left = most_bytes()

    def readline(self, size: int = -1) -> bytes:
        """Return the next line.

        Raises:
            _TooMuch: the file has more bytes than are read.
        """
        line = self._file.readline(size)
        self._left -= len(line)
        if self._left < 0:
            raise _TooMuch
        return line
