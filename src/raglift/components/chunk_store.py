"""Very many chunks: their texts in a file, and records made of those that are asked for."""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, overload
from weakref import WeakValueDictionary

from pydantic_core import from_json, to_json

from raglift.base.scratch import ScratchFile
from raglift.records.documents import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_IN_MEMORY = 100_000
"""More chunks are kept in a file: so many take about 100 MB."""


def hold_chunks(chunks: Iterable[Chunk]) -> Sequence[Chunk]:
    """Return chunks as a sequence that can be gone through again and again.

    What is in memory already stays there, as a tuple. Of an iterator, as a generator over documents that are split one
    after the other, the first 100,000 chunks are kept in memory; if there are more, all go into a file.

    Args:
        chunks: any number.

    Raises:
        CacheError: the file cannot be made or written.
    """
    if isinstance(chunks, StoredChunks):
        return chunks
    if isinstance(chunks, Sequence):
        return tuple(chunks)
    coming = iter(chunks)
    first = tuple(islice(coming, MOST_IN_MEMORY + 1))
    return first if len(first) <= MOST_IN_MEMORY else StoredChunks(chain(first, coming))


class StoredChunks(Sequence[Chunk]):
    """Chunks in a file that ends with the process: a sequence like any other, but for the memory it takes.

    A chunk is made of the file when it is asked for, and as long as somebody has it, the same one is returned again.
    Only those with a framework's own object, or with metadata that are no plain values, stay in memory.

    Args:
        chunks: at least one.

    Raises:
        CacheError: the file cannot be made or written.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        file = ScratchFile("chunks")
        self._ends = array("q", [0])
        self._whole: dict[int, Chunk] = {}
        for number, chunk in enumerate(chunks):
            written = _written(chunk)
            if written is None:
                self._whole[number] = chunk
            else:
                file.write(written)
            self._ends.append(file.size)
        self._bytes = memoryview(file.mapped() if file.size else b"")
        self._in_use: WeakValueDictionary[int, Chunk] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> Chunk: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[Chunk, ...]: ...
    def __getitem__(self, number: int | slice) -> Chunk | tuple[Chunk, ...]:
        if isinstance(number, slice):
            return tuple(map(self.__getitem__, range(*number.indices(len(self)))))
        place = range(len(self))[operator.index(number)]
        chunk = self._kept(place)
        if chunk is None:
            chunk = self._in_use[place] = self._made(place)
        return chunk

    def __iter__(self) -> Iterator[Chunk]:
        """Go through all chunks, of which none is kept."""
        for place in range(len(self)):
            chunk = self._kept(place)
            yield self._made(place) if chunk is None else chunk

    def __reduce__(self) -> tuple[Callable[[Iterable[Chunk]], StoredChunks], tuple[tuple[Chunk, ...]]]:
        """Travel as chunks: nobody else can read the file."""
        return StoredChunks, (tuple(self),)

    def __repr__(self) -> str:
        return f"StoredChunks({len(self):,} chunks)"

    @property
    def indexed_texts(self) -> Sequence[str]:
        """What raglift's retrievers read of each chunk."""
        return _IndexedTexts(self)

    def _kept(self, place: int) -> Chunk | None:
        return self._whole[place] if place in self._whole else self._in_use.get(place)

    def _made(self, place: int) -> Chunk:
        written = self._bytes[self._ends[place] : self._ends[place + 1]].tobytes()
        text, chunk_id, doc_id, start, end, metadata, context = from_json(written)
        return Chunk(text, chunk_id, doc_id, start, end, metadata, context=context)


class _IndexedTexts(Sequence[str]):
    def __init__(self, chunks: StoredChunks) -> None:
        self._chunks = chunks

    def __len__(self) -> int:
        return len(self._chunks)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [chunk.indexed_text for chunk in self._chunks[number]]
        return self._chunks[number].indexed_text

    def __iter__(self) -> Iterator[str]:
        return (chunk.indexed_text for chunk in self._chunks)


_PLAIN = (str, bool, type(None))
_DEEPEST, _MOST_BITS = 100, 10_000
"""Metadata that are nested deeper, and larger integers, stay in memory: what pydantic writes it may refuse to read."""


def _written(chunk: Chunk) -> bytes | None:
    """Return a chunk as JSON; None where it would not be read as it is, each value of the type that it has."""
    fields = [chunk.text, chunk.id, chunk.doc_id, chunk.start, chunk.end, chunk.metadata, chunk.context]
    if type(chunk) is not Chunk or chunk.origin is not None or not _is_plain(fields):
        return None
    try:
        return to_json(fields)
    except ValueError:  # half a character
        return None


def _is_plain(value: object, levels: int = _DEEPEST) -> bool:
    if type(value) is list:
        return levels > 0 and all(_is_plain(each, levels - 1) for each in value)
    if type(value) is dict:
        return levels > 0 and all(type(name) is str and _is_plain(each, levels - 1) for name, each in value.items())
    if type(value) is int:
        return value.bit_length() <= _MOST_BITS
    return math.isfinite(value) if type(value) is float else type(value) in _PLAIN
