"""The best that any choice of k among given chunks can do for a query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.diagnosis.attainable import Alternative, Best, best_facts_at
from raglift.errors import ConfigurationError
from raglift.matching import match_passage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raglift.matching import MatchRule, PassageMatch, Text
    from raglift.records import Chunk, Query

__all__ = ["best_of_query", "check_attainable_rule"]

_TOLERANCE = 1e-9


def best_of_query(
    query: Query,
    chunks: Sequence[Chunk],
    rule: MatchRule,
    text: Text,
    ks: Sequence[int],
    pairs: Iterable[tuple[int, int, int]] | None = None,
) -> list[Best]:
    """Return the most facts of a query that k of the chunks can satisfy, for each of several k.

    Args:
        query: the query.
        chunks: what may be chosen: the chunks of an index, or the candidates of a reranker.
        rule: what counts as a match.
        text: the texts as the rule normalizes them.
        ks: how many chunks.
        pairs: (fact of the query, alternative, chunk) of all pairs that can match, as indices; by default every pair is
            tried.
    """
    if pairs is None:
        passages = [(f, p) for f, fact in enumerate(query.facts) for p in range(len(fact.passages))]
        pairs = [(fact, passage, chunk) for fact, passage in passages for chunk in range(len(chunks))]
    matches: list[list[dict[int, PassageMatch]]] = [[{} for _ in fact.passages] for fact in query.facts]
    for fact, passage, chunk in pairs:
        match = match_passage(chunks[chunk], query.facts[fact].passages[passage], rule, text)
        if match is not None:
            matches[fact][passage][chunk] = match
    narrow = _requirements(query, matches, rule, widened=False)
    wide = _requirements(query, matches, rule, widened=True)
    least = best_facts_at(narrow, ks)
    if narrow == wide:
        return least
    most = best_facts_at(wide, ks)
    return [
        Best(high.facts, high.exact and low.exact and low.facts == high.facts)
        for low, high in zip(least, most, strict=True)
    ]


def _requirements(
    query: Query, matches: list[list[dict[int, PassageMatch]]], rule: MatchRule, *, widened: bool
) -> list[list[Alternative]]:
    return [
        [
            _alternative(passage.text, found, rule, widened)
            for passage, found in zip(fact.passages, of_fact, strict=True)
        ]
        for fact, of_fact in zip(query.facts, matches, strict=True)
    ]


def _alternative(text: str | None, matches: dict[int, PassageMatch], rule: MatchRule, widened: bool) -> Alternative:
    """Return what satisfies a fact by one passage.

    White space between two covered parts counts as covered, which no interval says. So there are two ways to say it:
    without that white space, which is too little; and widened by the white space around each part, which may be too
    much.
    """
    if text is None or rule.mode != "coverage":
        return Alternative.any_of(matches)
    covers = [(chunk, match.start, match.end) for chunk, match in matches.items()]
    if widened:
        covers = [(chunk, *_widened(text, start, end)) for chunk, start, end in covers]
    needed = math.ceil((rule.threshold or 0) * len(text) - _TOLERANCE)
    return Alternative(max(needed, 1), tuple(covers))


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    before, after = text[:start], text[end:]
    return len(before.rstrip()), len(text) - len(after.lstrip())


def check_attainable_rule(rule: MatchRule) -> None:
    """Check that all chunks that can match a passage can be found without comparing it with each of them.

    Raises:
        ConfigurationError: the rule is fuzzy.
    """
    if rule.mode == "fuzzy":
        raise ConfigurationError(
            "match: found 'fuzzy'; expected 'coverage' or 'containment': which of all chunks are like a passage is not "
            "known without comparing it with each of them"
        )
