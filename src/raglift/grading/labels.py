"""Grades to labels: which graded chunks are passages of one fact, and which were judged irrelevant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.grading.pooling import Pool, PooledQuery, label_grades
from raglift.matching.provenance import Provenance
from raglift.text.normalization import normalize
from raglift.types.checking import FARTHEST
from raglift.types.dataset import Dataset
from raglift.types.labels import Annotator, Fact, Passage, Query
from raglift.utilities.display import encodable

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.types.documents import Chunk, Document


def labelled_queries(
    pool: Pool,
    grades: Sequence[Sequence[int | None]],
    annotator: Annotator,
    *,
    days: Sequence[Sequence[str]] | None = None,
    relevant_from: int = 1,
    fill: bool = False,
    rule: MatchRule | None = None,
) -> tuple[Query, ...]:
    """Return the pool's queries with these grades as their labels.

    A query of which no chunk is relevant has no facts: it is unlabelled, and enters no mean. One that is marked as
    unanswerable stays so, and gets no facts.

    Args:
        pool: the pairs.
        grades: of each pair, query by query; None for one that was not graded, which becomes no label.
        annotator: who graded.
        days: when each grade was given; by default the annotator's day.
        relevant_from: the lowest grade that makes a passage of a fact; lower ones are judged irrelevant.
        fill: keep the labels that the queries have, and add grades only of chunks of which these say nothing. A
            relevant chunk that holds the same evidence as a passage of a fact becomes an alternative of that fact.
        rule: what counts as a match with a label that is kept; containment by default.
    """
    if not fill:
        unlabelled = [
            replace(entry, query=replace(entry.query, facts=(), judged_irrelevant=())) for entry in pool.queries
        ]
        pool = replace(pool, queries=tuple(unlabelled))
    known = label_grades(pool, [entry.query for entry in pool.queries], rule)
    found = []
    days = days or [[""] * len(entry.chunks) for entry in pool.queries]
    for entry, of_query, by_label, of_days in zip(pool.queries, grades, known, days, strict=True):
        annotators = [replace(annotator, date=day or annotator.date) for day in of_days]
        new = [grade if label is None else None for grade, label in zip(of_query, by_label, strict=True)]
        relevant, irrelevant = _passages(entry, new, annotators, relevant_from)
        query = entry.query
        facts = _joined(query.facts, relevant) if query.answerable else ()
        irrelevant = (*query.judged_irrelevant, *irrelevant)
        found.append(replace(query, facts=facts, judged_irrelevant=irrelevant))
    return tuple(found)


def _passages(
    entry: PooledQuery, grades: Sequence[int | None], annotators: Sequence[Annotator], relevant_from: int
) -> tuple[list[Passage], tuple[Passage, ...]]:
    """Return the graded chunks of a query as passages: the relevant ones, and the others with the grade 0."""
    relevant, irrelevant = [], []
    for each, grade, annotator in zip(entry.chunks, grades, annotators, strict=True):
        if grade is not None and grade >= relevant_from:
            relevant.append(passage_of(each.chunk, grade, annotator))
        elif grade is not None:
            irrelevant.append(passage_of(each.chunk, 0, annotator))
    return relevant, tuple(irrelevant)


def placed(pool: Pool, documents: Sequence[Document]) -> Pool:
    """Return a pool in which each chunk's document is one of these, and its location one at which its text occurs.

    Args:
        pool: the pairs.
        documents: the source texts; without any, the pool is returned as it is.
    """
    provenance = Provenance(Dataset((), tuple(documents)))
    queries = [
        replace(
            entry,
            chunks=tuple(replace(each, chunk=provenance.check_chunk(each.chunk)) for each in entry.chunks),
        )
        for entry in pool.queries
    ]
    return replace(pool, queries=tuple(queries)) if documents else pool


def passage_of(chunk: Chunk, grade: int, annotator: Annotator) -> Passage:
    """Return a chunk as a passage: with its location if it is known and fits its length, otherwise only its text."""
    doc_id = chunk.doc_id if (chunk.doc_id or "").strip() else None
    placed = (
        doc_id is not None
        and chunk.start is not None
        and chunk.end is not None
        and 0 <= chunk.start < chunk.end < FARTHEST
        and chunk.end - chunk.start == len(chunk.text)
    )
    start, end = (chunk.start, chunk.end) if placed else (None, None)
    return Passage(encodable(chunk.text), doc_id, start, end, grade=grade, annotator=annotator)


def facts_of(passages: Sequence[Passage]) -> tuple[Fact, ...]:
    """Return passages of one query as facts: those that hold the same evidence are alternatives of one.

    The best passage not yet in a fact makes one (the highest grade, of these the shortest, of these the first), and is
    joined by all that hold the same evidence as it does. So an alternative shares at least half of its text, or of the
    first passage's, with the first passage of its fact; a document of overlapping chunks does not become one fact
    through a chain of neighbours. The order in which passages are given makes no difference.
    """
    groups: list[list[Passage]] = []
    for passage in _ordered(passages):
        for group in groups:
            if same_evidence(group[0], passage):
                group.append(passage)
                break
        else:
            groups.append([passage])
    return tuple(Fact(tuple(group)) for group in groups)


def _ordered(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages with the best first, whatever order they came in."""

    def key(passage: Passage) -> tuple[int, int, str, int, str]:
        text = passage.text or ""
        return -passage.grade, len(text), passage.doc_id or "", -1 if passage.start is None else passage.start, text

    return sorted(passages, key=key)


def _joined(facts: Sequence[Fact], passages: Sequence[Passage]) -> tuple[Fact, ...]:
    """Return facts with what is the same evidence as alternatives, and what is not as facts after them."""
    joining: list[list[Passage]] = [[] for _ in facts]
    new: list[Passage] = []
    for passage in passages:
        of_it = (
            number for number, fact in enumerate(facts) if any(same_evidence(known, passage) for known in fact.passages)
        )
        number = next(of_it, None)
        (new if number is None else joining[number]).append(passage)
    old = [replace(fact, passages=(*fact.passages, *_ordered(more))) for fact, more in zip(facts, joining, strict=True)]
    return (*old, *facts_of(new))


def same_evidence(one: Passage, other: Passage) -> bool:
    """Whether two passages are spans of a document that share half of the shorter, or equal texts when normalized."""
    if share_half(one, other):
        return True
    return one.text is not None and other.text is not None and normalize(one.text) == normalize(other.text)


def share_half(one: Passage, other: Passage) -> bool:
    """Whether two passages are spans of one document that share half of the shorter one's characters."""
    if one.doc_id != other.doc_id or None in (one.start, one.end, other.start, other.end):
        return False
    starts, ends = (one.start or 0, other.start or 0), (one.end or 0, other.end or 0)
    return 2 * (min(ends) - max(starts)) >= min(ends[0] - starts[0], ends[1] - starts[1])


def labels_of_people(query: Query) -> Query:
    """Return a query with the labels that people gave, as far as is known: without those of models."""
    return _with_passages(query, lambda passage: passage.annotator is None)


def labels_of_models(query: Query) -> Query:
    """Return a query with the labels that models gave."""
    return _with_passages(query, lambda passage: passage.annotator is not None)


def _with_passages(query: Query, wanted: Callable[[Passage], bool]) -> Query:
    """Return a query with some of its passages; a fact that has none left is no more."""
    facts = (
        replace(fact, passages=tuple(filter(wanted, fact.passages)))
        for fact in query.facts
        if any(map(wanted, fact.passages))
    )
    return replace(query, facts=tuple(facts), judged_irrelevant=tuple(filter(wanted, query.judged_irrelevant)))
