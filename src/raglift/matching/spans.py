"""How many characters of a query's passages are covered, each character of the source once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.coverage import covered_length

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from raglift.matching.coverage import Interval
    from raglift.matching.judgements import FactTable, PassageTable

__all__ = ["best_covered", "covered_characters"]


def covered_characters(
    queries: int, facts: FactTable, passages: PassageTable, pieces: dict[int, list[Interval]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each query, how many characters of its passages are covered, and how many there are.

    Of alternatives, the one that is covered best counts. Passages of one document are on one line, so that what two
    of them share counts once; a passage without a place is on a line of its own, with all that have the same text.

    Args:
        queries: how many queries there are.
        facts: all facts.
        passages: their passages.
        pieces: for each row of `passages`, the intervals of its characters that are covered.
    """
    lines: dict[int, dict[Hashable, tuple[list[Interval], list[Interval]]]] = {}
    for fact, row in enumerate(best_covered(facts, passages, pieces)):
        text = None if row is None else passages.texts[row]
        if row is None or text is None:
            continue
        name, offset = passages.places[row] or (("text", text), 0)
        of_query = lines.setdefault(int(facts.query[fact]), {})
        covered, wanted = of_query.setdefault(name, ([], []))
        wanted.append((offset, offset + len(text)))
        covered += [(offset + start, offset + end) for start, end in pieces.get(row, ())]
    totals = np.zeros((2, queries), dtype=np.int64)
    for query, of_query in lines.items():
        for covered, wanted in of_query.values():
            totals[0, query] += covered_length(covered)
            totals[1, query] += covered_length(wanted)
    return totals[0], totals[1]


def best_covered(facts: FactTable, passages: PassageTable, pieces: dict[int, list[Interval]]) -> list[int | None]:
    """Return, for each fact, the row of the passage of which the greatest part is covered, the first of equals.

    None for a fact that has chunk ids alone.
    """
    best: list[int | None] = []
    for first, count in zip(passages.first.tolist(), facts.passages.tolist(), strict=True):
        chosen, greatest = None, -1.0
        for row in range(first, first + count):
            text = passages.texts[row]
            part = covered_length(pieces.get(row, ())) / len(text) if text else -1.0
            if part > greatest:
                chosen, greatest = row, part
        best.append(chosen)
    return best
