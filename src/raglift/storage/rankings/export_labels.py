"""Labels for other tools: ids with grades, for any type of label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from raglift.analysis.upper_bound import match_tables_of, rule_of, serves
from raglift.matching.coverage import is_enough
from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule, Text
from raglift.types.rankings import Inventory, Ranking

if TYPE_CHECKING:
    from raglift.matching.matches import MatchTable
    from raglift.results.evaluation import Evaluation
    from raglift.types.documents import Chunk
    from raglift.types.labels import Query


# Labels as other tools take them: ids with grades, whatever the labels of a dataset are about. Other tools work only
# with ids. So a label that is a text or a location becomes the ids of the chunks that are known to prove it: those of
# all hits and, if the index was searched, those that overlap a passage. A fact that no known chunk proves becomes an id
# that no hit has, so that it counts as missed there too.


UNFOUND = "raglift-unfound"
"""What the id of a fact begins with that no known chunk proves: `raglift-unfound:QUERY:NUMBER`."""


@dataclass(frozen=True, eq=False)
class IdLabels:
    """The labels of a dataset as ids."""

    grades: Mapping[str, Mapping[str, int]]
    """For each labelled query, each id with its grade; 0 for what was judged irrelevant."""
    unfound: int
    """Facts that no known chunk proves, which have an id of their own."""
    unlabelled: tuple[str, ...]
    """The queries without labels, or that the corpus does not answer: other tools are told nothing of them."""
    of_this_run: bool
    """Whether chunks are known from this run's hits alone, so that others may prove a fact too."""
    differing: tuple[str, ...]
    """The queries whose facts and ids do not go one to one, so that other tools may compute other values."""

    def __len__(self) -> int:
        return sum(map(len, self.grades.values()))

    @property
    def irrelevant(self) -> int:
        """How many labels say that something does not help."""
        return sum(grade < 1 for grades in self.grades.values() for grade in grades.values())


def labels_of(evaluation: Evaluation) -> IdLabels:
    """Return the labels of an evaluation as ids of the chunks that are known.

    A chunk has the highest grade among the passages that it proves by the evaluation's match rule. By coverage, each
    chunk that covers enough of a passage by itself stands for its fact; where none does, those that do together.
    """
    queries, rule, inventory = evaluation.dataset.queries, rule_of(evaluation), evaluation.run.inventory
    stages = match_tables_of(evaluation)
    known = [*stages, *_judged_inventory(queries, inventory, rule)]
    overlaps = [overlap for judged in known for overlap in _overlaps(judged)]
    in_part: dict[int, int] | None
    if rule.by_coverage:
        proofs, in_part = _proofs_by_coverage(queries, overlaps, rule)
    else:
        proofs, in_part = _proofs_by_match(overlaps), None
    _add_named_ids(queries, proofs)
    grades, unfound = _grades(queries, proofs)
    _add_irrelevant(queries, known, grades)
    by_id = all(passage.chunk_id is not None for query in queries for fact in query.facts for passage in fact.passages)
    return IdLabels(
        grades=grades,
        unfound=unfound,
        unlabelled=tuple(query.id for query in queries if not query.is_labelled),
        of_this_run=not by_id and (inventory is None or not serves(inventory, rule)),
        differing=_differing(queries, proofs, in_part, grades, stages),
    )


_Proofs = dict[int, dict[str, int]]
"""For each fact, numbered among all facts of labelled queries: the ids that stand for it, with their grades."""


class _Overlap(NamedTuple):
    """Which part of a passage a known chunk covers, in characters of the passage's normalized text."""

    fact: int
    alternative: int
    id: str
    grade: int
    start: int
    end: int
    relevant: bool


def _overlaps(judged: MatchTable) -> Iterator[_Overlap]:
    of = judged.overlaps
    columns = (of.query, of.rank, of.fact, of.passage, of.grade, of.normalized_start, of.normalized_end, of.relevant)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for query, rank, fact, alternative, grade, start, end, relevant in rows:
        chunk = judged.rankings[query].hits[rank - 1].chunk
        yield _Overlap(fact, alternative, chunk.id, grade, start, end, relevant)


def _judged_inventory(queries: Sequence[Query], inventory: Inventory | None, rule: MatchRule) -> list[MatchTable]:
    """Return the matches of all chunks that overlap a passage, as if each query had retrieved those of its own."""
    if inventory is None:
        return []
    touching: dict[int, dict[int, Chunk]] = defaultdict(dict)
    for query, _, _, number in inventory.touches:
        touching[query][number] = inventory.touching[number]
    got = [Ranking.of((chunk, None) for chunk in touching[number].values()) for number in range(len(queries))]
    return match_rankings(queries, [got], rule)


def _proofs_by_match(overlaps: Sequence[_Overlap]) -> _Proofs:
    proofs: _Proofs = defaultdict(dict)
    for overlap in overlaps:
        if overlap.relevant:
            proofs[overlap.fact][overlap.id] = max(overlap.grade, proofs[overlap.fact].get(overlap.id, 0))
    return proofs


