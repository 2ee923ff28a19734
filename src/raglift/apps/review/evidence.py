"""Labels in a review: which of them a chunk matches, and how a reviewer's decision changes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from raglift.errors import ConfigurationError
from raglift.grading.labels import same_evidence, share_half
from raglift.matching.match import grade_by_labels, is_inside
from raglift.matching.matches import Direction
from raglift.matching.overlap import covering_characters, match_passage
from raglift.matching.rule import MatchRule, Text
from raglift.types.checking import FARTHEST, has_words
from raglift.types.labels import Fact, Passage, Query
from raglift.utilities.display import encodable

if TYPE_CHECKING:
    from raglift.types.documents import Chunk, Document


# A chunk and the labels of its query: the chunk as a passage, and the passages it matches.


RULE = MatchRule()
"""By which chunks match labels here: the default of every evaluation."""


@dataclass(frozen=True)
class Match:
    """A passage of a query that a chunk matches."""

    fact: int
    alternative: int
    passage: Passage
    inside: bool
    """Whether the chunk is the smaller one: it lies inside the passage."""
    start: int
    """First character of the chunk's own text that is of the passage, …"""
    end: int
    """… and one past the last; both 0 for a chunk-id label."""


def matches_of(query: Query, chunk: Chunk, text: Text | None = None) -> tuple[Match, ...]:
    """Return the passages of a query's facts that a chunk matches, in their order."""
    places = (
        (number, alternative, passage)
        for number, fact in enumerate(query.facts)
        for alternative, passage in enumerate(fact.passages)
    )
    return tuple(_matching(places, chunk, text or Text(RULE)))


def _matching(places: Iterable[tuple[int, int, Passage]], chunk: Chunk, text: Text) -> Iterator[Match]:
    """Yield those of some passages, with their numbers, that a chunk matches."""
    for number, alternative, passage in places:
        match = match_passage(chunk, passage, RULE, text)
        if match is not None:
            inside = match.direction == Direction.PASSAGE_CONTAINS_CHUNK
            span = covering_characters(chunk, passage, match, RULE, text)
            yield Match(number, alternative, passage, inside, *span)


def grades_of(query: Query, chunks: Iterable[Chunk]) -> tuple[int | None, ...]:
    """Return what the labels of a query say of chunks: the highest grade of a passage that each matches.

    It is 0 for a chunk that was judged irrelevant itself, or is a part of what was; else None. A chunk that merely
    contains such words is not judged by that: the rest of it may help.
    """
    text = Text(RULE)
    return tuple(grade_by_labels(query, chunk, RULE, text) for chunk in chunks)


def fact_like(query: Query, chunk: Chunk, matches: Sequence[Match]) -> int | None:
    """Return the fact that a chunk is most likely evidence of: one whose words it shares; None for no such fact."""
    if matches:
        return matches[0].fact
    if not has_words(encodable(chunk.text)):
        return None
    whole = evidence_of(chunk, {}, grade=0)
    return next((place[0] for place, known in _places(query) if share_half(whole, known)), None)


def irrelevant_matches(query: Query, chunk: Chunk) -> Iterator[Match]:
    """Yield the passages judged irrelevant that equal or contain the chunk; the alternative is its number."""
    text = Text(RULE)
    places = ((0, number, passage) for number, passage in enumerate(query.judged_irrelevant))
    for match in _matching(places, chunk, text):
        if is_inside(chunk, match.passage, RULE, text):
            yield match


