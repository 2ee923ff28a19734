"""Strict decoding of bytes, JSON and YAML, with the line of every fault."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import yaml

from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.utilities.display import SURROGATE, encodable
from raglift.utilities.limits import allowed, is_stream, most_bytes
from raglift.utilities.validation import Keys, Location, path_text, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedReader


# Decoding of bytes: UTF-8 unless another encoding is named or marked, any line ends, and faults that name the byte.


_BOM = "\ufeff"
# UTF-32 first: its mark begins with that of UTF-16
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_NO_TEXT = re.compile(rf"\x00|{SURROGATE.pattern}")
_NAME_IT = "text in UTF-8, or its encoding named, as --encoding cp1252 or, in Python, encoding='cp1252'"
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_PIECE = 2**20


def read_bytes(path: Path, location: Location) -> bytes | None:
    """Return what a file holds; None, and a fault, when it cannot be read or is larger than what is taken."""
    try:
        with path.open("rb") as file:
            data = _read_whole(file)
    except OSError as error:
        location.fault(f"no readable file ({error.strerror or error})", f"a readable file at {path}")
        return None
    if data is None:
        location.fault(f"more than {most_bytes():,} bytes", allowed())
    return data


def _read_whole(file: BufferedReader) -> bytes | None:
    """Return all that a file holds; None if that is more than what is taken."""
    most = most_bytes()
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode):
        return None if status.st_size > most else file.read()
    pieces = []  # a pipe, or a device that never ends: nobody knows how much will come
    while piece := file.read(_PIECE):
        pieces.append(piece)
        most -= len(piece)
        if most < 0:
            return None
    return b"".join(pieces)


@contextmanager
def as_file(path: Path, ending: str = "") -> Iterator[Path]:
    """Give a file that can be read twice: the path itself, or a temporary copy of what a pipe gives."""
    if not is_stream(path):
        yield path
        return
    location = Location(str(path), [])
    data = read_bytes(path, location)
    if data is None:
        raise DatasetError(str(path), location.faults)
    with tempfile.TemporaryDirectory(prefix="raglift-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / f"{path.name}{ending}"
        copy.write_bytes(data)
        yield copy


def decode_text(data: bytes, location: Location, *, expected: str = "text in UTF-8") -> str | None:
    """Return a text with bare line feeds and no byte-order mark; None, and a fault, without one."""
    text = _decoded(data, location, expected)
    return None if text is None else text.replace("\r\n", "\n").replace("\r", "\n")


def check_encoding(name: str | None) -> str | None:
    """Return the name of a text encoding as Python knows it; None for none."""
    if name is None:
        return None
    try:
        found = codecs.lookup(name)
        "".encode(name)  # not of texts: hex, rot13 and their like
    except (LookupError, TypeError, ValueError):
        raise ConfigurationError(
            f"encoding: found {quoted(name)}; expected a text encoding that Python knows, as cp1252, latin-1, "
            "utf-16-le or shift_jis"
        ) from None
    return found.name


def decode_document(data: bytes, location: Location, encoding: str | None = None) -> str | None:
    """Return the text of a document with bare line feeds; None, and a fault, where it cannot be decoded.

    What has a byte-order mark is read as it says, and what is valid UTF-8 as UTF-8. The encoding is that of all other
    files; no file is read with an encoding that is guessed, and no character is ever replaced.
    """
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
    named = marked or ("utf-8" if encoding is None or _is_utf8(data) else encoding)
    if named == "utf-8":
        return decode_text(data, location, expected=_NAME_IT)
    why = f"text in {named}, as its byte-order mark says" if marked else "the encoding of the file"
    try:
        text = data.decode(named)
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        location.fault(f"the byte 0x{data[at]:02x} at byte {at} of the file, which is not {named}", why)
        return None
    odd = _NO_TEXT.search(text)
    if odd is not None:
        location.fault(f"the character {odd[0]!a} at character {odd.start()} of the file, read as {named}", why)
        return None
    return text.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n")


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are a text in UTF-8, and in no 7-bit encoding like ISO-2022-JP: some are beyond ASCII."""
    try:
        return b"\x00" not in data and not data.isascii() and bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def read_text(path: Path, location: Location) -> str | None:
    """Return the text of a file unchanged, without a byte-order mark; None, and a fault, without one."""
    data = read_bytes(path, location)
    return None if data is None else _decoded(data, location)


