from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from raglift.matching.match import match_rankings
from raglift.matching.matches import MatchTable
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

Alternative = str | tuple[str, int]
"""A chunk id, or a chunk id and a grade."""
Labels = Sequence[Alternative | list[Alternative]]
"""The facts of a query; a list is a fact with alternatives."""


def _passage(alternative: Alternative) -> Passage:
    name, grade = (alternative, 1) if isinstance(alternative, str) else alternative
    return Passage(chunk_id=name, grade=grade)


def _fact(given: Alternative | list[Alternative]) -> Fact:
    alternatives = given if isinstance(given, list) else [given]
    return Fact(tuple(_passage(alternative) for alternative in alternatives))


def _judged(*cases: tuple[Labels, Sequence[str]]) -> MatchTable:
    queries = [Query(f"q{number}", "?", tuple(map(_fact, labels))) for number, (labels, _) in enumerate(cases)]
    rankings = [Ranking.of((Chunk("text", id=name), None) for name in ids) for _, ids in cases]
    (match_table,) = match_rankings(queries, [rankings], MatchRule())
    return match_table


@pytest.fixture(scope="session")
def judged() -> Callable[..., MatchTable]:
    """Judges rankings of chunk ids: `judged((labels, ids), …)`, one pair a query."""
    return _judged


@pytest.fixture(scope="session")
def value() -> Callable[..., float]:
    """One metric of one query: `value("ndcg@10", ["a", ["b1", "b2"]], ["x", "b2"])`."""

    def value(metric: str, labels: Labels, ids: Sequence[str], profile: str = "default") -> float:
        return float(compute(_judged((labels, ids)), parse(metric), profile)[0])

    return value
