"""From bytes to text: UTF-8 only, any line ends, and a fault that names the byte."""

from __future__ import annotations

import os
import re
import stat
from functools import partial
from typing import TYPE_CHECKING

from raglift.limits import allowed, most_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path
    from typing import IO

    from raglift.faults import Place

__all__ = ["decode_lines", "decode_text", "lines_of", "read_bytes", "read_text", "stream_lines"]

_BOM = "\ufeff"
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
# Not str.splitlines: U+2028 and its like may stand inside a JSON string.
_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_PIECE = 2**20
_MOST_BLANK = 10_000_000
"""So many blank lines in a row are no file that anybody wrote."""
_LINE_END = re.compile(rb"\r\n|\r|\n")


def read_bytes(path: Path, place: Place) -> bytes | None:
    """Return what a file holds; None, and a fault, when it cannot be read or is larger than what is taken."""
    try:
        with path.open("rb") as file:
            data = _read_whole(file)
    except OSError as error:
        place.fault(f"no readable file ({error.strerror or error})", f"a readable file at {path}")
        return None
    if data is None:
        place.fault(f"more than {most_bytes():,} bytes", allowed())
    return data


def _read_whole(file: BufferedReader) -> bytes | None:
    """Return all that a file holds; None where that is more than what is taken."""
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


def decode_text(data: bytes, place: Place) -> str | None:
    """Return a text with bare line feeds and no byte-order mark; None, and a fault, without one."""
    text = _decoded(data, place)
    return None if text is None else text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: Path, place: Place) -> str | None:
    """Return the text of a file as it stands, without a byte-order mark; None, and a fault, without one."""
    data = read_bytes(path, place)
    return None if data is None else _decoded(data, place)


def _decoded(data: bytes, place: Place) -> str | None:
    if _is_other_encoding(data, place):
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(data[: error.start])) + 1
        _note_bad_byte(data[error.start], error.start, place.at_line(line))
        return None
    return text.removeprefix(_BOM)


def decode_lines(data: bytes, place: Place) -> Iterator[tuple[Place, str]]:
    """Yield the place and text of each line that is not blank; note a fault for each that is not UTF-8."""
    if _is_other_encoding(data, place):
        return
    for number, match in enumerate(_LINE.finditer(data), start=1):
        here = place.at_line(number)
        try:
            line = match[1].decode("utf-8")
        except UnicodeDecodeError as error:
            _note_bad_byte(match[1][error.start], match.start() + error.start, here)
            continue
        line = line.removeprefix(_BOM) if number == 1 else line
        if line.strip(" \t"):
            yield here, line


def stream_lines(path: Path, place: Place) -> Iterator[tuple[Place, str]]:
    r"""Yield what `decode_lines` does, reading the file line by line: for files of any size.

    A file in another encoding has one fault, at its first line; lines end with `\n` or `\r\n`.

    Args:
        path: the file.
        place: the file, for faults.
    """
    try:
        with path.open("rb") as file:
            yield from lines_of(file, place)
    except OSError as error:
        place.fault(f"no readable file ({error.strerror or error})", f"a readable file at {path}")


def lines_of(file: IO[bytes], place: Place, *, longest: int | None = None) -> Iterator[tuple[Place, str]]:
    """Yield what `stream_lines` does, from a file that is open, as one that is unpacked while it is read.

    Args:
        file: the file, at its beginning.
        place: the file, for faults.
        longest: how many bytes a line may have; one that has more is a fault, and nothing is read after it.
    """
    begin = blank = 0
    lines = file if longest is None else iter(partial(file.readline, longest + 1), b"")
    for number, raw in enumerate(lines, start=1):
        if raw == b"\n":
            begin += 1
            blank += 1
            if blank > _MOST_BLANK:
                place.at_line(number).fault(
                    f"more than {_MOST_BLANK:,} blank lines in a row", "lines with something in them"
                )
                return
            continue
        blank = 0
        here = place.at_line(number)
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


def _is_other_encoding(data: bytes, place: Place) -> bool:
    if data.startswith(_OTHER_BOMS):
        place.fault("a byte-order mark of UTF-16 or UTF-32", "text in UTF-8: save the file as UTF-8")
        return True
    if (offset := data.find(b"\x00")) >= 0:
        place.fault(f"a NUL byte at byte {offset}, as in UTF-16 or a binary file", "text in UTF-8")
        return True
    return False


def _note_bad_byte(byte: int, offset: int, place: Place) -> None:
    place.fault(f"the byte 0x{byte:02x} at byte {offset} of the file, which is not UTF-8", "text in UTF-8")