def _decoded(data: bytes, location: Location, expected: str = "text in UTF-8") -> str | None:
    if _is_other_encoding(data, location, expected):
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(data[: error.start])) + 1
        _note_bad_byte(data[error.start], error.start, location.at_line(line), expected)
        return None
    return text.removeprefix(_BOM)


def decode_lines(data: bytes, location: Location) -> Iterator[tuple[Location, str]]:
    """Yield what `lines_of` does, of a file that was read whole."""
    return lines_of(io.BytesIO(data), location)


def stream_lines(path: Path, location: Location) -> Iterator[tuple[Location, str]]:
    """Yield what `lines_of` does, reading the file line by line: for files of any size."""
    try:
        with path.open("rb") as file:
            yield from lines_of(file, location, longest=most_bytes())
    except OSError as error:
        location.fault(f"no readable file ({error.strerror or error})", f"a readable file at {path}")


def lines_of(file: IO[bytes], location: Location, *, longest: int | None = None) -> Iterator[tuple[Location, str]]:
    r"""Yield the location and text of each line that is not blank; note a fault for each that is not UTF-8.

    A file in another encoding has one fault, at its first line; lines end with `\n` or `\r\n`.

    Args:
        file: the file, at its beginning; it may be unpacked while it is read.
        location: the file, for faults.
        longest: how many bytes a line may have; one that has more is a fault, and nothing is read after it.
    """
    begin = 0
    lines = file if longest is None else iter(partial(file.readline, longest + 1), b"")
    for number, raw in enumerate(lines, start=1):
        here = location.at_line(number)
        if longest is not None and len(raw) > longest:
            here.fault(f"a line of more than {longest:,} bytes", "shorter lines")
            return
        if (number == 1 or b"\x00" in raw) and _is_other_encoding(raw, here):
            return
        try:
            line = raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            _note_bad_byte(raw[error.start], begin + error.start, here)
        else:
            line = line.removeprefix(_BOM) if number == 1 else line
            if line.strip(" \t"):
                yield here, line
        begin += len(raw)


def _is_other_encoding(data: bytes, location: Location, expected: str = "text in UTF-8") -> bool:
    if data.startswith(_OTHER_BOMS):
        location.fault("a byte-order mark of UTF-16 or UTF-32", "text in UTF-8: save the file as UTF-8")
        return True
    if (offset := data.find(b"\x00")) >= 0:
        location.fault(f"a NUL byte at byte {offset}, as in UTF-16 or a binary file", expected)
        return True
    return False


def _note_bad_byte(byte: int, offset: int, location: Location, expected: str = "text in UTF-8") -> None:
    location.fault(f"the byte 0x{byte:02x} at byte {offset} of the file, which is not UTF-8", expected)


# Strict JSON: no duplicate fields, no NaN, no integers of a million digits; faults give the position.


_INTEGERS = range(-(2**63), 2**64)
"""What 64 bits hold, with a sign or without: ids and hashes do, and Parquet, and most readers of JSON."""
_MOST_DIGITS = len(str(_INTEGERS.start))


