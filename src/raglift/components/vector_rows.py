"""Vectors as they are computed, row after row: in memory, or in a file where they would take much of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.base.scratch import ScratchFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


MOST_IN_MEMORY = 256 * 2**20
"""Vectors of more bytes are kept in a file: 262,144 of 256 dimensions, 174,762 of 384."""


class VectorRows:
    """As many vectors as were announced, appended in their order.

    Args:
        count: how many there will be.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._added = 0
        self._blocks: list[Vectors] = []
        self._file: ScratchFile | None = None
        self._dimensions = 0

    def append(self, new: Vectors, source: NDArray[np.int64]) -> None:
        """Add rows.

        Args:
            new: the vectors of those rows that do not repeat an earlier one, in their order.
            source: for each row the first row that has its vector: itself, or an earlier one.

        Raises:
            CacheError: the file cannot be written.
        """
        block = self._repeated(new, source)
        self._added += len(block)
        if self._count * block.shape[1] * block.itemsize <= MOST_IN_MEMORY:
            self._blocks.append(block)
            return
        self._dimensions = block.shape[1]
        if self._file is None:
            self._file = ScratchFile("vectors")
        self._file.write(np.ascontiguousarray(block).data.cast("B"))

    def _repeated(self, new: Vectors, source: NDArray[np.int64]) -> Vectors:
        if len(new) == len(source):
            return new
        is_new = source == np.arange(self._added, self._added + len(source))
        is_before = source < self._added
        before = self.so_far() if is_before.any() else new
        block = np.empty((len(source), before.shape[1]), dtype=np.float32)
        if len(new):
            block[is_new] = new
        block[is_before] = before[source[is_before]]
        is_inside = ~is_new & ~is_before
        block[is_inside] = block[source[is_inside] - self._added]
        return block

    def so_far(self) -> Vectors:
        """Return the rows that were added, mapped from the file where they are in one.

        Raises:
            CacheError: the file cannot be written to its end, or mapped.
        """
        if self._file is None:
            self._blocks = [np.concatenate(self._blocks)] if len(self._blocks) > 1 else self._blocks
            return self._blocks[0]
        return np.frombuffer(self._file.mapped(), dtype=np.float32).reshape(-1, self._dimensions)


def first_rows(keys: bytes) -> NDArray[np.int64]:
    """Return for each key the number of the first that is equal: its own, where no earlier one is.

    Args:
        keys: of `KEY_BYTES` each, one after the other.
    """
    halves = np.frombuffer(keys, dtype=np.uint64).reshape(-1, 2)
    order = np.lexsort(halves.T)  # stable: equal keys stay in their order
    ordered = halves[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.empty(len(order), dtype=np.int64)
    first[order] = order[is_first][np.cumsum(is_first) - 1]
    return first
