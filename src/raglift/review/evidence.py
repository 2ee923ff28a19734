"""How a chunk and the labels of its query meet: what a chunk is as a passage, and which passages it matches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.matching import Direction, MatchRule, Text, covering_characters, match_passage
from raglift.matching.places import is_at
from raglift.records import Fact, Passage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raglift.records import Chunk, Document, Query

__all__ = ["RULE", "Match", "evidence_of", "kept", "matches_of", "of_models", "of_people", "same_evidence"]

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
    words = chunk.text[start:end]
    if not words.strip():
        raise ConfigurationError("the words: found only white space; expected a part of the chunk that holds words")
    document = documents.get(chunk.doc_id or "")
    if chunk.doc_id and chunk.start is not None and chunk.end == chunk.start + len(chunk.text):
        if not documents or (document is not None and is_at(document.text, chunk.text, chunk.start, chunk.end)):
            return Passage(words, chunk.doc_id, chunk.start + start, chunk.start + end, grade=grade)
    doc_id = chunk.doc_id if document is not None or not documents else None
    return Passage(words, doc_id or None, grade=grade)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    if not 0 <= start < end <= len(text):
        raise ConfigurationError(
            f"the words: found characters {start} to {end}; expected 0 ≤ start < end ≤ {len(text)}, the chunk's length"
        )
    words = text[start:end]
    return start + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip())


def same_evidence(one: Passage, other: Passage, text: Text) -> bool:
    """Whether two passages are one piece of evidence.

    They are where their spans of one document share at least half of the shorter, or their normalized texts are equal
    and nothing says that the documents differ.
    """
    if one.text is None or other.text is None:
        return one.chunk_id is not None and one.chunk_id == other.chunk_id
    if one.doc_id is not None and other.doc_id is not None and one.doc_id != other.doc_id:
        return False
    if None not in (one.doc_id, other.doc_id) and one.start is not None and other.start is not None:
        shared = min(one.end or 0, other.end or 0) - max(one.start, other.start)
        return 2 * shared >= min(len(one.text), len(other.text))
    return text(one.text) == text(other.text)


def of_people(query: Query) -> Query:
    """Return the query with those labels alone that no model gave."""
    return kept(query, lambda passage: passage.annotator is None)


def of_models(query: Query) -> Query:
    """Return the query with those labels alone that models gave."""
    return kept(query, lambda passage: passage.annotator is not None)


def kept(query: Query, wanted: Callable[[Passage], bool]) -> Query:
    """Return the query with some of its passages; a fact that has none left is no more."""
    facts = (tuple(filter(wanted, fact.passages)) for fact in query.facts)
    return replace(
        query,
        facts=tuple(Fact(passages) for passages in facts if passages),
        judged_irrelevant=tuple(filter(wanted, query.judged_irrelevant)),
    )