class _NotStrictError(Exception):
    """JSON that Python would accept and raglift does not."""

    def __init__(self, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(found, expected)


def parse_object(line: str, location: Location) -> dict[str, Any] | None:
    """Return the object on a line; None, and a fault, when it holds anything else."""
    return _parse(line, location, "the end of the line", "one JSON object on each line")


def parse_text(text: str, location: Location) -> dict[str, Any] | None:
    """Return the object that a whole file holds; None, and a fault with its line, when it holds anything else."""
    return _parse(text, location, "the end of the file", "one JSON object")


def parse_list_or_object(text: str, location: Location) -> list[Any] | dict[str, Any] | None:
    """Return the list or object that a whole file holds; None, and a fault with its line, for anything else."""
    known = len(location.faults)
    value = _decode(text, location, "the end of the file", "JSON: a list, or an object")
    if isinstance(value, (list, dict)):
        return value
    if len(location.faults) == known:
        location.fault(shown(value), "a JSON list or object")
    return None


def survives_json(value: Any) -> bool:
    """Whether a value can be written as JSON and is read from it as the same."""
    try:
        return bool(_STRICT.decode(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError, RecursionError, _NotStrictError):
        return False


def _parse(text: str, location: Location, end: str, expected: str) -> dict[str, Any] | None:
    known = len(location.faults)
    value = _decode(text, location, end, expected)
    if isinstance(value, dict):
        return value
    if len(location.faults) == known:
        location.fault(shown(value), "a JSON object: {…}")
    return None


def _decode(text: str, location: Location, end: str, expected: str) -> Any:
    """Return the value of strict JSON; None, and a fault, where it is not such."""
    try:
        return _STRICT.decode(text)
    except json.JSONDecodeError as error:
        rest = quoted(text[error.pos : error.pos + 20]) if error.pos < len(text) else end
        here = location if location.line is not None else location.at_line(error.lineno)
        (here / f"column {error.colno}").fault(f"{rest} ({error.msg[0].lower()}{error.msg[1:]})", expected)
    except _NotStrictError as error:
        location.fault(error.found, error.expected)
    except RecursionError:
        location.fault("lists or objects nested too deeply to read", "facts, and lists of alternatives in them")
    return None


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise _NotStrictError(f"the field {quoted(name)} twice in one object", "each field once")
        fields[name] = value
    return fields


def _no_constant(name: str) -> NoReturn:
    raise _NotStrictError(name, "a number: JSON has no NaN and no Infinity")


def _short_integer(digits: str) -> int:
    # Their number first: to read a million digits takes long
    if len(digits) > _MOST_DIGITS or int(digits) not in _INTEGERS:
        raise _NotStrictError(f"an integer of {len(digits.lstrip('-'))} digits", "one that 64 bits hold")
    return int(digits)


_STRICT = json.JSONDecoder(object_pairs_hook=_unique_fields, parse_constant=_no_constant, parse_int=_short_integer)


# Strict YAML: plain values, no duplicate fields, bounded in size; every fault gives its line.


_MOST_BYTES = 100_000
_MOST_VALUES = 10_000
_DEEPEST = 20
_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


class InvalidYaml(Exception):
    """A file of which nothing can be read, and why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


@dataclass
class YamlFields:
    """The fields of a YAML file: its faults, and the line of each value."""

    name: str
    """Of the file."""
    wanted: str
    """What the file should hold, such as `the fields of a sweep, as dataset: lighthouse`."""
    faults: list[tuple[int, Fault]] = field(default_factory=list)
    """Each with its line."""
    lines: dict[Keys, int] = field(default_factory=dict)
    """Where each value's key, or a list's item, begins."""
    located: dict[str, int] = field(default_factory=dict)
    """The line of each location that `locate` returned."""
    values: int = 0
    """How many were read; an alias counts with all that it stands for."""

    def read(self, file: Path) -> dict[str, Any]:
        """Return the fields of a file; what is wrong with some of them is noted as faults.

        Raises:
            InvalidYaml: there is no such file, it is not one YAML document in UTF-8, or it has no fields, or too many.
        """
        root = self._root(file)
        if not isinstance(root, yaml.MappingNode):
            raise self._unusable("no fields", self.wanted, _line_of(root))
        return self._mapping(root, ())

    def locate(self, keys: Keys) -> str:
        """Return where a value is; for one that is missing, where it should be."""
        known = next((keys[:length] for length in range(len(keys), 0, -1) if keys[:length] in self.lines), ())
        line = self.lines.get(known)
        where = f"{self.name}: {path_text(keys)}" if line is None else f"{self.name}:{line}: {path_text(keys)}"
        self.located[where] = line or 0
        return where

    def with_faults(self, others: Iterable[Fault]) -> list[Fault]:
        """Return its faults and others, whose places are from `locate`, by line."""
        every = [*self.faults, *((self.located.get(fault.where, 0), fault) for fault in others)]
        return [fault for _, fault in sorted(every, key=lambda each: each[0])]

    def _root(self, file: Path) -> yaml.Node:
        """Return the document of a file, its aliases not expanded."""
        try:
            data = file.read_bytes()
            if len(data) > _MOST_BYTES:
                raise self._unusable(f"{len(data):,} bytes", f"a file of at most {_MOST_BYTES:,}")
            root = yaml.compose(data.decode("utf-8-sig"), Loader=yaml.SafeLoader)
        except OSError as error:
            raise self._unusable(error.strerror or type(error).__name__, f"a YAML file at {file}") from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise self._unusable("bytes that are not UTF-8", "text in UTF-8", line) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            reason = ", ".join(part for part in (error.context, error.problem) if part)
            at = None if mark is None else mark.line + 1
            raise self._unusable(f"what is not YAML ({reason})", "one document in YAML", at) from None
        except (yaml.YAMLError, RecursionError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise self._unusable(f"what is not YAML ({reason})", "one document in YAML") from None
        if root is None:
            raise self._unusable("an empty file", self.wanted)
        return root

    def _unusable(self, found: str, expected: str, line: int | None = None) -> InvalidYaml:
        """Return the error of a file of which nothing can be read."""
        where = self.name if line is None else f"{self.name}:{line}"
        return InvalidYaml(Fault(where, found, expected))

    def _value(self, node: yaml.Node, keys: Keys) -> Any:
        self.values += 1
        if self.values > _MOST_VALUES or len(keys) > _DEEPEST:
            is_deep = len(keys) > _DEEPEST
            found = "values that lie deeper" if is_deep else "more values, aliases counted with all that they stand for"
            raise self._unusable(found, f"at most {_MOST_VALUES:,} values, {_DEEPEST} deep")
        if not isinstance(node, yaml.ScalarNode) and node.tag not in _PLAIN_TAGS:
            self._fault(node, keys, f"the tag {quoted(node.tag)}", "a plain list or mapping")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, keys)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*keys, location)) for location, item in enumerate(node.value)]
        return self._scalar(node, keys)

    def _item(self, node: yaml.Node, keys: Keys) -> Any:
        self.lines[keys] = _line_of(node)
        return self._value(node, keys)

    def _mapping(self, node: yaml.MappingNode, keys: Keys) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key_node.tag != "tag:yaml.org,2002:str" or key is None or encodable(key) != key:
                found = "a list or a mapping" if key is None else quoted(key)
                expected = "a text, in quotation marks if it looks otherwise"
                self._fault(key_node, keys, f"{found} for a field's name", expected)
            elif key in read:
                first = self.lines[(*keys, key)]
                self._fault(key_node, (*keys, key), f"{quoted(key)} again, after line {first}", "each field once")
            else:
                self.lines[(*keys, key)] = _line_of(key_node)
                read[key] = self._value(value_node, (*keys, key))
        return read

    def _scalar(self, node: yaml.Node, keys: Keys) -> Any:
        try:
            return yaml.constructor.SafeConstructor().construct_object(node)
        except (yaml.YAMLError, ValueError, AttributeError) as error:  # PyYAML's own, of dates that are none
            reason = getattr(error, "problem", None) or str(error)
            self._fault(node, keys, f"{quoted(node.value)}, which cannot be read: {reason}", "a plain value")
            return node.value

    def _fault(self, node: yaml.Node, keys: Keys, found: str, expected: str) -> None:
        line, path = _line_of(node), path_text(keys)
        where = f"{self.name}:{line}: {path}" if path else f"{self.name}:{line}"
        self.faults.append((line, Fault(where, found, expected)))


def _line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
