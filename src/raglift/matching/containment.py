"""Whether a hit matches a passage: by chunk id, or by normalized text containment.

Text matches when the chunk contains the passage or the passage contains the chunk, after normalization. An empty
text never matches. A chunk shorter than `minimum_length` never matches by lying inside a longer passage, since
“said he” lies inside half the book; a short passage inside a chunk does match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from raglift.errors import ConfigurationError
from raglift.matching.judgements import Direction, FactTable, Judgements, Matches, satisfactions_of
from raglift.text import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Chunk, Passage, Query, Ranking

__all__ = ["MatchRule", "PassageMatch", "Text", "judge", "match_passage"]

_MODES = ("containment",)


@dataclass(frozen=True)
class MatchRule:
    """How hits are matched to passages. Chunk-id labels always match by id, whatever the mode.

    Raises:
        ConfigurationError: an unknown mode, or a length that is not an integer of 0 or more.
    """

    mode: Literal["containment"] = "containment"
    """What counts as a match of text."""
    minimum_length: int = 20
    """A chunk of fewer normalized characters never matches by lying inside a longer passage."""
    unicode_folding: bool = False
    """Also fold compatibility forms, case by `casefold`, typographic quotes and dashes."""

    def __post_init__(self) -> None:
        if self.mode not in _MODES:
            raise ConfigurationError(f"match: found {self.mode!r}; expected one of {', '.join(map(repr, _MODES))}")
        length = self.minimum_length
        if isinstance(length, bool) or not isinstance(length, int) or length < 0:
            raise ConfigurationError(f"minimum_length: found {self.minimum_length!r}; expected an integer, 0 or more")

    @classmethod
    def for_profile(cls, profile: str, mode: str = "containment", *, unicode_folding: bool = False) -> MatchRule:
        """Return the rule that goes with a profile's metrics: the tutorial has no length guard.

        Args:
            profile: whose metric conventions.
            mode: what counts as a match of text.
            unicode_folding: whether to fold compatibility forms, typographic quotes and dashes.

        Raises:
            ConfigurationError: an unknown mode.
        """
        length = 0 if profile == "tutorial" else cls.minimum_length
        return cls(mode, minimum_length=length, unicode_folding=unicode_folding)  # type: ignore[arg-type]


class PassageMatch(NamedTuple):
    """How a chunk matched a passage."""

    direction: int
    """One of the values of `Direction`."""
    start: int
    """First normalized character of the passage that the chunk covers; 0 for a chunk-id label."""
    end: int
    """One past the last; 0 for a chunk-id label."""


class Text:
    """Normalizes each distinct text once."""

    def __init__(self, rule: MatchRule) -> None:
        self._folding = rule.unicode_folding
        self._known: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """Return the normalized text."""
        normalized = self._known.get(text)
        if normalized is None:
            normalized = self._known[text] = normalize(text, unicode_folding=self._folding)
        return normalized


def match_passage(chunk: Chunk, passage: Passage, rule: MatchRule, text: Text) -> PassageMatch | None:
    """Return how a chunk matches a passage, or None when it does not."""
    if passage.chunk_id is not None:
        return PassageMatch(Direction.SAME_ID, 0, 0) if chunk.id == passage.chunk_id else None
    if passage.doc_id is not None and chunk.doc_id is not None and passage.doc_id != chunk.doc_id:
        return None
    wanted, found = text(passage.text or ""), text(chunk.text)
    if not wanted or not found:
        return None
    if wanted in found:
        return PassageMatch(Direction.CHUNK_CONTAINS_PASSAGE, 0, len(wanted))
    if len(found) >= rule.minimum_length:
        start = wanted.find(found)
        if start >= 0:
            return PassageMatch(Direction.PASSAGE_CONTAINS_CHUNK, start, start + len(found))
    return None


def judge(queries: Sequence[Query], rankings: Sequence[Sequence[Ranking]], rule: MatchRule) -> list[Judgements]:
    """Match every hit of every stage to every passage of its query.

    Args:
        queries: the queries; those without labels have no facts and match nothing.
        rankings: for each stage, one ranking a query in the order of the queries.
        rule: what counts as a match.

    Returns:
        One `Judgements` a stage, in the order of the stages.
    """
    facts = _fact_table(queries)
    text = Text(rule)
    rows: list[list[tuple[int, ...]]] = [[] for _ in rankings]
    by_text_alone = [0] * len(rankings)
    first_fact = 0
    for number, query in enumerate(queries):
        if not query.is_labelled:
            continue
        known: dict[tuple[str, str | None, str], list[tuple[int, ...]]] = {}
        for stage, of_stage in enumerate(rankings):
            seen: set[str] = set()
            for hit in of_stage[number]:
                chunk = hit.chunk
                key = (chunk.id, chunk.doc_id, chunk.text)
                found = known.get(key)
                if found is None:
                    found = known[key] = _matches_of(query, chunk, first_fact, rule, text)
                rows[stage] += [(number, hit.rank, chunk.id in seen, *match) for match in found]
                by_text_alone[stage] += sum(match[-1] for match in found)
                seen.add(chunk.id)
        first_fact += len(query.facts)
    judgements = []
    for stage_rows, of_stage, alone in zip(rows, rankings, by_text_alone, strict=True):
        matches = _match_table(stage_rows)
        hits = np.array([len(ranking) for ranking in of_stage], dtype=np.int64)
        judgements.append(
            Judgements(len(queries), hits, facts, matches, satisfactions_of(facts, matches), by_text_alone=alone)
        )
    return judgements


def _matches_of(query: Query, chunk: Chunk, first_fact: int, rule: MatchRule, text: Text) -> list[tuple[int, ...]]:
    """Return (fact, passage, grade, direction, start, end, by text alone) for each passage the chunk matches."""
    found: list[tuple[int, ...]] = []
    for place, fact in enumerate(query.facts):
        for number, passage in enumerate(fact.passages):
            match = match_passage(chunk, passage, rule, text)
            if match is not None:
                alone = passage.doc_id is not None and chunk.doc_id is None
                found.append((first_fact + place, number, passage.grade, *match, int(alone)))
    return found


def _fact_table(queries: Sequence[Query]) -> FactTable:
    rows = [
        (number, fact.ideal_grade, len(fact.passages))
        for number, query in enumerate(queries)
        if query.is_labelled
        for fact in query.facts
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return FactTable(table[:, 0], table[:, 1], table[:, 2])


def _match_table(rows: list[tuple[int, ...]]) -> Matches:
    table = np.array(rows, dtype=np.int64).reshape(-1, 10)
    query, rank, repeated, fact, passage, grade, direction, start, end, _ = table.T
    return Matches(query, rank, fact, passage, grade, direction.astype(np.int8), start, end, repeated.astype(np.bool_))