def evidence_of(
    chunk: Chunk, documents: Mapping[str, Document], *, grade: int, part: tuple[int, int] | None = None
) -> Passage:
    """Return a chunk, or a part of it, as the passage that a person judges.

    It is a span of its document if it is known and has the chunk's words there; else it is its text.

    Args:
        chunk: what was returned.
        documents: the source texts by id, if at hand.
        grade: the passage's; 0 for one that does not help.
        part: first character of the chunk's text and one past the last; white space around it is left out. By default
            all of it, unchanged.
    """
    start, end = (0, len(chunk.text)) if part is None else _trimmed(chunk.text, *part)
    words = encodable(chunk.text[start:end])
    if not has_words(words):
        raise ConfigurationError("the words: found only white space; expected a part of the chunk that holds words")
    document = documents.get(chunk.doc_id or "")
    named = chunk.doc_id if (chunk.doc_id or "").strip() else None
    doc_id = named if document is not None or not documents else None
    # without the document at hand, a location is believed that fits the chunk's length
    is_there = document is None or document.text.startswith(chunk.text, chunk.start)
    if doc_id is None or chunk.start is None or chunk.start < 0 or not is_there:
        return Passage(words, doc_id, grade=grade)
    if chunk.end != chunk.start + len(chunk.text) or chunk.end >= FARTHEST:
        return Passage(words, doc_id, grade=grade)
    return Passage(words, doc_id, chunk.start + start, chunk.start + end, grade=grade)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    if not 0 <= start < end <= len(text):
        raise ConfigurationError(
            f"the words: found characters {start} to {end}; expected 0 ≤ start < end ≤ {len(text)}, the chunk's length"
        )
    words = text[start:end]
    return start + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip())


# A reviewer's decisions, as functions from a query to the query with the decision in its labels. Every label that
# results from a decision was made by a person: its annotator is None. A change that is not possible raises a
# ConfigurationError that gives the reason and what to do first.


Destination = int | Literal["another"]
"""The fact that a passage becomes an alternative of, by its number, or another fact that is made for it."""


def grade_chunk(
    query: Query,
    chunk: Chunk,
    grade: int,
    documents: Mapping[str, Document],
    *,
    fact: Destination | None = None,
) -> Query:
    """Return the query with a person's grade of a chunk.

    A chunk graded 0 is added to the irrelevant passages, and the passages it contains are removed from the labels.
    Otherwise the chunk gets its grade from the people's passages it contains, of which as few as possible are changed;
    if it contains none, it becomes a passage itself. Models' grades are overruled if they are about the same text, or
    grade text inside the chunk higher.

    Args:
        query: with its labels.
        chunk: of its pool.
        grade: 0 for a chunk that does not help.
        documents: the source texts by id, if at hand.
        fact: where the chunk goes if it becomes a passage, or was a model's alone. By default to the fact that has the
            same words, or to another fact.
    """
    if grade == 0:
        return _judge_irrelevant(query, chunk, documents)
    _check_answerable(query)
    if isinstance(fact, int):
        _fact(query, fact)
    query = _without_irrelevant(query, evidence_of(chunk, documents, grade=0))
    whole, matches = evidence_of(chunk, documents, grade=grade), matches_of(query, chunk)
    around = [match.passage.grade for match in _around(matches, above=grade)]
    decided = _decided(whole, matches, grade)
    if not decided:
        return query if grade in around else _with_evidence(query, whole, fact)
    by_models = {place: passage for place, passage in _places(query) if place in decided and passage.annotator}
    graded = _with_passages(
        query,
        (
            replace(passage, grade=grade, annotator=None) if place in decided else passage
            for place, passage in _places(query)
        ),
    )
    chosen_by_models = {place for place, passage in by_models.items() if same_place(whole, passage)}
    if fact is None or not chosen_by_models or len(by_models) < len(decided):
        return graded
    moved = _with_evidence(graded, whole, fact)
    return _with_passages(moved, (None if place in chosen_by_models else passage for place, passage in _places(moved)))


def clear_grade(query: Query, chunk: Chunk) -> Query:
    """Return the query with no label of a person's left that says anything of a chunk."""
    query = _without_contained(query, chunk, lambda match: match.passage.annotator is None)
    irrelevant = [match for match in irrelevant_matches(query, chunk) if match.passage.annotator is None]
    if any(match.inside for match in irrelevant):
        raise ConfigurationError(
            "the chunk: found it inside a longer passage that people judged not to help; expected none around it: "
            "grade that one anew first"
        )
    gone = {match.alternative for match in irrelevant}
    left = (passage for number, passage in enumerate(query.judged_irrelevant) if number not in gone)
    return replace(query, judged_irrelevant=tuple(left))


