"""Matching of rankings and labels that consist only of ids: no texts, and no object per hit.

The matches are those that `match_rankings` makes for chunk-id labels with one passage per fact, directly from the
lists. With a million hits, visiting each of them is the main cost: each is looked up once, by the interpreter's own
code, and only those that match are visited again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, compress, count
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
from raglift.matching.numbered import NumberedLabels, NumberedRankings, places_of, whole_rankings
from raglift.utilities.validation import Location, shown

if TYPE_CHECKING:
    from raglift.matching.numbered import Texts


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
    facts, query_of, is_fact, unjudged = _fact_table(grades)
    proves = is_fact[label]
    fact = (np.cumsum(is_fact) - 1)[label[proves]]
    matches = _matches(fact, rank[proves], facts)
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
    spans = np.array([rankings.span(query) for query in labels], dtype=np.int64).reshape(-1, 2)
    lengths = spans[:, 1] - spans[:, 0]
    # Hits and labels as one number each, of the query and the id; that of a label that never came back is negative
    number = _places_of_labels(labels, rankings.names)
    keys = np.repeat(np.arange(len(labels)), _counts(labels)) * len(rankings.names) + number
    keys[number < 0] = -1
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, 0)
    order, ordered = order[first:], ordered[first:]
    may_match = _filter(ordered)
    labelled, ranks = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for some in whole_rankings(lengths) if len(ordered) else ():
        query = np.repeat(np.arange(some.start, some.stop), lengths[some])
        before = np.cumsum(lengths[some]) - lengths[some]
        place = np.arange(len(query)) + np.repeat(spans[some, 0] - before, lengths[some])
        found = query * len(rankings.names) + rankings.ids[place]
        rows = may_match(found)
        match = np.minimum(np.searchsorted(ordered, found[rows]), len(ordered) - 1)
        same = ordered[match] == found[rows]
        labelled.append(order[match[same]])
        ranks.append(place[rows[same]] - spans[query[rows[same]], 0] + 1)
    nothing = np.zeros(0, dtype=np.int64)
    return lengths, np.concatenate(labelled), np.concatenate(ranks), nothing, nothing


def _places_of_labels(labels: Mapping[str, Mapping[str, int]], names: Texts) -> NDArray[np.int64]:
    """Return where the id of each label stands in `names`, query after query; -1 if nowhere."""
    if isinstance(labels, NumberedLabels):
        return places_of(labels.names, names)[labels.ids]
    ids = list(chain.from_iterable(labels.values()))
    number = {name: place for place, name in enumerate(dict.fromkeys(ids))}
    places = places_of(np.array(list(number), dtype=np.object_), names)
    return places[np.array([number[name] for name in ids], dtype=np.int64)]


def _filter(ids: NDArray[np.int64]) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return what gives the places of all numbers that are among the wanted ones, and of a few more.

    It looks at one bit of a hash of each (a Bloom filter with one hash function).
    """
    bits = max(len(ids).bit_length() + 5, 10)
    shift, factor = np.uint64(64 - bits), np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing (Knuth, vol. 3, 6.4)
    is_wanted = np.zeros(1 << bits, dtype=np.bool_)
    is_wanted[(ids.astype(np.uint64) * factor) >> shift] = True
    return lambda found: np.flatnonzero(is_wanted[(found.astype(np.uint64) * factor) >> shift])


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
    labels: Mapping[str, Mapping[str, int]],
) -> tuple[FactTable, NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the facts; of each label the query, whether it is a fact, and whether it was in the pool but not judged.

    What was judged irrelevant is no fact.
    """
    query = np.repeat(np.arange(len(labels)), _counts(labels))
    grade = _grades(labels)
    is_fact = grade >= 1
    of_facts = grade[is_fact]
    return FactTable(query[is_fact], of_facts, np.ones_like(of_facts)), query, is_fact, grade < 0


def _counts(labels: Mapping[str, Mapping[str, int]]) -> NDArray[np.int64]:
    """Return how many labels each query has."""
    if isinstance(labels, NumberedLabels):
        return np.diff(labels.bounds)
    return np.fromiter(map(len, labels.values()), dtype=np.int64, count=len(labels))


def _grades(labels: Mapping[str, Mapping[str, int]]) -> NDArray[np.int64]:
    """Return the grade of each label, query after query."""
    if isinstance(labels, NumberedLabels):
        return labels.grades
    return np.fromiter(_each_grade(labels), dtype=np.int64)


def _each_grade(labels: Mapping[str, Mapping[str, int]]) -> Iterable[int]:
    return chain.from_iterable(of_query.values() for of_query in labels.values())


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


def _read_labels(relevant: object, location: Location) -> Mapping[str, Mapping[str, int]]:
    """Return the grades of the labels of each query."""
    if isinstance(relevant, NumberedLabels):
        if np.abs(relevant.grades).max(initial=0) <= _HIGHEST_GRADE:
            return relevant
        relevant = relevant.to_dict()
    expected = f"{_IDS}, or a mapping from id to grade"
    labels = {
        query: grades
        if isinstance(grades, (dict, Mapping))  # a dict is told at once
        else dict.fromkeys(_read_ids(query, grades, location, expected), 1)
        for query, grades in _read_queries(relevant, location, expected).items()
    }
    are_integers = set(map(type, _each_grade(labels))) <= {int}
    if not _are_texts(chain.from_iterable(labels.values())) or not are_integers:
        labels = {query: _checked(query, of_query, location) for query, of_query in labels.items()}
    if max(map(abs, _each_grade(labels)), default=0) > _HIGHEST_GRADE:
        labels = {query: _within_range(query, of_query, location) for query, of_query in labels.items()}
    return labels


def _checked(query: str, grades: Mapping[Any, Any], location: Location) -> dict[str, int]:
    """Return the grades of one query as plain integers; what is none is noted."""
    here = location / shown(query)
    _read_ids(query, list(grades), location, _IDS)
    for name, grade in grades.items():
        if isinstance(grade, bool) or not isinstance(grade, Integral):
            (here / shown(name)).fault(shown(grade), "a grade: an integer, 0 for what was judged irrelevant")
    return {name: int(grade) for name, grade in grades.items() if isinstance(grade, Integral)}


def _within_range(query: str, grades: Mapping[str, int], location: Location) -> dict[str, int]:
    """Return the grades of one query; one that is too high is noted."""
    for name, grade in grades.items():
        if grade > _HIGHEST_GRADE:
            (location / shown(query) / shown(name)).fault(f"the grade {grade}", f"grades up to {_HIGHEST_GRADE}")
    return {name: min(max(grade, -1), _HIGHEST_GRADE) for name, grade in grades.items()}


def _read_queries(value: object, location: Location, of_each: str) -> Mapping[str, Any]:
    """Return what is given for each query; nothing, and a fault, where that is not a mapping from query ids."""
    if not isinstance(value, Mapping):
        location.fault(f"an object of type {type(value).__name__}", f"a mapping from query id to {of_each}")
        return {}
    for query in () if _are_texts(value) else value:
        if not isinstance(query, str):
            location.fault(f"the query id {shown(query)}", "a text")
    return value


def _read_ids(query: str, value: Any, location: Location, expected: str, *, in_order: bool = False) -> Sequence[str]:
    """Return the ids of one query; none, and a fault, where they are not ids."""
    if isinstance(value, (list, tuple)):
        ids: Sequence[Any] = value
    else:
        unordered = in_order and isinstance(value, (Mapping, AbstractSet))
        if unordered or isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            found = shown(value) if isinstance(value, (str, bytes)) else f"an object of type {type(value).__name__}"
            (location / shown(query)).fault(found, expected)
            return ()
        ids = list(value)
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
