"""Files of rankings and judgments as columns: read in bulk, or line by line where a fault must be found."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from raglift.base.limits import allowed, most_bytes
from raglift.base.strict_files import lines_of
from raglift.base.validation import quoted, shown
from raglift.matching.numbered import repeats_an_id, texts_at
from raglift.records.labels import RELEVANT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from raglift.base.validation import Location
    from raglift.matching.numbered import Codes, Texts


Item = TypeVar("Item")
Result = TypeVar("Result")


# Reading files in blocks of whole lines, decompressed on the fly, so that a large file is never in memory as text.


BLOCK = 2**18
"""So many bytes of lines of columns are read at a time; larger ones are slower, as their memory is new each time."""
LONGEST_ROW, LONGEST_OBJECT = 2**20, 2**27
"""So many bytes may a line of columns have, and one of JSON, which may hold all hits of a query."""
_READERS = 2
_BLOCKS_AT_ONCE = 256
"""So many blocks are held as texts until these are numbered: 64 MB."""
MOST_FAULTS = 1000
"""After so many faults the rest of a file is not looked at."""
_GZIP = b"\x1f\x8b"
_SPACE, _LINE_FEED = 32, 10


@contextmanager
def open_unpacked(path: Path, location: Location) -> Iterator[IO[bytes] | None]:
    """Open a file, unpacking what is compressed with gzip, whatever its name; None, and a fault, without one.

    What goes wrong while it is read is noted as well.
    """
    try:
        file = path.open("rb")
        packed = file.read(2) == _GZIP
        file.seek(0)
    except OSError as error:
        _note(error, path, location)
        yield None
        return
    with file:
        try:
            yield cast("IO[bytes]", io.BufferedReader(_Unpacked(file), BLOCK)) if packed else file
        except _TooMuch:
            location.fault(f"a compressed file that unpacks to more than {most_bytes():,} bytes", allowed())
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            location.fault(f"a compressed file that is damaged ({error})", "a file that gzip can unpack")
        except OSError as error:
            _note(error, path, location)


class _TooMuch(Exception):
    """A compressed file unpacks to more than what is taken."""


class _Unpacked(io.RawIOBase):
    """What a file compressed with gzip holds, up to as much as is taken of one input.

    Args:
        file: the compressed file, at its beginning.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = gzip.GzipFile(fileobj=file)
        self._left = most_bytes()

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Put the next bytes into a buffer, and return how many.

        Raises:
            _TooMuch: it unpacks to more than what is taken.
        """
        count = self._file.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise _TooMuch
        return count


def _note(error: OSError, path: Path, location: Location) -> None:
    location.fault(f"no readable file ({error.strerror or error})", f"a readable file at {path}")


def blocks_of(file: IO[bytes], longest: int, size: int = BLOCK) -> Iterator[bytes | None]:
    """Yield a file's bytes in blocks that end where a line ends; the byte-order mark of UTF-8 is left out.

    Args:
        file: the file, at its beginning.
        longest: how many bytes a line may have; where one goes on for longer after a block, None is the last block.
        size: how many bytes a block has, and what is missing of its last line.
    """
    first = True
    while block := file.read(size):
        if not block.endswith(b"\n"):
            rest = file.readline(longest + 1)
            if len(rest) > longest:
                yield None
                return
            block += rest
        block = block.removeprefix(b"\xef\xbb\xbf") if first else block
        first = False
        if block:
            yield block


def arrow_copy(block: bytes) -> pa.Buffer:
    """Return a block in memory that is Arrow's own.

    A thread of Arrow's may let go of what it read only after the reading has returned. Were that memory Python's, it
    would need the interpreter for it, and where that is ending just then, the process is aborted.
    """
    import pyarrow as pa

    copy = pa.allocate_buffer(len(block))
    memoryview(copy).cast("B")[:] = block
    return copy


def is_evenly_spaced(block: bytes) -> bool:
    """Whether all white space is one space or one line feed at a time, and no space begins or ends a line."""
    letters = np.frombuffer(block, dtype=np.uint8)
    blank = letters <= _SPACE
    plain = np.count_nonzero(letters == _SPACE) + np.count_nonzero(letters == _LINE_FEED)
    if blank[0] or letters[-1] == _SPACE or plain != np.count_nonzero(blank):
        return False
    return not (blank[1:] & blank[:-1]).any()


def has_enough_faults(location: Location, expected: str) -> bool:
    """Whether there are so many faults that the rest need not be looked at; this is noted as the last of them."""
    if len(location.faults) < MOST_FAULTS:
        return False
    if len(location.faults) == MOST_FAULTS:
        location.fault(f"{MOST_FAULTS:,} faults up to here; the rest was not looked at", expected)
    return True


# The hits of a file as columns, and their ranking order, without an object per hit.


@dataclass(frozen=True, eq=False)
class Hits:
    """What a file says, in its own order: one row per hit."""

    queries: tuple[str, ...]
    """The ids of the queries, each once, in the order in which they first appear."""
    names: Texts
    """The ids of the hits, each once."""
    query: Codes
    """For each hit, which of `queries` it is for."""
    id: Codes
    """For each hit, which of `names` it is."""
    score: NDArray[Any] | None = None
    """For each hit, its score; more comes first. None if the file's own order counts."""
    rank: Codes | None = None
    """For each hit, the rank that the file gives next to the score that counts; None if it gives none."""


