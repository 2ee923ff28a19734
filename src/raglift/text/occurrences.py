"""All positions at which many patterns occur in many texts, in time linear in the texts.

A rolling hash (a polynomial modulo 2⁶⁴, from running sums) gives the hash of any window in constant time. Windows as
long as a pattern's prefix are looked up first; where one is found, the window as long as the pattern; where that is
found too, the characters are compared, so that a collision costs time and never a false answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BASE = 0x9E3779B97F4A7C15  # odd, so that its powers have inverses modulo 2⁶⁴
_MIX = 0xD6E8FEB86659FD93
_MODULUS = 1 << 64
_HEADS = (32, 16, 8, 4, 2, 1)
_BLOCK = 1 << 18  # characters; the arrays of a block stay in the processor's cache
_MOST_PAIRS = 1 << 20
_FILTER_BITS = range(12, 23)


class Occurrences(NamedTuple):
    """What occurs in one text: one row per occurrence, by position, then pattern."""

    pattern: NDArray[np.int64]
    """Index into the patterns."""
    position: NDArray[np.int64]
    """The first character of the occurrence in the text."""


def find_occurrences(patterns: Sequence[str], texts: Iterable[str]) -> Iterator[Occurrences]:
    """Yield every occurrence of the patterns in each text, overlapping ones too.

    Exact: nothing is normalized. An empty pattern occurs nowhere; equal patterns occur together. The time is linear in
    the texts and in what is found; the texts are read a block ahead and never all held.
    """
    return Patterns(patterns).find(texts)


class Patterns:
    """Patterns, prepared to be looked for."""

    def __init__(self, patterns: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        distinct = np.array([numbers.setdefault(text, len(numbers)) for text in patterns], dtype=np.int64)
        # Equal patterns are looked for once: the rows of each distinct one, as ranges of `order`.
        self._order = np.argsort(distinct, kind="stable")
        self._rows = np.concatenate(([0], np.cumsum(np.bincount(distinct, minlength=len(numbers)))))
        self._texts = list(numbers)
        self._lengths = np.array([len(text) for text in numbers], dtype=np.int64)
        self._longest = int(self._lengths.max(initial=0))
        self._size = max(_BLOCK, self._longest)
        self._groups = [
            _Group(head, chosen, self._texts, self._lengths)
            for head in _HEADS
            if len(chosen := _of_head(self._lengths, head))
        ]

    def find(self, texts: Iterable[str]) -> Iterator[Occurrences]:
        """Yield every occurrence of the patterns in each text."""
        pending: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for block in self._blocks(texts):
            pattern, position, piece = self._find_in(block)
            bounds = np.searchsorted(piece, np.arange(len(block.pieces) + 1))
            begins = block.begins
            for number, (offset, is_last) in enumerate(block.pieces):
                first, last = bounds[number], bounds[number + 1]
                if last > first:
                    pending.append((pattern[first:last], position[first:last] + (offset - begins[number])))
                if is_last:
                    yield self._joined(pending)
                    pending = []

    def _joined(self, found: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> Occurrences:
        """Return what was found in the pieces of one text, for each pattern that was given."""
        if not found:
            return _NOTHING
        pattern, position = (np.concatenate(parts) for parts in zip(*found, strict=True))
        source, place = members_of(self._rows[pattern], self._rows[pattern + 1])
        pattern, position = self._order[place], position[source]
        order = np.lexsort((pattern, position))
        return Occurrences(pattern[order], position[order])

    def _blocks(self, texts: Iterable[str]) -> Iterator[_Block]:
        """Yield the texts joined to blocks; a text longer than a block comes in pieces that overlap by a pattern."""
        parts: list[str] = []
        pieces: list[tuple[int, bool]] = []
        filled = 0
        for text in texts:
            for offset in range(0, max(len(text), 1), self._size):
                is_last = offset + self._size >= len(text)
                part = text if is_last and not offset else text[offset : offset + self._size + self._longest - 1]
                parts.append(part)
                pieces.append((offset, is_last))
                filled += len(part)
                if filled >= self._size or len(parts) >= _BLOCK // 16:
                    yield _Block(parts, pieces, self._size)
                    parts, pieces, filled = [], [], 0
        if parts:
            yield _Block(parts, pieces, self._size)

    def _find_in(self, block: _Block) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return (distinct pattern, position in the block, piece) of each occurrence in a block, by piece."""
        found = [pair for group in self._groups for pair in group.candidates(block)] if block.text else []
        if not found:
            return (_NONE,) * 3
        pattern, position = (np.concatenate(parts) for parts in zip(*found, strict=True))
        piece = np.searchsorted(block.begins, position, side="right") - 1
        inside = (position + self._lengths[pattern] <= block.ends[piece]) & (position < block.limits[piece])
        pattern, position, piece = pattern[inside], position[inside], piece[inside]
        true = self._is_there(block.text, pattern, position)
        pattern, position, piece = pattern[true], position[true], piece[true]
        order = np.argsort(piece, kind="stable")
        return pattern[order], position[order], piece[order]

    def _is_there(self, text: str, pattern: NDArray[np.int64], position: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare the characters: equal hashes may be of other texts."""
        rows = zip(pattern.tolist(), position.tolist(), strict=True)
        return np.array([text.startswith(self._texts[number], begin) for number, begin in rows], dtype=np.bool_)


class _Block:
    """Texts, or pieces of them, one after the other."""

    def __init__(self, parts: list[str], pieces: list[tuple[int, bool]], size: int) -> None:
        self.text = "".join(parts)
        self.pieces = pieces
        """For each piece, its offset in its text, and whether it is the last of that text."""
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        self.ends = np.cumsum(lengths)
        self.begins = self.ends - lengths
        is_last = np.array([last for _, last in pieces], dtype=np.bool_)
        self.limits = np.where(is_last, self.ends, self.begins + size)
        """One past the last position that belongs to the piece, and not to the one after it."""
        self._sums = _running_sums(self.text)

    def windows(self, length: int) -> NDArray[np.uint64]:
        """Return the hash of each window of a length."""
        count = len(self.text) - length + 1
        if count <= 0:
            return np.empty(0, dtype=np.uint64)
        hashes = self._sums[length:] - self._sums[:count]
        hashes *= _powers(count)[1][:count]
        return hashes

    def hashes(self, position: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the hashes of single windows."""
        found: NDArray[np.uint64] = self._sums[position + length] - self._sums[position]
        return found * _powers(len(self.text))[1][position]


class _Group:
    """Patterns that are looked for by the same number of first characters."""

    def __init__(self, head: int, chosen: NDArray[np.int64], texts: list[str], lengths: NDArray[np.int64]) -> None:
        self._head = head
        wanted = [texts[number] for number in chosen.tolist()]
        whole, heads = _hashes_of(wanted), _hashes_of([text[:head] for text in wanted])
        order = np.argsort(whole, kind="stable")
        self._whole, self._pattern = whole[order], chosen[order]
        self._heads, of_head = np.unique(heads, return_inverse=True)
        # The distinct lengths of the patterns behind each head, as ranges of `_lengths`
        pairs = np.unique(np.stack([of_head.reshape(-1), lengths[chosen]]), axis=1)
        self._lengths = pairs[1]
        self._rows = np.searchsorted(pairs[0], np.arange(len(self._heads) + 1))
        bits = min(max(len(self._heads).bit_length() + 7, _FILTER_BITS.start), _FILTER_BITS.stop)
        self._shift = np.uint64(64 - bits)
        self._filter = np.zeros(1 << bits, dtype=np.bool_)
        self._filter[self._heads >> self._shift] = True

    def candidates(self, block: _Block) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield (pattern, position) of the windows of a block whose hashes are those of a pattern."""
        hashes = block.windows(self._head)
        position = np.flatnonzero(self._filter[hashes >> self._shift])
        hashes = hashes[position]
        head = np.searchsorted(self._heads, hashes)
        known = self._heads[np.minimum(head, len(self._heads) - 1)] == hashes
        head, position = head[known], position[known]
        pairs = self._rows[head + 1] - self._rows[head]
        # No more at once than fits: each position may have many lengths to try
        cuts = np.searchsorted(np.cumsum(pairs), np.arange(_MOST_PAIRS, pairs.sum(), _MOST_PAIRS))
        for at, of in zip(np.split(position, cuts), np.split(head, cuts), strict=True):
            yield self._whole_patterns(block, at, of)

    def _whole_patterns(
        self, block: _Block, position: NDArray[np.int64], head: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        source, place = members_of(self._rows[head], self._rows[head + 1])
        position, length = position[source], self._lengths[place]
        fits = position + length <= len(block.text)
        position, length = position[fits], length[fits]
        hashes = block.hashes(position, length)
        source, place = members_of(
            np.searchsorted(self._whole, hashes), np.searchsorted(self._whole, hashes, side="right")
        )
        return self._pattern[place], position[source]


_NONE = np.empty(0, dtype=np.int64)
_NOTHING = Occurrences(_NONE, _NONE)


def _of_head(lengths: NDArray[np.int64], head: int) -> NDArray[np.int64]:
    """Return the patterns that are at least as long as a head, and shorter than the next longer one."""
    longer = head * 2 if head < _HEADS[0] else np.iinfo(np.int64).max
    return np.flatnonzero((lengths >= head) & (lengths < longer))


def members_of(first: NDArray[np.int64], last: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for ranges `[first, last)`, the number of its range and the value of each member."""
    sizes = last - first
    source = np.repeat(np.arange(len(first)), sizes)
    value = np.arange(len(source)) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
    return source, value


def _running_sums(text: str) -> NDArray[np.uint64]:
    """Return the sums of the first 0, 1, 2, … characters, each times the power of the base at its position."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum(codes * _powers(len(codes))[0][: len(codes)], out=sums[1:])
    return sums


def _hashes_of(texts: list[str]) -> NDArray[np.uint64]:
    """Return the hash of each text."""
    ends = np.cumsum([len(text) for text in texts])
    cuts = np.flatnonzero(np.diff(ends // _BLOCK)) + 1
    found = []
    for part in np.split(np.arange(len(texts)), cuts):
        parts = [texts[number] for number in part.tolist()]
        block = _Block(parts, [(0, True)] * len(parts), _BLOCK)
        found.append(block.hashes(block.begins, block.ends - block.begins))
    return np.concatenate(found)


def _powers(length: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return at least so many powers of the base, times a constant that spreads small codes, and their inverses."""
    return _powers_of_two(max(length, _BLOCK * 2).bit_length())


@lru_cache(maxsize=2)
def _powers_of_two(bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    def powers(base: int, first: int) -> NDArray[np.uint64]:
        factors = np.full(1 << bits, base % _MODULUS, dtype=np.uint64)
        factors[0] = first
        return np.cumprod(factors, dtype=np.uint64)

    return powers(_BASE, _MIX), powers(pow(_BASE, -1, _MODULUS), 1)
