"""Rankings and labels as numbers: for many hits, where an object for each would be most of the work."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

    Codes: TypeAlias = NDArray[np.signedinteger[Any]]
    Texts: TypeAlias = pa.Array | NDArray[np.object_]
    """Texts in Arrow's memory; as objects of Python's where one holds half a character, which Arrow cannot hold."""


@runtime_checkable
class NumberedRankings(Protocol):
    """Rankings as numbers. In each ranking an id stands once."""

    names: Texts
    """The ids that came back, each once."""
    ids: Codes
    """All rankings one after the other, best first: for each hit, which of `names` it is."""

    def span(self, query_id: str) -> tuple[int, int]:
        """Return where the ranking of a query begins and ends in `ids`; equal where there is none."""


@dataclass(frozen=True, eq=False)
class NumberedLabels(Mapping[str, Mapping[str, int]]):
    """The grade of each judged id of each query, as columns; the mapping of a query is made when it is asked for."""

    queries: tuple[str, ...]
    """The ids of the queries, each once."""
    bounds: NDArray[np.int64]
    """Where the labels of each query begin, and where those of the last one end."""
    names: Texts
    """The judged ids, each once."""
    ids: Codes
    """All labels, query after query: for each, which of `names` it is. No id stands twice for a query."""
    grades: NDArray[np.int64]
    """The grade of each label."""
    _place: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_place", {query: place for place, query in enumerate(self.queries)})

    @classmethod
    def of_columns(
        cls, queries: Sequence[str], names: Texts, query: Codes, ids: Codes, grades: NDArray[np.int64]
    ) -> NumberedLabels:
        """Return labels that are rows in any order; those of one query keep theirs."""
        bounds = np.concatenate(([0], np.cumsum(np.bincount(query, minlength=len(queries)))))
        if (query[1:] < query[:-1]).any():
            order = np.argsort(query, kind="stable")
            ids, grades = ids[order], grades[order]
        return cls(tuple(queries), bounds, names, ids, grades)

    def __getitem__(self, query_id: str) -> dict[str, int]:
        """Return the grade of each judged id of a query.

        Raises:
            KeyError: there are no labels of the query.
        """
        place = self._place[query_id]
        rows = slice(self.bounds[place], self.bounds[place + 1])
        return dict(zip(texts_at(self.names, self.ids[rows]), self.grades[rows].tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._place

    def only(self, queries: Collection[str]) -> NumberedLabels:
        """Return the labels of some of the queries, in their order."""
        places = np.array([self._place[query] for query in queries], dtype=np.int64)
        lengths = np.diff(self.bounds)[places]
        bounds = np.concatenate(([0], np.cumsum(lengths)))
        rows = np.arange(bounds[-1]) + np.repeat(self.bounds[places] - bounds[:-1], lengths)
        return NumberedLabels(tuple(queries), bounds, self.names, self.ids[rows], self.grades[rows])

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Return all of them as dictionaries."""
        ids, grades, ends = texts_at(self.names, self.ids), self.grades.tolist(), self.bounds.tolist()
        return {
            query: dict(zip(ids[begin:end], grades[begin:end], strict=True))
            for query, begin, end in zip(self.queries, ends, ends[1:], strict=False)
        }


def texts_at(texts: Texts, places: Codes) -> list[str]:
    """Return the texts at some places."""
    if isinstance(texts, np.ndarray):
        found: list[str] = texts[places].tolist()
        return found
    import pyarrow as pa

    return all_texts(texts.take(pa.array(places)))


def all_texts(texts: Texts) -> list[str]:
    """Return texts as a list; `tolist` of Arrow's would make an object of Arrow's for each."""
    found: list[str] = (texts if isinstance(texts, np.ndarray) else texts.to_numpy(zero_copy_only=False)).tolist()
    return found


def places_of(searched: Texts, texts: Texts) -> NDArray[np.int64]:
    """Return where each wanted text stands in `texts`; -1 if nowhere. On both sides each text stands once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = np.full(len(searched), -1, dtype=np.int64)
    try:
        # The wanted ones are looked up in, because they are fewer as a rule
        places = pc.index_in(pa.array(texts, pa.string()), value_set=pa.array(searched, pa.string()))
    except UnicodeEncodeError:  # half a character, which Arrow cannot hold
        place_of = {name: place for place, name in enumerate(all_texts(texts))}
        found[:] = [place_of.get(name, -1) for name in all_texts(searched)]
        return found
    known = np.asarray(places.is_valid())
    found[np.asarray(places.drop_null())] = np.flatnonzero(known)
    return found


_AT_ONCE = 2**14
"""So many hits are worked on at a time: their numbers stay in the processor's cache, in memory that is used again."""


def whole_rankings(lengths: NDArray[np.int64], at_once: int = _AT_ONCE) -> Iterator[slice]:
    """Yield which rankings, one after the other, have about as many hits together as are worked on at a time.

    Args:
        lengths: how many hits each ranking has.
        at_once: so many hits are the most, except where a single ranking has more.
    """
    ends = np.cumsum(lengths)
    begin = hits = 0
    while begin < len(ends):
        end = max(int(np.searchsorted(ends, hits + at_once, side="right")), begin + 1)
        yield slice(begin, end)
        begin, hits = end, int(ends[end - 1])


def repeats_an_id(query: Codes, ids: Codes, queries: int, names: int) -> bool:
    """Whether an id stands twice for one query."""
    if (query[1:] < query[:-1]).any():
        order = np.argsort(query, kind="stable")
        query, ids = query[order], ids[order]
    lengths = np.bincount(query, minlength=queries)
    ends = np.cumsum(lengths)
    for some in whole_rankings(lengths) if len(query) else ():
        rows = slice(ends[some.start] - lengths[some.start], ends[some.stop - 1])
        few = query[rows] - some.start
        # Sorting 32 bits takes half the time
        pairs = few.astype(np.int32 if (some.stop - some.start) * names < 2**31 else np.int64) * names + ids[rows]
        pairs.sort()
        if (pairs[1:] == pairs[:-1]).any():
            return True
    return False