def _proofs_by_coverage(
    queries: Sequence[Query], overlaps: Sequence[_Overlap], rule: MatchRule
) -> tuple[_Proofs, dict[int, int]]:
    """Return the ids that stand for each fact; and for each, how many other chunks cover a part of it."""
    passages = [fact.passages for query in queries if query.is_labelled for fact in query.facts]
    text = Text(rule)
    covering: dict[int, list[_Overlap]] = defaultdict(list)
    for overlap in dict.fromkeys(overlaps):
        covering[overlap.fact].append(overlap)
    proofs: _Proofs = {}
    in_part: dict[int, int] = {}
    for fact, of_fact in covering.items():
        texts = [None if passage.text is None else text(passage.text) for passage in passages[fact]]
        proving = [overlap for overlap in of_fact if _is_covered(texts[overlap.alternative], [overlap], rule)]
        if not proving:
            for alternative, wanted in enumerate(texts):
                together = [overlap for overlap in of_fact if overlap.alternative == alternative]
                if together and _is_covered(wanted, together, rule):
                    proving += [overlap for overlap in together if overlap.relevant] or together
        proofs.update(_proofs_by_match([overlap._replace(relevant=True) for overlap in proving]))
        in_part[fact] = len({overlap.id for overlap in of_fact} - proofs.get(fact, {}).keys())
    return proofs, in_part


def _is_covered(text: str | None, overlaps: Sequence[_Overlap], rule: MatchRule) -> bool:
    """Whether chunks together cover enough of a passage; of a chunk-id label, which has no text, its chunk does."""
    return text is None or is_enough([(overlap.start, overlap.end) for overlap in overlaps], text, rule)


def _add_named_ids(queries: Sequence[Query], proofs: _Proofs) -> None:
    """Add the ids that labels name, whether or not a chunk with such an id is known."""
    number = 0
    for query in queries:
        for fact in query.facts if query.is_labelled else ():
            for passage in fact.passages:
                if passage.chunk_id is not None:
                    found = proofs.setdefault(number, {})
                    found[passage.chunk_id] = max(passage.grade, found.get(passage.chunk_id, 0))
            number += 1


def _grades(queries: Sequence[Query], proofs: _Proofs) -> tuple[dict[str, dict[str, int]], int]:
    """Return the grade of each id, and how many facts have an id of their own."""
    grades: dict[str, dict[str, int]] = {}
    number = unfound = 0
    for query in queries:
        if not query.is_labelled:
            continue
        of_query = grades[query.id] = {}
        for place, fact in enumerate(query.facts, start=1):
            found = proofs.get(number) or {f"{UNFOUND}:{query.id}:{place}": fact.ideal_grade}
            unfound += not proofs.get(number)
            number += 1
            for each, grade in found.items():
                of_query[each] = max(grade, of_query.get(each, 0))
    return grades, unfound


def _add_irrelevant(queries: Sequence[Query], known: Sequence[MatchTable], grades: dict[str, dict[str, int]]) -> None:
    """Add what was judged irrelevant and proves nothing, with the grade 0."""
    for query in queries:
        for passage in query.judged_irrelevant if query.is_labelled else ():
            if passage.chunk_id is not None:
                grades[query.id].setdefault(passage.chunk_id, 0)
    for judged in known:
        rows = zip(judged.irrelevant.query.tolist(), judged.irrelevant.rank.tolist(), strict=True)
        for number, rank in rows:
            grades[queries[number].id].setdefault(judged.rankings[number].hits[rank - 1].chunk.id, 0)


def _differing(
    queries: Sequence[Query],
    proofs: _Proofs,
    in_part: Mapping[int, int] | None,
    grades: Mapping[str, Mapping[str, int]],
    stages: Sequence[MatchTable],
) -> tuple[str, ...]:
    """Return the queries for which HitRate, Precision, Recall, F1, RR, AP or NDCG of ids may have other values.

    For all others the default conventions give the same.
    """
    found = set()
    number = 0
    for query in queries:
        if not query.is_labelled:
            continue
        for fact in query.facts:
            proving = proofs.get(number, {})
            is_poorer = bool(proving) and max(proving.values()) < fact.ideal_grade
            if len(proving) > 1 or is_poorer or (in_part or {}).get(number):
                found.add(query.id)
            number += 1
        facts = range(number - len(query.facts), number)
        ids = [each for fact in facts for each in proofs.get(fact, ())]
        if len(set(ids)) < len(ids):
            found.add(query.id)
    for table in stages:
        found.update(_judged_otherwise(queries, table, grades, by_coverage=in_part is not None))
    return tuple(query for query in grades if query in found)


def _judged_otherwise(
    queries: Sequence[Query], table: MatchTable, grades: Mapping[str, Mapping[str, int]], *, by_coverage: bool
) -> Iterator[str]:
    """Yield the queries with a hit that matches otherwise than its id, or that repeats an id.

    By coverage, hits that match without proving a fact are those that cover it in part.
    """
    matched: dict[int, set[int]] = defaultdict(set)
    for number, rank in zip(table.matches.query.tolist(), table.matches.rank.tolist(), strict=True):
        matched[number].add(rank)
    for number, (query, ranking) in enumerate(zip(queries, table.rankings, strict=True)):
        if not query.is_labelled:
            continue
        ids = [hit.chunk.id for hit in ranking.hits]
        relevant = {rank for rank, each in enumerate(ids, start=1) if grades[query.id].get(each, 0) > 0}
        otherwise = relevant - matched[number] if by_coverage else relevant ^ matched[number]
        if otherwise or len(set(ids)) < len(ids):
            yield query.id
