"""The runs of sessions one by one: what each call found of the facts, and what became of each fact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.fairness import token_counter
from raglift.analysis.repetitions import further_runs
from raglift.analysis.upper_bound import match_tables_of, rule_of
from raglift.metrics.computing import rankings_by_stage
from raglift.metrics.measure import first_satisfactions
from raglift.metrics.session_measures import repeated_characters
from raglift.metrics.session_prefixes import match_run, rank_in_call
from raglift.text.normalization import normalize

if TYPE_CHECKING:
    from raglift.matching.matches import MatchTable
    from raglift.results.evaluation import Evaluation
    from raglift.types.rankings import Run

Asked = Callable[[str], frozenset[int]]
"""Returns the numbers of the passages, among all labelled ones of the dataset, that the text of a search asks for."""

OUTCOMES = ("failed", "found", "left_out", "dropped", "asked", "never_asked", "not_retrieved")
"""What can become of a fact in a session, in the order in which it is tried."""


@dataclass(frozen=True)
class SessionFact:
    """What became of one fact in the first run of its query."""

    query_id: str
    """Whose it is."""
    fact: int
    """Which of the query's facts, from 1."""
    outcome: str
    """One of `OUTCOMES`."""
    call: int | None
    """The number of the call that first found it; None if none did."""
    rank: int | None
    """Its rank among the hits of that call; None if none did."""
    tokens: int | None = None
    """How many tokens the session had returned up to that hit and with it; None if none did."""


@dataclass(frozen=True)
class CallFindings:
    """What one call of a session found."""

    new: tuple[int, ...]
    """The facts of the query that no earlier call had found, by number from 0."""
    again: tuple[int, ...]
    """The facts that it found, and an earlier call had found already."""
    characters: int
    """How many characters its hits have."""
    repeated: int
    """How many of these an earlier call had returned."""
    tokens: int
    """How many tokens the texts of its hits have."""


@dataclass(frozen=True, eq=False)
class SessionRun:
    """One run of every query."""

    run: Run
    """With the traces of this run."""
    was_run: NDArray[np.bool_]
    """Which queries were run so often."""
    match_table: tuple[MatchTable, ...]
    """For each stage, what matched."""
    facts: tuple[SessionFact, ...]
    """What became of each fact, query after query."""

    @property
    def last(self) -> MatchTable:
        """What matched after the last stage."""
        return self.match_table[-1]

    def findings(self) -> list[list[CallFindings]]:
        """Return what each call of each query found."""
        table, made = self.last, self.last.calls
        of_query: list[list[CallFindings]] = [[] for _ in range(table.queries)]
        new, all_found = _facts_by_call(table)
        ends = np.cumsum(table.hits).tolist()
        tokens = table.tokens.tolist()
        for row, (query, hits, before, (characters, repeated)) in enumerate(
            zip(made.query.tolist(), made.hits.tolist(), made.before.tolist(), repeated_characters(table), strict=True)
        ):
            first = ends[query] - int(table.hits[query]) + before
            known = {fact for earlier in of_query[query] for fact in earlier.new}
            of_query[query].append(
                CallFindings(
                    new=tuple(sorted(new.get(row, ()))),
                    again=tuple(sorted(all_found.get(row, set()) & known)),
                    characters=characters,
                    repeated=repeated,
                    tokens=sum(tokens[first : first + hits]),
                )
            )
        return of_query