def encoded_texts(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Return a column of texts as numbers, and the texts that they stand for, in the order of their appearance.

    Args:
        column: texts, as a dictionary of its own in each chunk or plain.
    """
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = (encoded if encoded.num_chunks == 1 else encoded.unify_dictionaries()).chunks
    if not chunks:
        return np.zeros(0, dtype=np.int64), pa.array([], pa.string())
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
    return codes, chunks[0].dictionary


def has_duplicates(hits: Hits) -> bool:
    """Whether some id comes twice for one query."""
    return repeats_an_id(hits.query, hits.id, len(hits.queries), len(hits.names))


def contradicted_queries(hits: Hits) -> list[str]:
    """Return the queries in which a hit with a higher score than another has a later rank, in the file's order."""
    if hits.rank is None or hits.score is None:
        return []
    same, falling = hits.query[1:] == hits.query[:-1], hits.score[1:] <= hits.score[:-1]
    if (hits.query[1:] >= hits.query[:-1]).all() and (~same | (falling & (hits.rank[1:] >= hits.rank[:-1]))).all():
        return []  # as most files are
    order = np.lexsort((hits.rank, -hits.score, hits.query))
    query, score, rank = hits.query[order], hits.score[order], hits.rank[order]
    # Equal scores are in the order of their ranks, so an earlier rank can only follow where the score falls
    falls = (query[1:] == query[:-1]) & (rank[1:] < rank[:-1]) & (score[1:] < score[:-1])
    return [hits.queries[number] for number in np.unique(query[1:][falls]).tolist()]


def ranking_order(hits: Hits) -> tuple[Codes, Codes]:
    """Return the ids of all rankings, one after the other and best first, and where each begins and the last ends.

    Scores descend, and equal ones are ordered by id, descending by code points, as trec_eval does with bytes of
    UTF-8: both orders are the same. Without scores each ranking keeps the file's order.
    """
    ends = np.cumsum(np.bincount(hits.query, minlength=len(hits.queries)))
    bounds = np.concatenate(([0], ends)).astype(np.int64)
    order = np.argsort(hits.query, kind="stable") if (hits.query[1:] < hits.query[:-1]).any() else None
    if hits.score is None:
        return (hits.id if order is None else hits.id[order]), bounds
    query, score = (hits.query, hits.score) if order is None else (hits.query[order], hits.score[order])
    if not ((score[1:] <= score[:-1]) | (query[1:] != query[:-1])).all():
        order = np.lexsort((-hits.score, hits.query))
        query, score = hits.query[order], hits.score[order]
    ids = hits.id if order is None else hits.id[order]
    return _ties_by_id(ids, query, score, hits.names), bounds


def _ties_by_id(ids: Codes, query: Codes, score: NDArray[Any], names: Texts) -> Codes:
    """Return the ids with those of equal score in descending order of their texts."""
    same = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    if not same.any():
        return ids
    tied = np.zeros(len(ids), dtype=np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    is_first = tied.copy()
    is_first[1:] &= ~same
    group = np.cumsum(is_first[tied])
    of_tied, number = np.unique(ids[tied], return_inverse=True)
    location = np.empty(len(of_tied), dtype=np.int64)
    location[_sorted_places(texts_at(names, of_tied))] = np.arange(len(of_tied))
    result = ids.copy()
    result[tied] = ids[tied][np.lexsort((-location[number], group))]
    return result


def _sorted_places(texts: Sequence[str]) -> list[int]:
    return sorted(range(len(texts)), key=texts.__getitem__)


# Reading hits and labels one by one, each with its line: slow, but every fault has a position.


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_GRADE = f"an integer of at most {RELEVANT.stop - 1}: 0 for what was judged irrelevant"


class HitCollector:
    """The hits of a run, as they are read; an id that a query already has is a fault."""

    def __init__(self, location: Location) -> None:
        self._place = location
        self._first: dict[str, dict[str, Location]] = {}
        self._score: list[tuple[str, str, float | None]] = []

    def begin(self, here: Location, query: str) -> bool:
        """Note a query whose hits stand together; whether it is a new one, else a fault."""
        if query in self._first:
            here.fault(f"the query {quoted(query)} a second time", "one list of hits for each query")
            return False
        self._first[query] = {}
        return True

    def add(self, here: Location, query: str, id_: str, score: float | None) -> None:
        """Note a hit."""
        of_query = self._first.setdefault(query, {})
        earlier = of_query.setdefault(id_, here)
        if earlier is here:
            self._score.append((query, id_, score))
        else:
            found = f"the id {quoted(id_)} a second time for the query {quoted(query)}, first {_position_of(earlier)}"
            here.fault(found, "each id once in a ranking")

    def hits(self, *, by_score: bool = True) -> Hits:
        """Return what was read.

        Args:
            by_score: whether scores give the order, where there are any.
        """
        queries = {query: number for number, query in enumerate(self._first)}
        names: dict[str, int] = {}
        ids = [names.setdefault(id_, len(names)) for _, id_, _ in self._score]
        scored = by_score and any(score is not None for _, _, score in self._score)
        return Hits(
            queries=tuple(queries),
            names=np.array(list(names), dtype=np.object_),
            query=np.array([queries[query] for query, _, _ in self._score], dtype=np.int64),
            id=np.array(ids, dtype=np.int64),
            score=np.array([score for _, _, score in self._score], dtype=np.float64) if scored else None,
        )


class Labels:
    """Judgments as they are read; the same one again changes nothing, another of the same pair is a fault."""

    def __init__(self) -> None:
        self.grades: dict[str, dict[str, int]] = {}
        self._places: dict[tuple[str, str], Location] = {}

    def add(self, here: Location, query: str, id_: str, grade: int, hint: str = "") -> None:
        """Note a judgment; the hint says more to a fault of it."""
        of_query = self.grades.setdefault(query, {})
        known = of_query.setdefault(id_, grade)
        earlier = self._places.setdefault((query, id_), here)
        if known != grade:
            found = f"the grade {grade} for {quoted(id_)}, which has {known} {_position_of(earlier)}"
            here.fault(found, f"one grade for each query and id{hint}")


def _position_of(earlier: Location) -> str:
    """Return where something was before: `on line 3`, `in row 7`."""
    return f"in {earlier.field}" if earlier.line is None else f"on line {earlier.line}"


def read_grade(value: object, here: Location) -> int | None:
    """Return a grade; None, and a fault, when it is none."""
    if type(value) is not int or value >= RELEVANT.stop:
        here.fault(shown(value), _GRADE)
        return None
    return value


def grade_of(text: str) -> int | str:
    """Return the integer that a text says, and any other text as it is."""
    return int(text) if _INTEGER.fullmatch(text) else text


# Lines of columns separated by white space, as TREC's: read in bulk if they are regular, otherwise one by one. If Arrow
# finds something that it cannot read, or would read differently from `trec_eval`, the file is read again line by line,
# and that pass reports the faults, if there are any.


_TO_SPACES = bytes.maketrans(b"\t\v\f\r", b"    ")
_WORDS = re.compile(r"[^ \t\v\f\r]+")  # what C's isspace() knows: other white space may stand in an id


class Bulk(NamedTuple):
    """What lines of columns say, and the columns of the last one as texts."""

    table: pa.Table
    last: list[str]


def bulk_table(
    file: IO[bytes], columns: Sequence[str], types: Mapping[str, pa.DataType], repeating: Collection[str] = ()
) -> Bulk | None:
    """Return the columns asked for; None if the lines must be looked at one by one.

    Texts are dictionaries of numbers, one for many blocks: so a large file is never in memory as text.

    Args:
        file: the file, at its beginning.
        columns: the names of all columns.
        types: what the wanted ones are.
        repeating: the columns of texts that have few in a block of lines: they are numbered in each block by itself.
    """
    import pyarrow as pa
    from pyarrow import csv

    reading = csv.ReadOptions(column_names=list(columns), use_threads=False)
    parsing = csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False)
    converting = csv.ConvertOptions(include_columns=list(types), column_types=dict(types), null_values=[])

    def read(block: bytes | None) -> tuple[bytes, pa.Table | None] | None:
        """Return lines, and what they say; None if they must be looked at one by one."""
        lines = None if block is None else _evenly_spaced(block)
        if not lines:
            return None if lines is None else (b"", None)
        try:
            return lines, _numbered(csv.read_csv(arrow_copy(lines), reading, parsing, converting), repeating)
        except pa.ArrowInvalid:
            return None

    encoded: list[pa.Table] = []
    tables: list[pa.Table] = []
    last = b""
    for found in _ahead(read, blocks_of(file, LONGEST_ROW)):
        if found is None:
            return None
        lines, table = found
        if table is None:
            continue
        last = lines
        tables.append(table)
        if len(tables) == _BLOCKS_AT_ONCE:
            encoded.append(_encoded(tables))
            tables = []
    encoded += [_encoded(tables)] if tables else []
    # Byte-order marks alone are a line to us, and none to Arrow
    if not any(table.num_rows for table in encoded):
        return None
    return Bulk(pa.concat_tables(encoded), last.rstrip(b"\n").rpartition(b"\n")[2].decode().split(" "))


def _ahead(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield what a function makes of each item, in their order, worked on by two threads a few items ahead."""
    with ThreadPoolExecutor(_READERS) as readers:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(readers.submit(function, item))
            if len(waiting) > 2 * _READERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _encoded(tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables as one, with texts as numbers."""
    import pyarrow as pa

    table = pa.concat_tables(tables)
    return _numbered(table, [name for name in table.column_names if pa.types.is_string(table.column(name).type)])


def _numbered(table: pa.Table, names: Collection[str]) -> pa.Table:
    """Return a table with the texts of some columns as numbers."""
    for name in names:
        # As one chunk: of several, each would have all texts
        numbers = table.column(name).combine_chunks().dictionary_encode()
        table = table.set_column(table.column_names.index(name), name, numbers)
    return table


def _evenly_spaced(block: bytes) -> bytes | None:
    """Return lines whose columns have one space between them; None for what is not text."""
    if not block.strip():  # of which a small compressed file can hold a lot
        return b""
    if not block.isascii():
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


def rows(file: IO[bytes], columns: Sequence[str], location: Location) -> Iterator[tuple[Location, list[str]]]:
    """Yield the location and the columns of each line that has as many as it should; note a fault for each other one.

    Args:
        file: the file, at its beginning.
        columns: the names of the columns.
        location: the file.
    """
    expected = f"{len(columns)} columns: {' '.join(columns)}"
    any_line = False
    for here, line in lines_of(file, location, longest=LONGEST_ROW):
        words = _WORDS.findall(line)
        any_line |= bool(words)
        if len(words) == len(columns):
            yield here, words
        elif words:
            here.fault(f"{len(words)} column{'' if len(words) == 1 else 's'}", expected)
        if has_enough_faults(here, expected):
            return
    if not any_line and not location.faults:
        location.fault("no lines", f"lines of {expected}")
