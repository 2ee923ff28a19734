"""How a chunk and the labels of its query meet: what a chunk is as a passage, and which passages it matches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.matching import Direction, MatchRule, Text, covering_characters, grade_by_labels, is_inside, match_passage
from raglift.printable import encodable
from raglift.records import Fact, Passage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from raglift.records import Chunk, Document, Query

__all__ = [
    "RULE",
    "Match",
    "evidence_of",
    "grades_of",
    "irrelevant_matches",
    "matches_of",
    "of_models",
    "of_people",
]

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
    """Return the passages of a query's facts that a chunk matches, in their order.

    Args:
        query: with its labels.
        chunk: of its pool.
        text: what normalizes, to be shared by chunks; by default a new one.
    """
    text = text or Text(RULE)
    found = []
    for number, fact in enumerate(query.facts):
        for alternative, passage in enumerate(fact.passages):
            match = match_passage(chunk, passage, RULE, text)
            if match is not None:
                inside = match.direction == Direction.PASSAGE_CONTAINS_CHUNK
                span = covering_characters(chunk, passage, match, RULE, text)
                found.append(Match(number, alternative, passage, inside, *span))
    return tuple(found)


def grades_of(query: Query, chunks: Iterable[Chunk], text: Text | None = None) -> tuple[int | None, ...]:
    """Return what the labels of a query say of chunks: the highest grade of a passage that each matches.

    It is 0 for a chunk that was judged irrelevant itself, or is a part of what was; else None. A chunk that merely
    contains such words is not judged by that: the rest of it may help.

    Args:
        query: with its labels.
        chunks: of its pool.
        text: what normalizes; by default a new one.
    """
    text = text or Text(RULE)
    return tuple(grade_by_labels(query, chunk, RULE, text) for chunk in chunks)


def irrelevant_matches(query: Query, chunk: Chunk, text: Text | None = None) -> Iterator[Match]:
    """Yield what was judged irrelevant and is the chunk, or has it inside; the alternative is its number."""
    text = text or Text(RULE)
    for match in matches_of(replace(query, facts=(Fact(query.judged_irrelevant),)), chunk, text):
        if is_inside(chunk, match.passage, RULE, text):
            yield match


def evidence_of(
    chunk: Chunk, documents: Mapping[str, Document], *, grade: int, part: tuple[int, int] | None = None
) -> Passage:
    """Return a chunk, or a part of it, as the passage that a person judges.

    It is a span of its document where that is known and has the chunk's words there; else it is its text.

    Args:
        chunk: what was returned.
        documents: the source texts by id, if at hand.
        grade: the passage's; 0 for one that does not help.
        part: first character of the chunk's text and one past the last; white space around it is left out. By default
            all of it, as it stands.

    Raises:
        ConfigurationError: the part is not inside the chunk, or holds no words.
    """
    start, end = (0, len(chunk.text)) if part is None else _trimmed(chunk.text, *part)
    words = encodable(chunk.text[start:end])
    if not words.strip():
        raise ConfigurationError("the words: found only white space; expected a part of the chunk that holds words")
    document = documents.get(chunk.doc_id or "")
    doc_id = (chunk.doc_id or None) if document is not None or not documents else None
    # without the document at hand, a place is believed that fits the chunk's length
    is_there = document is None or document.text.startswith(chunk.text, chunk.start)
    if doc_id is None or chunk.start is None or chunk.start < 0 or not is_there:
        return Passage(words, doc_id, grade=grade)
    if chunk.end != chunk.start + len(chunk.text):
        return Passage(words, doc_id, grade=grade)
    return Passage(words, doc_id, chunk.start + start, chunk.start + end, grade=grade)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    if not 0 <= start < end <= len(text):
        raise ConfigurationError(
            f"the words: found characters {start} to {end}; expected 0 ≤ start < end ≤ {len(text)}, the chunk's length"
        )
    words = text[start:end]
    return start + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip())


def of_people(query: Query) -> Query:
    """Return the query with those labels alone that no model gave."""
    return _kept(query, lambda passage: passage.annotator is None)


def of_models(query: Query) -> Query:
    """Return the query with those labels alone that models gave."""
    return _kept(query, lambda passage: passage.annotator is not None)


def _kept(query: Query, wanted: Callable[[Passage], bool]) -> Query:
    """Return the query with some of its passages; a fact that has none left is no more."""
    facts = (tuple(filter(wanted, fact.passages)) for fact in query.facts)
    return replace(
        query,
        facts=tuple(Fact(passages) for passages in facts if passages),
        judged_irrelevant=tuple(filter(wanted, query.judged_irrelevant)),
    )
