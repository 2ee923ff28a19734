"""Where tools that know ids alone compute other values than raglift, and why."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.matching import Judgements
    from raglift.records import Query

__all__ = ["Difference", "differences_of"]

_SEVERAL_CHUNKS = "facts that more than one chunk stands for (there each of these is a relevant item of its own)"
_SEVERAL_FACTS = "chunks that stand for more than one fact (there each is one item, with its highest grade)"
_LOWER_GRADE = "facts of which only an alternative of a lower grade is known (there the ideal ranking is poorer)"
_IN_PART = "facts that other chunks cover in part (there these count for nothing)"
_OTHERWISE = "hits that are judged otherwise than their id (there ids alone decide)"
_REPEATED = "hits that repeat an id of their ranking (they are left out, so later ones move up)"
_REASONS = (_SEVERAL_CHUNKS, _SEVERAL_FACTS, _LOWER_GRADE, _IN_PART, _OTHERWISE, _REPEATED)


@dataclass(frozen=True)
class Difference:
    """One reason for which other tools compute other values for some queries."""

    reason: str
    """What differs, and what other tools make of it."""
    count: int
    """How many of what the sentence is about."""
    query_ids: tuple[str, ...]
    """For which queries."""

    def __str__(self) -> str:
        queries = len(self.query_ids)
        return f"{self.reason}: {self.count:,}, in {queries:,} {'query' if queries == 1 else 'queries'}"


def differences_of(
    queries: Sequence[Query],
    proofs: Mapping[int, Mapping[str, int]],
    in_part: Mapping[int, int] | None,
    grades: Mapping[str, Mapping[str, int]],
    stages: Sequence[Judgements],
) -> tuple[Difference, ...]:
    """Return why other tools compute other values from ids, for which queries.

    For all other queries, whose facts and ids go one to one, the values of HitRate, Precision, Recall, F1, RR, AP and
    NDCG by the default conventions are the same.

    Args:
        queries: with their facts.
        proofs: for each fact, numbered among all facts of labelled queries, the ids that stand for it, with grades.
        in_part: by coverage, for each fact, how many chunks cover a part of it without standing for it; else None.
        grades: for each labelled query, what is told of each id.
        stages: what matched.
    """
    found: dict[str, dict[str, int]] = {reason: defaultdict(int) for reason in _REASONS}
    first = 0
    for query in queries:
        if not query.is_labelled:
            continue
        facts = range(first, first + len(query.facts))
        first += len(query.facts)
        ids = [each for fact in facts for each in proofs.get(fact, ())]
        found[_SEVERAL_CHUNKS][query.id] += sum(len(proofs.get(fact, ())) > 1 for fact in facts)
        found[_SEVERAL_FACTS][query.id] += len({each for each in ids if ids.count(each) > 1})
        found[_LOWER_GRADE][query.id] += sum(
            max(proofs[number].values()) < fact.ideal_grade
            for number, fact in zip(facts, query.facts, strict=True)
            if proofs.get(number)
        )
        found[_IN_PART][query.id] += sum(bool((in_part or {}).get(fact)) for fact in facts)
    for judged in stages:
        _look_at_hits(queries, judged, grades, found, by_coverage=in_part is not None)
    return tuple(
        Difference(reason, sum(counts.values()), tuple(query for query, count in counts.items() if count))
        for reason, counts in found.items()
        if any(counts.values())
    )


def _look_at_hits(
    queries: Sequence[Query],
    judged: Judgements,
    grades: Mapping[str, Mapping[str, int]],
    found: Mapping[str, dict[str, int]],
    *,
    by_coverage: bool,
) -> None:
    """Note the hits that are judged otherwise than their id, and those that repeat an id.

    By coverage, those that match without standing for a fact are noted as covering it in part.
    """
    matched: dict[int, set[int]] = defaultdict(set)
    for number, rank in zip(judged.matches.query.tolist(), judged.matches.rank.tolist(), strict=True):
        matched[number].add(rank)
    for number, (query, ranking) in enumerate(zip(queries, judged.rankings, strict=True)):
        if not query.is_labelled:
            continue
        of_query = grades[query.id]
        ids = [hit.chunk.id for hit in ranking.hits]
        relevant = {rank for rank, each in enumerate(ids, start=1) if of_query.get(each, 0) > 0}
        found[_OTHERWISE][query.id] += len(relevant - matched[number] if by_coverage else relevant ^ matched[number])
        found[_REPEATED][query.id] += len(ids) - len(set(ids))
