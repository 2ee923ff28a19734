"""Matching of rankings and labels that consist only of ids: no texts, and no object per hit.

The matches are those that `match_rankings` makes for chunk-id labels with one passage per fact, directly from the
lists. With a million hits, visiting each of them is the main cost: each is looked up once, by the interpreter's own
code, and only those that match are visited again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, compress, count
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from raglift.base.validation import Location, shown
from raglift.errors import DatasetError, Fault
from raglift.matching.matches import (
    Direction,
    FactTable,
    HitPositions,
    Matches,
    MatchTable,
    PassageTable,
    satisfactions_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray


@runtime_checkable
class NumberedRankings(Protocol):
    """Rankings as numbers: for many hits, where an object for each would be most of the work.

    In each ranking an id stands once.
    """

    names: NDArray[np.object_]
    """The ids that came back, each once."""
    ids: NDArray[np.signedinteger[Any]]
    """All rankings one after the other, best first: for each hit, which of `names` it is."""

    def span(self, query_id: str) -> tuple[int, int]:
        """Return where the ranking of a query begins and ends in `ids`; equal where there is none."""
        ...


# 2 to the power of the highest is still a float, which exponential gain needs
_HIGHEST_GRADE = 1000
_IDS = "a list of ids"
_RANKING = "a list of ids, best first"


def match_ids(
    rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, Mapping[str, int] | Iterable[str]]
) -> MatchTable:
    """Match rankings of chunk ids to labels by chunk id: each id with a grade of 1 or more is one fact.

    Args:
        rankings: for each query, the ids that came back, best first. A query that is not among them came back empty.
            Those of `NumberedRankings` are matched by their numbers.
        relevant: for each query, the ids that are relevant, or the grade of each; 0 is judged irrelevant, and less was
            in the pool but not judged, which only the measures of judged ids distinguish.

    Returns:
        The judgments of the queries of `relevant`, in its order; those without a relevant id have no facts. They hold
        no `rankings`.

    Raises:
        DatasetError: an id that is not a text, a grade that is not an integer, or something else than a list where a
            ranking is wanted; every fault is listed.
    """
    faults: list[Fault] = []
    grades = _read_labels(relevant, Location("relevant", faults))
    location = Location("rankings", faults)
    found = _read_queries(rankings, location, _RANKING)
    if isinstance(found, NumberedRankings):
        hits, label, rank, repeating, repeated = _matching_numbers(found, grades)
    else:
        checked = (_read_ids(query, found.get(query, ()), location, _RANKING, in_order=True) for query in grades)
        hits, label, rank, repeating, repeated = _matching(checked, grades.values())
    if faults:
        raise DatasetError("rankings of ids", faults, "nothing was scored")
    facts, query_of, is_fact = _fact_table(grades.values())
    proves = is_fact[label]
    fact = (np.cumsum(is_fact) - 1)[label[proves]]
    matches = _matches(fact, rank[proves], facts)
    unjudged = np.fromiter(_grades(grades.values()), dtype=np.int64, count=len(query_of)) < 0
    in_pool = unjudged[label]
    rows, nothing = np.arange(len(facts.query)), (None,) * len(facts.query)
    return MatchTable(
        queries=len(grades),
        hits=hits,
        rankings=(),
        facts=facts,
        passages=PassageTable(rows, nothing, nothing, facts.ideal_grade, rows),
        matches=matches,
        overlaps=matches,
        satisfied=satisfactions_of(facts, matches),
        irrelevant=HitPositions(query_of[label[~proves]], rank[~proves]),
        pooled=HitPositions(query_of[label[in_pool]], rank[in_pool]),
        judged_irrelevant=np.bincount(query_of[~is_fact & ~unjudged], minlength=len(grades)),
        repeats=HitPositions(repeating, repeated),
        query_ids=tuple(grades),
    )


def _matching(rankings: Iterable[Sequence[str]], labels: Iterable[Mapping[str, int]]) -> tuple[NDArray[np.int64], ...]:
    """Return the hits of each query; label and rank of each hit that has a label; query and rank of each repeat.

    Rows are sorted by query, then rank; labels are numbered through, query after query.
    """
    hits: list[int] = []
    found: list[int] = []
    ranks: list[int] = []
    repeating: list[int] = []
    repeated: list[int] = []
    first_label = 0
    # One ranking after the other is checked and looked up, while its ids are still in the processor's cache
    for query, (ids, of_query) in enumerate(zip(rankings, labels, strict=True)):
        hits.append(len(ids))
        if len(set(ids)) < len(ids):
            again = _repeats(ids)
            repeating += [query] * len(again)
            repeated += again
        labelled = list(compress(count(1), map(of_query.__contains__, ids)))
        if labelled:
            number = dict(zip(of_query, count(first_label)))
            found += [number[ids[rank - 1]] for rank in labelled]
            ranks += labelled
        first_label += len(of_query)
    return tuple(np.array(column, dtype=np.int64) for column in (hits, found, ranks, repeating, repeated))


def _matching_numbers(
    rankings: NumberedRankings, labels: Mapping[str, Mapping[str, int]]
) -> tuple[NDArray[np.int64], ...]:
    """Return what `_matching` returns, from rankings whose ids are numbers; no hit is an object of its own."""
    nothing = np.zeros(0, dtype=np.int64)
    spans = np.array([rankings.span(query) for query in labels], dtype=np.int64).reshape(-1, 2)
    lengths = spans[:, 1] - spans[:, 0]
    begins = np.cumsum(lengths) - lengths
    counts = np.fromiter(map(len, labels.values()), dtype=np.int64, count=len(labels))
    # Hits and labels as one number each, of the query and the id; that of a label that never came back is negative
    number = _places_of(list(chain.from_iterable(labels.values())), rankings.names)
    keys = np.repeat(np.arange(len(labels)), counts) * len(rankings.names) + number
    keys[number < 0] = -1
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    query = np.repeat(np.arange(len(labels)), lengths)
    found = query * len(rankings.names) + rankings.ids[np.arange(len(query)) + (spans[:, 0] - begins)[query]]
    rows = _perhaps_among(found, ordered[np.searchsorted(ordered, 0) :])
    if not len(rows):
        return lengths, nothing, nothing, nothing, nothing
    label = order[np.minimum(np.searchsorted(ordered, found[rows]), len(order) - 1)]
    same = keys[label] == found[rows]
    return lengths, label[same], rows[same] - begins[query[rows[same]]] + 1, nothing, nothing


def _places_of(ids: Sequence[str], names: NDArray[np.object_]) -> NDArray[np.int64]:
    """Return where each id stands in `names`; -1 if nowhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        places = pc.index_in(pa.array(ids, pa.string()), value_set=pa.array(names, pa.string()))
    except UnicodeEncodeError:  # half a character, which Arrow cannot hold
        place_of = {name: place for place, name in enumerate(names.tolist())}
        return np.array([place_of.get(id_, -1) for id_ in ids], dtype=np.int64)
    return np.asarray(places.fill_null(-1)).astype(np.int64)