def _facts_by_call(table: MatchTable) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Return by call, as rows of the table of calls, the facts of its query that it first found, and all it matched."""
    first, matches = first_satisfactions(table), table.matches
    found: list[dict[int, set[int]]] = []
    for query, rank, fact in ((first.query, first.rank, first.fact), (matches.query, matches.rank, matches.fact)):
        of_call: dict[int, set[int]] = {}
        places = fact - table.facts.first_of_query(query)
        for row, place in zip(table.calls.rows(query, rank).tolist(), places.tolist(), strict=True):
            of_call.setdefault(row, set()).add(place)
        found.append(of_call)
    return found[0], found[1]


def session_runs(evaluation: Evaluation, asked: Callable[[tuple[str | None, ...]], Asked]) -> Iterator[SessionRun]:
    """Yield the first run of each query, then the second, and so on.

    Args:
        evaluation: of sessions.
        asked: makes, of the texts of all labelled passages, what tells which of them a search asks for.
    """
    counter = token_counter({"": evaluation})
    tables = tuple(replace(table, counter=counter) for table in match_tables_of(evaluation))
    asks = _remembered(asked(tables[-1].passages.texts))
    every = np.ones(len(evaluation.run.traces), dtype=np.bool_)
    yield _session_run(evaluation, evaluation.run, tables, every, asks)
    for run, was_run in further_runs(evaluation.run):
        queries = evaluation.dataset.queries
        again = match_run(run, rankings_by_stage(run), queries, rule_of(evaluation), counter=counter)
        yield _session_run(evaluation, run, tuple(again), was_run, asks)


def _remembered(asked: Asked) -> Asked:
    known: dict[str, frozenset[int]] = {}

    def asks(text: str) -> frozenset[int]:
        if text not in known:
            known[text] = asked(text)
        return known[text]

    return asks


def _session_run(
    evaluation: Evaluation, run: Run, tables: tuple[MatchTable, ...], was_run: NDArray[np.bool_], asks: Asked
) -> SessionRun:
    return SessionRun(run, was_run, tables, tuple(_facts(evaluation, run, tables, asks)))


def first_calls_and_ranks(table: MatchTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, of each fact, the number of the call that first finds it, and its rank there; 0 if none does."""
    first = first_satisfactions(table)
    call, rank = np.zeros((2, len(table.facts.query)), dtype=np.int64)
    call[first.fact] = table.calls.number[table.calls.rows(first.query, first.rank)]
    rank[first.fact] = rank_in_call(table, first.query, first.rank)
    return call, rank


def tokens_until_found(table: MatchTable) -> NDArray[np.int64]:
    """Return, of each fact, the tokens of all hits up to and with the one that finds it; 0 if none does."""
    first = first_satisfactions(table)
    sums = np.concatenate(([0], np.cumsum(table.tokens)))
    start = (np.cumsum(table.hits) - table.hits)[first.query]
    tokens = np.zeros(len(table.facts.query), dtype=np.int64)
    tokens[first.fact] = sums[start + first.rank] - sums[start]
    return tokens


def _facts(evaluation: Evaluation, run: Run, tables: Sequence[MatchTable], asks: Asked) -> Iterator[SessionFact]:
    table, traces, queries = tables[-1], run.traces, evaluation.dataset.queries
    of_facts = table.facts.query
    call, rank = first_calls_and_ranks(table)
    by_call, earlier = call > 0, np.zeros(len(of_facts), dtype=np.bool_)
    for before in tables[:-1]:
        earlier[first_satisfactions(before).fact] = True
    reached = by_call
    if table.context is not None and table.context_known is not None:
        in_context = np.isin(np.arange(len(of_facts)), first_satisfactions(table.context).fact)
        reached = np.where(table.context_known[of_facts], in_context, by_call)
    failed = np.array([trace.error is not None for trace in traces], dtype=np.bool_)[of_facts]
    searches = [tuple(call.query for call in trace.calls or ()) for trace in traces]
    never = _never_returned(table, [query.text for query in queries], searches, asks)
    known = (failed, reached, by_call, earlier)  # the order of OUTCOMES
    outcomes = np.select(known, OUTCOMES[: len(known)], never).tolist()
    places = (np.arange(len(of_facts)) - table.facts.first_of_query(of_facts) + 1).tolist()
    tokens = tokens_until_found(table).tolist()
    for query, place, outcome, of_call, at, spent in zip(
        of_facts.tolist(), places, outcomes, call.tolist(), rank.tolist(), tokens, strict=True
    ):
        found = (of_call, at, spent) if of_call else (None, None, None)
        yield SessionFact(queries[query].id, place, outcome, *found)


def _never_returned(
    table: MatchTable, questions: list[str], searches: list[tuple[str, ...]], asks: Asked
) -> NDArray[np.object_]:
    """Return, of each fact, whether it was asked for: its outcome where no call returned it."""
    passages, wanted = table.passages, table.facts
    asked_for = [frozenset[int]().union(*map(asks, of_query)) for of_query in searches]
    as_question = [
        normalize(question) in map(normalize, of_query) for question, of_query in zip(questions, searches, strict=True)
    ]
    outcomes = []
    for query, start, alternatives in zip(
        wanted.query.tolist(), passages.first.tolist(), wanted.passages.tolist(), strict=True
    ):
        rows = range(start, start + alternatives)
        if as_question[query] or not asked_for[query].isdisjoint(rows):
            outcomes.append("asked")
        else:
            has_text = any(passages.texts[row] for row in rows)
            outcomes.append("never_asked" if has_text or not searches[query] else "not_retrieved")
    return np.array(outcomes, dtype=object)
