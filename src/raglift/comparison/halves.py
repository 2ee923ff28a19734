"""Two halves of the queries: one to choose the best system on, one to measure it on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Query

__all__ = ["halves"]


def halves(queries: Sequence[Query], seed: int) -> tuple[list[int], list[int]]:
    """Split queries in two halves that hold each tag about equally often.

    Each query belongs to the rarest of its tags (of equally rare ones, the first in alphabetical order), those without
    tags to a group of their own. The groups are shuffled and put in line one after the other, and the line is dealt
    out in turn: each group, and the whole, is split to within one query. The same queries, tags and seed give the same
    halves, whatever order the queries come in.

    Args:
        queries: those that are scored.
        seed: of the shuffling.

    Returns:
        The places of the queries of each half, in rising order; the first half is never the smaller.
    """
    frequency = Counter(tag for query in queries for tag in set(query.tags))
    groups: dict[tuple[str, ...], list[int]] = {}
    for place in sorted(range(len(queries)), key=lambda place: queries[place].id):
        tags = sorted(set(queries[place].tags), key=lambda tag: (frequency[tag], tag))
        groups.setdefault(tuple(tags[:1]), []).append(place)
    random = np.random.default_rng(seed)
    line = [place for group in sorted(groups) for place in random.permutation(groups[group]).tolist()]
    return sorted(line[::2]), sorted(line[1::2])
