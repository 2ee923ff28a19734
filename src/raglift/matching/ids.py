"""Rankings that are nothing but ids, against labels that are nothing but ids: no texts, and no object for a hit.

The judgements are those that `judge` makes of chunk-id labels of one passage a fact, straight from the lists. Where
there are a million hits, touching each of them is what costs: each is looked up once, by the interpreter's own code,
and only those that match are seen again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, compress, count
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.dataset.faults import Place, shown
from raglift.errors import DatasetError, Fault
from raglift.matching.judgements import Direction, FactTable, Judgements, Matches, PassageTable, satisfactions_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

__all__ = ["judge_ids"]

# 2 to the power of the highest is still a float, which exponential gain needs
_HIGHEST_GRADE = 1000
_IDS = "a list of ids"
_RANKING = "a list of ids, best first"


def judge_ids(
    rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, Mapping[str, int] | Iterable[str]]
) -> Judgements:
    """Match rankings of chunk ids to labels by chunk id: each id with a grade of 1 or more is one fact.

    Args:
        rankings: for each query, the ids that came back, best first. A query that is not among them came back empty.
        relevant: for each query, the ids that are relevant, or the grade of each; 0 and less is judged irrelevant.

    Returns:
        The judgements of the queries of `relevant`, in its order; those without a relevant id have no facts. They
        hold no `rankings`.

    Raises:
        DatasetError: an id that is not a text, a grade that is not an integer, or something else than a list where a
            ranking is wanted; every fault is listed.
    """
    faults: list[Fault] = []
    grades = _read_labels(relevant, Place("relevant", faults))
    place = Place("rankings", faults)
    found = _read_queries(rankings, place, _RANKING)
    checked = (_read_ids(query, found.get(query, ()), place, _RANKING, in_order=True) for query in grades)
    hits, fact, rank = _matching(checked, grades.values())
    if faults:
        raise DatasetError("rankings of ids", faults, "nothing was scored")
    facts = _fact_table(grades.values())
    matches = _matches(fact, rank, facts)
    return Judgements(
        queries=len(grades),
        hits=hits,
        rankings=(),
        facts=facts,
        passages=PassageTable(np.arange(len(facts.query)), (None,) * len(facts.query), (None,) * len(facts.query)),
        matches=matches,
        pieces=matches,
        satisfied=satisfactions_of(facts, matches),
    )


def _matching(rankings: Iterable[Sequence[str]], grades: Iterable[Mapping[str, int]]) -> tuple[NDArray[np.int64], ...]:
    """Return the hits of each query; fact and rank of each hit that matches, sorted by query, then rank."""
    hits: list[int] = []
    facts: list[int] = []
    ranks: list[int] = []
    first_fact = 0
    # One ranking after the other is checked and looked up, while its ids are still in the processor's cache
    for ids, labels in zip(rankings, grades, strict=True):
        hits.append(len(ids))
        matched = list(compress(count(1), map(labels.__contains__, ids)))
        if matched:
            fact_of = dict(zip(labels, count(first_fact)))
            facts += [fact_of[ids[rank - 1]] for rank in matched]
            ranks += matched
        first_fact += len(labels)
    return tuple(np.array(column, dtype=np.int64) for column in (hits, facts, ranks))


def _fact_table(grades: Collection[Mapping[str, int]]) -> FactTable:
    lengths = np.fromiter(map(len, grades), dtype=np.int64, count=len(grades))
    every = chain.from_iterable(of_query.values() for of_query in grades)
    grade = np.fromiter(every, dtype=np.int64, count=int(lengths.sum()))
    return FactTable(np.repeat(np.arange(len(grades)), lengths), grade, np.ones_like(grade))


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
        repeated=repeated,
        relevant=np.ones(len(fact), dtype=np.bool_),
    )


def _read_labels(relevant: object, place: Place) -> dict[str, Mapping[str, int]]:
    """Return the relevant ids of each query with their grades; empty for a query that has none."""
    expected = f"{_IDS}, or a mapping from id to grade"
    labels = {
        query: given if isinstance(given, Mapping) else dict.fromkeys(_read_ids(query, given, place, expected), 1)
        for query, given in _read_queries(relevant, place, expected).items()
    }
    grades = list(chain.from_iterable(of_query.values() for of_query in labels.values()))
    if not _are_texts(chain.from_iterable(labels.values())) or not set(map(type, grades)) <= {int}:
        labels = {query: _checked(query, of_query, place) for query, of_query in labels.items()}
        grades = list(chain.from_iterable(of_query.values() for of_query in labels.values()))
    if grades and not (min(grades) >= 1 and max(grades) <= _HIGHEST_GRADE):
        return {query: _relevant(query, of_query, place) for query, of_query in labels.items()}
    return labels


def _checked(query: str, given: Mapping[Any, Any], place: Place) -> dict[str, int]:
    """Return the grades of one query as plain integers; what is none is noted."""
    here = place / shown(query)
    _read_ids(query, list(given), place, _IDS)
    for name, grade in given.items():
        if isinstance(grade, bool) or not isinstance(grade, Integral):
            (here / shown(name)).fault(shown(grade), "a grade: an integer, 0 for what was judged irrelevant")
    return {name: int(grade) for name, grade in given.items() if isinstance(grade, Integral)}


def _relevant(query: str, grades: Mapping[str, int], place: Place) -> Mapping[str, int]:
    """Return the grades of one query without those of what was judged irrelevant; one that is too high is noted."""
    highest = max(grades.values(), default=0)
    if highest > _HIGHEST_GRADE:
        (place / shown(query)).fault(f"the grade {highest}", f"grades up to {_HIGHEST_GRADE}")
    if highest <= _HIGHEST_GRADE and min(grades.values(), default=1) >= 1:
        return grades
    return {name: grade for name, grade in grades.items() if 1 <= grade <= _HIGHEST_GRADE}


def _read_queries(given: object, place: Place, of_each: str) -> Mapping[str, Any]:
    """Return what is given for each query; nothing, and a fault, where that is no mapping from query ids."""
    if not isinstance(given, Mapping):
        place.fault(f"an object of type {type(given).__name__}", f"a mapping from query id to {of_each}")
        return {}
    for query in given:
        if not isinstance(query, str):
            place.fault(f"the query id {shown(query)}", "a text")
    return given


def _read_ids(query: str, given: Any, place: Place, expected: str, *, in_order: bool = False) -> Sequence[str]:
    """Return the ids of one query; none, and a fault, where they are not ids."""
    if isinstance(given, (list, tuple)):
        ids: Sequence[Any] = given
    else:
        unordered = in_order and isinstance(given, (Mapping, AbstractSet))
        if unordered or isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            found = shown(given) if isinstance(given, (str, bytes)) else f"an object of type {type(given).__name__}"
            (place / shown(query)).fault(found, expected)
            return ()
        ids = list(given)
    if not _are_texts(ids):
        number, wrong = next((number, name) for number, name in enumerate(ids) if not isinstance(name, str))
        (place / shown(query) / number).fault(shown(wrong), "an id, which is a text")
        return ()
    return ids


def _are_texts(names: Iterable[object]) -> bool:
    try:
        "".join(names)  # type: ignore[arg-type]  # the fastest look at the type of each
    except TypeError:
        return False
    return True