def _perhaps_among(found: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of all numbers that are among the wanted ones, and of a few more: by one bit of a hash each."""
    bits = max(len(wanted).bit_length() + 5, 10)
    shift, factor = np.uint64(64 - bits), np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing (Knuth, vol. 3, 6.4)
    is_wanted = np.zeros(1 << bits, dtype=np.bool_)
    is_wanted[(wanted.astype(np.uint64) * factor) >> shift] = True
    return np.flatnonzero(is_wanted[(found.astype(np.uint64) * factor) >> shift])


def _repeats(ids: Sequence[str]) -> list[int]:
    """Return the ranks at which an id comes back again."""
    seen: set[str] = set()
    again = []
    for rank, name in enumerate(ids, start=1):
        if name in seen:
            again.append(rank)
        seen.add(name)
    return again


def _fact_table(
    labels: Collection[Mapping[str, int]],
) -> tuple[FactTable, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the facts, whose each label is, and which of them are facts: what was judged irrelevant is none."""
    lengths = np.fromiter(map(len, labels), dtype=np.int64, count=len(labels))
    query = np.repeat(np.arange(len(labels)), lengths)
    grade = np.fromiter(_grades(labels), dtype=np.int64, count=len(query))
    is_fact = grade >= 1
    grade = grade[is_fact]
    return FactTable(query[is_fact], grade, np.ones_like(grade)), query, is_fact


def _grades(labels: Iterable[Mapping[str, int]]) -> Iterable[int]:
    return chain.from_iterable(of_query.values() for of_query in labels)


def _matches(fact: NDArray[np.int64], rank: NDArray[np.int64], facts: FactTable) -> Matches:
    repeated = np.ones(len(fact), dtype=np.bool_)
    repeated[np.unique(fact, return_index=True)[1]] = False  # the first of each fact, which has one id
    nothing = np.zeros_like(fact)
    return Matches(
        query=facts.query[fact],
        rank=rank,
        fact=fact,
        passage=nothing,
        grade=facts.ideal_grade[fact],
        direction=np.full(len(fact), Direction.SAME_ID, dtype=np.int8),
        start=nothing,
        end=nothing,
        normalized_start=nothing,
        normalized_end=nothing,
        repeated=repeated,
        relevant=np.ones(len(fact), dtype=np.bool_),
    )


def _read_labels(relevant: object, location: Location) -> dict[str, Mapping[str, int]]:
    """Return the grades of the labels of each query."""
    expected = f"{_IDS}, or a mapping from id to grade"
    labels = {
        query: given
        if isinstance(given, (dict, Mapping))  # a dict is told at once
        else dict.fromkeys(_read_ids(query, given, location, expected), 1)
        for query, given in _read_queries(relevant, location, expected).items()
    }
    are_integers = set(map(type, _grades(labels.values()))) <= {int}
    if not _are_texts(chain.from_iterable(labels.values())) or not are_integers:
        labels = {query: _checked(query, of_query, location) for query, of_query in labels.items()}
    if max(map(abs, _grades(labels.values())), default=0) > _HIGHEST_GRADE:
        labels = {query: _within_range(query, of_query, location) for query, of_query in labels.items()}
    return labels


def _checked(query: str, given: Mapping[Any, Any], location: Location) -> dict[str, int]:
    """Return the grades of one query as plain integers; what is none is noted."""
    here = location / shown(query)
    _read_ids(query, list(given), location, _IDS)
    for name, grade in given.items():
        if isinstance(grade, bool) or not isinstance(grade, Integral):
            (here / shown(name)).fault(shown(grade), "a grade: an integer, 0 for what was judged irrelevant")
    return {name: int(grade) for name, grade in given.items() if isinstance(grade, Integral)}


def _within_range(query: str, grades: Mapping[str, int], location: Location) -> dict[str, int]:
    """Return the grades of one query; one that is too high is noted."""
    for name, grade in grades.items():
        if grade > _HIGHEST_GRADE:
            (location / shown(query) / shown(name)).fault(f"the grade {grade}", f"grades up to {_HIGHEST_GRADE}")
    return {name: min(max(grade, -1), _HIGHEST_GRADE) for name, grade in grades.items()}


def _read_queries(given: object, location: Location, of_each: str) -> Mapping[str, Any]:
    """Return what is given for each query; nothing, and a fault, where that is not a mapping from query ids."""
    if not isinstance(given, Mapping):
        location.fault(f"an object of type {type(given).__name__}", f"a mapping from query id to {of_each}")
        return {}
    for query in () if _are_texts(given) else given:
        if not isinstance(query, str):
            location.fault(f"the query id {shown(query)}", "a text")
    return given


def _read_ids(query: str, given: Any, location: Location, expected: str, *, in_order: bool = False) -> Sequence[str]:
    """Return the ids of one query; none, and a fault, where they are not ids."""
    if isinstance(given, (list, tuple)):
        ids: Sequence[Any] = given
    else:
        unordered = in_order and isinstance(given, (Mapping, AbstractSet))
        if unordered or isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            found = shown(given) if isinstance(given, (str, bytes)) else f"an object of type {type(given).__name__}"
            (location / shown(query)).fault(found, expected)
            return ()
        ids = list(given)
    if not _are_texts(ids):
        number, wrong = next((number, name) for number, name in enumerate(ids) if not isinstance(name, str))
        (location / shown(query) / number).fault(shown(wrong), "an id, which is a text")
        return ()
    return ids


def _are_texts(names: Iterable[object]) -> bool:
    try:
        "".join(names)  # type: ignore[arg-type]  # the fastest look at the type of each
    except TypeError:
        return False
    return True
