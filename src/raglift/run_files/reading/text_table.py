"""Lines of columns with white space between them, as TREC's: in bulk where they are as they should be, else one by one.

Arrow reads what is regular. Wherever it finds something that it cannot read, or that is read otherwise than `trec_eval`
reads it, the file is read again line by line, and that is what says what is wrong, or that nothing is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raglift.dataset.decoding import lines_of
from raglift.run_files.reading.blocks import LONGEST_ROW, arrow_copy, blocks_of, enough, is_evenly_spaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

    import pyarrow as pa

    from raglift.faults import Place

__all__ = ["bulk_table", "rows"]

_TO_SPACES = bytes.maketrans(b"\t\v\f\r", b"    ")
_WORDS = re.compile(r"[^ \t\v\f\r]+")  # what C's isspace() knows: other white space may stand in an id


def bulk_table(file: IO[bytes], columns: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table | None:
    """Return the columns asked for; None where the lines must be looked at one by one.

    Args:
        file: the file, at its beginning.
        columns: the names of all columns.
        types: what the wanted ones are.
    """
    import pyarrow as pa
    from pyarrow import csv

    reading = csv.ReadOptions(column_names=list(columns), use_threads=True)
    parsing = csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False)
    converting = csv.ConvertOptions(include_columns=list(types), column_types=dict(types), null_values=[])
    tables = []
    for block in blocks_of(file, LONGEST_ROW):
        lines = None if block is None else _evenly_spaced(block)
        if lines is None:
            return None
        if lines:
            try:
                tables.append(csv.read_csv(arrow_copy(lines), reading, parsing, converting))
            except pa.ArrowInvalid:
                return None
    # Byte-order marks alone are a line to us, and none to Arrow
    return pa.concat_tables(tables) if any(table.num_rows for table in tables) else None


def _evenly_spaced(block: bytes) -> bytes | None:
    """Return lines whose columns have one space between them; None for what is no text."""
    if not block.strip():  # of which a small compressed file can hold a lot
        return b""
    try:
        block.decode()  # Arrow looks only at the columns that are asked for
    except UnicodeDecodeError:
        return None
    if b"\0" in block:
        return None
    if is_evenly_spaced(block):
        return block
    lines = block.translate(_TO_SPACES)
    while b"  " in lines:
        lines = lines.replace(b"  ", b" ")
    return lines.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" \n")


def rows(
    file: IO[bytes], columns: Sequence[str], place: Place, *, comments: bool = False, may_go_on: bool = False
) -> Iterator[tuple[Place, list[str]]]:
    """Yield the place and the columns of each line that has as many as it should; note a fault for each other one.

    Args:
        file: the file, at its beginning.
        columns: the names of the columns.
        place: the file.
        comments: whether a line that begins with `#` is left out.
        may_go_on: whether what follows the last column is left out.
    """
    expected = f"{len(columns)} columns: {' '.join(columns)}"
    any_line = False
    for here, line in lines_of(file, place, longest=LONGEST_ROW):
        words = _WORDS.findall(line)
        if comments and words and words[0].startswith("#"):
            continue
        if may_go_on:
            words = words[: len(columns)]
        any_line |= bool(words)
        if len(words) == len(columns):
            yield here, words
        elif words:
            here.fault(f"{len(words)} column{'' if len(words) == 1 else 's'}", expected)
        if enough(here, expected):
            return
    if not any_line and not place.faults:
        place.fault("no lines", f"lines of {expected}")