def add_words(
    query: Query,
    chunk: Chunk,
    part: tuple[int, int],
    documents: Mapping[str, Document],
    *,
    fact: int | None = None,
) -> Query:
    """Return the query with words of a chunk as a passage.

    Where the whole chunk is a passage, as after `grade_chunk`, they take its place and its grade; else it is 1. So
    they do where a model chose words that they share characters with, unless they are to be an alternative elsewhere.

    Args:
        query: with its labels.
        chunk: of its pool.
        part: first character of the chunk's text and one past the last.
        documents: the source texts by id, if at hand.
        fact: the number of the fact that they are an alternative of; None for a fact of their own.
    """
    _check_answerable(query)
    if fact is not None:
        _fact(query, fact)
    whole = evidence_of(chunk, documents, grade=0)
    passage = evidence_of(chunk, documents, grade=1, part=part)
    for (number, _), known in _places(query):
        if same_place(passage, known) and fact in (None, number):
            raise ConfigurationError(f"the words: found in fact {number + 1} already; expected others")
    query = _without_irrelevant(query, whole)
    for (number, alternative), known in _places(query):
        if same_place(whole, known) and fact in (None, number):
            return _with_passage(query, number, alternative, replace(passage, grade=known.grade))
    if fact is None:
        for (number, alternative), known in _places(query):
            if known.annotator is not None and _overlap(passage, known):
                return _with_passage(query, number, alternative, passage)
        return replace(query, facts=(*query.facts, Fact((passage,))))
    return _with_fact(query, fact, (*query.facts[fact].passages, passage))


def set_grade(query: Query, fact: int, alternative: int, grade: int) -> Query:
    """Return the query with another grade of a passage, which is a person's from then on."""
    passage = replace(_passage(query, fact, alternative), grade=grade, annotator=None)
    return _with_passage(query, fact, alternative, passage)


def remove(query: Query, fact: int, alternative: int | None = None) -> Query:
    """Return the query without a fact, or without one of its passages; a fact goes with its last one."""
    passages = _fact(query, fact).passages
    if alternative is None:
        return _with_fact(query, fact, ())
    _passage(query, fact, alternative)
    return _with_fact(query, fact, passages[:alternative] + passages[alternative + 1 :])


def mark_answerable(query: Query, *, answerable: bool) -> Query:
    """Return the query marked as one that the documents answer, or do not."""
    if not answerable and query.facts:
        raise ConfigurationError(
            "the question: found facts that answer it; expected none where it has no answer: remove the facts first"
        )
    return replace(query, answerable=answerable)


def _check_answerable(query: Query) -> None:
    if not query.answerable:
        raise ConfigurationError(
            "the question: found it marked as one without an answer, which has no facts; "
            "expected one with an answer: mark it as answerable first"
        )


def _judge_irrelevant(query: Query, chunk: Chunk, documents: Mapping[str, Document]) -> Query:
    query = _without_contained(query, chunk, lambda _: True)
    passage = evidence_of(chunk, documents, grade=0)
    query = _without_irrelevant(query, passage)
    return replace(query, judged_irrelevant=(*query.judged_irrelevant, passage))


def _without_contained(query: Query, chunk: Chunk, wanted: Callable[[Match], bool]) -> Query:
    """Return the query without the passages that a chunk contains; refused where it lies inside a person's."""
    matches = [match for match in matches_of(query, chunk) if wanted(match)]
    _around(matches, above=0)
    gone = {(match.fact, match.alternative) for match in matches if not match.inside}
    return _with_passages(query, (None if place in gone else passage for place, passage in _places(query)))


def _around(matches: Iterable[Match], *, above: int) -> list[Match]:
    """Return the passages of people's that a chunk lies inside; refused where one has a higher grade than that."""
    around = [match for match in matches if match.inside and match.passage.annotator is None]
    best = max(around, key=lambda match: match.passage.grade, default=None)
    if best is not None and best.passage.grade > above:
        raise ConfigurationError(
            f"the chunk: found it inside a longer passage of fact {best.fact + 1}, which people gave the grade "
            f"{best.passage.grade}; expected none around it with more than {above}: change or remove that passage first"
        )
    return around


