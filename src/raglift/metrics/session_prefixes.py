"""Rankings of sessions at a depth: what the first calls returned, and the first hits of each call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.match import match_rankings, satisfied_by_hits
from raglift.matching.matches import CallTable
from raglift.metrics.measure import depth
from raglift.types.metric import Calls
from raglift.types.rankings import Ranking
from raglift.types.sessions import ranking_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable, Satisfactions, SpanUpperBound
    from raglift.matching.rule import MatchRule
    from raglift.text.tokens import TokenCounts
    from raglift.types.labels import Query
    from raglift.types.rankings import Run


def calls(most: int) -> Calls:
    """Make a depth out of a number of calls of a session.

    As in `Recall @ calls(2)`, whose text is `recall@calls(2)`.

    Args:
        most: how many of the first calls count.

    Raises:
        ConfigurationError: not an integer from 1 to 999,999,999.
    """
    return Calls(most)


def first_calls(match_table: MatchTable, most: Calls) -> MatchTable:
    """Return the matches of what the first calls of each session returned."""
    cut = match_table.prefixes.get(most)
    if cut is None:
        calls = match_table.calls
        counts = calls.number <= most.most
        lengths = np.bincount(calls.query[counts], weights=calls.hits[counts], minlength=match_table.queries)
        cut = match_table.cut(lengths.astype(np.int64))
        if cut.sessions is not None:
            cut = replace(cut, sessions=CallTable(calls.query[counts], calls.hits[counts]))
        match_table.prefixes[most] = cut
    return cut


def rank_in_call(match_table: MatchTable, query: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each of some hits its rank among those of its own call."""
    calls = match_table.calls
    return np.asarray(rank - calls.before[calls.rows(query, rank)], dtype=np.int64)


def satisfied_within(match_table: MatchTable, k: int | None) -> Satisfactions:
    """Return where each fact is satisfied by the first k hits of each call, at ranks of the whole session.

    Where hits satisfy a fact together, by coverage, those of several calls do too.
    """
    if match_table.sessions is None:
        return match_table.satisfied.take(match_table.satisfied.rank <= depth(k))
    if k is None or match_table.calls.hits.max(initial=0) <= k:
        return match_table.satisfied
    query = np.repeat(np.arange(match_table.queries), match_table.hits)
    rank = np.arange(len(query)) - (np.cumsum(match_table.hits) - match_table.hits)[query] + 1
    return satisfied_by_hits(match_table, rank_in_call(match_table, query, rank) <= k)


def match_run(
    run: Run,
    rankings: Sequence[Sequence[Ranking]],
    queries: Sequence[Query],
    rule: MatchRule,
    *,
    reach: SpanUpperBound | None = None,
    counter: TokenCounts | None = None,
) -> list[MatchTable]:
    """Match the rankings of a run by stage, and of sessions also what each call returned and reached the context."""
    if not run.has_sessions:
        return match_rankings(queries, rankings, rule, reach=reach, counter=counter)
    contexts = [trace.context or Ranking() for trace in run.traces]
    known = np.array([trace.context is not None for trace in run.traces], dtype=np.bool_)
    *tables, context = match_rankings(queries, [*rankings, contexts], rule, reach=reach, counter=counter)
    context_of_tables, context_known = (context, known) if known.any() else (None, None)
    return [
        replace(table, sessions=_calls_of(run, info.name), context=context_of_tables, context_known=context_known)
        for table, info in zip(tables, run.stages, strict=True)
    ]


def calls_of_prefixes(match_table: MatchTable, query: int) -> CallTable:
    """Return the calls of a query for each prefix of its ranking, of 0 hits, of 1, …: a query each."""
    calls = match_table.calls
    hits, before = calls.hits[calls.query == query], calls.before[calls.query == query]
    lengths = np.arange(int(match_table.hits[query]) + 1)
    left = np.clip(lengths[:, np.newaxis] - before, 0, hits)
    return CallTable(np.repeat(lengths, len(hits)), left.ravel().astype(np.int64))


def _calls_of(run: Run, stage: str) -> CallTable:
    """Return the calls of a run, with the hits that each had after a stage."""
    names = [info.name for info in run.stages]
    rows = []
    for number, trace in enumerate(run.traces):
        if trace.calls is not None:
            rows += [(number, len(ranking_at(call, stage, names))) for call in trace.calls]
        else:
            rows += [(number, len(done.ranking)) for done in trace.stages if done.stage == stage]
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return CallTable(table[:, 0], table[:, 1])
