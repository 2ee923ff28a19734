"""Hits and labels one by one, each with its place: slow, and able to say of everything where it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from raglift.faults import quoted, shown
from raglift.records.passages import RELEVANT
from raglift.run_files.reading.columns import Hits

if TYPE_CHECKING:
    from raglift.faults import Place

__all__ = ["Gathered", "Labels", "grade_of", "read_grade"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_GRADE = f"an integer of at most {RELEVANT.stop - 1}: 0 for what was judged irrelevant"


class Gathered:
    """The hits of a run, as they are read; an id that a query already has is a fault."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._first: dict[str, dict[str, Place]] = {}
        self._score: list[tuple[str, str, float | None]] = []

    def begin(self, here: Place, query: str) -> bool:
        """Note a query whose hits stand together; whether it is a new one, else a fault."""
        if query in self._first:
            here.fault(f"the query {quoted(query)} a second time", "one list of hits for each query")
            return False
        self._first[query] = {}
        return True

    def add(self, here: Place, query: str, id_: str, score: float | None) -> None:
        """Note a hit."""
        of_query = self._first.setdefault(query, {})
        earlier = of_query.setdefault(id_, here)
        if earlier is here:
            self._score.append((query, id_, score))
        else:
            found = f"the id {quoted(id_)} a second time for the query {quoted(query)}, first {_standing(earlier)}"
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
    """Judgements as they are read; the same one again changes nothing, another of the same pair is a fault."""

    def __init__(self) -> None:
        self.grades: dict[str, dict[str, int]] = {}
        self._places: dict[tuple[str, str], Place] = {}

    def add(self, here: Place, query: str, id_: str, grade: int, hint: str = "") -> None:
        """Note a judgement; the hint says more to a fault of it."""
        of_query = self.grades.setdefault(query, {})
        known = of_query.setdefault(id_, grade)
        earlier = self._places.setdefault((query, id_), here)
        if known != grade:
            found = f"the grade {grade} for {quoted(id_)}, which has {known} {_standing(earlier)}"
            here.fault(found, f"one grade for each query and id{hint}")


def _standing(earlier: Place) -> str:
    """Return where something stood before: `on line 3`, `in row 7`."""
    return f"in {earlier.field}" if earlier.line is None else f"on line {earlier.line}"


def read_grade(value: object, here: Place) -> int | None:
    """Return a grade; None, and a fault, when it is none."""
    if type(value) is not int or value >= RELEVANT.stop:
        here.fault(shown(value), _GRADE)
        return None
    return value


def grade_of(text: str) -> int | str:
    """Return the integer that a text says, and any other text as it is."""
    return int(text) if _INTEGER.fullmatch(text) else text