def _without_irrelevant(query: Query, passage: Passage) -> Query:
    """Return the query without the same passage among the irrelevant ones, whoever judged it."""
    left = (known for known in query.judged_irrelevant if not same_place(passage, known))
    return replace(query, judged_irrelevant=tuple(left))


def _overlap(passage: Passage, other: Passage) -> bool:
    """Whether two passages share characters of one document, as far as their locations are known."""
    if passage.doc_id != other.doc_id or passage.start is None or other.start is None:
        return False
    return passage.start < (other.end or 0) and other.start < (passage.end or 0)


def same_place(one: Passage, other: Passage) -> bool:
    """Whether two passages are the same text at the same location, as far as locations are known."""
    if one.text != other.text or one.chunk_id != other.chunk_id:
        return False
    return None in (one.start, other.start) or (one.doc_id, one.start) == (other.doc_id, other.start)


def _decided(whole: Passage, matches: Sequence[Match], grade: int) -> set[tuple[int, int]]:
    """Return which passages, by fact and alternative, are to have a chunk's grade so that the chunk has it.

    Of people's those above it, which are lowered, or else the best, which are raised; of models' those inside the chunk
    that are above it, and the chunk itself.
    """
    grades = {(match.fact, match.alternative): match.passage for match in matches if not match.inside}
    people = [passage.grade for passage in grades.values() if passage.annotator is None]
    least = min(grade, max(people, default=grade))
    return {
        place
        for place, passage in grades.items()
        if (passage.annotator is None and passage.grade >= least)
        or (passage.annotator is not None and (passage.grade > grade or same_place(whole, passage)))
    }


def _with_evidence(query: Query, passage: Passage, fact: Destination | None) -> Query:
    """Return the query with one more passage: of that fact; by default of the one that has the same words, or a new."""
    if isinstance(fact, int):
        return _with_fact(query, fact, (*query.facts[fact].passages, passage))
    for number, each in enumerate(query.facts if fact is None else ()):
        if any(same_evidence(passage, known) for known in each.passages):
            return _with_fact(query, number, (*each.passages, passage))
    return replace(query, facts=(*query.facts, Fact((passage,))))


def _places(query: Query) -> list[tuple[tuple[int, int], Passage]]:
    return [
        ((number, place), passage)
        for number, fact in enumerate(query.facts)
        for place, passage in enumerate(fact.passages)
    ]


def _with_passages(query: Query, passages: Iterable[Passage | None]) -> Query:
    """Return the query with other passages in the same order; None takes one away, and with the last its fact."""
    remaining = iter(passages)
    changed = [
        (fact, tuple(one for _ in fact.passages if (one := next(remaining)) is not None)) for fact in query.facts
    ]
    return replace(query, facts=tuple(replace(fact, passages=left) for fact, left in changed if left))


def _with_passage(query: Query, fact: int, alternative: int, passage: Passage) -> Query:
    passages = query.facts[fact].passages
    return _with_fact(query, fact, (*passages[:alternative], passage, *passages[alternative + 1 :]))


def _with_fact(query: Query, fact: int, passages: tuple[Passage, ...]) -> Query:
    changed = (replace(query.facts[fact], passages=passages),) if passages else ()
    return replace(query, facts=(*query.facts[:fact], *changed, *query.facts[fact + 1 :]))


def _fact(query: Query, fact: int) -> Fact:
    if not 0 <= fact < len(query.facts):
        raise ConfigurationError(f"fact: found number {fact + 1}; expected one of the {len(query.facts)} facts")
    return query.facts[fact]


def _passage(query: Query, fact: int, alternative: int) -> Passage:
    passages = _fact(query, fact).passages
    if not 0 <= alternative < len(passages):
        raise ConfigurationError(f"alternative: found number {alternative + 1}; expected one of {len(passages)}")
    return passages[alternative]
