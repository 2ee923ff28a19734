"""Sessions: what each call found first, recall after each call, and the call at which each fact was lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.outcomes import OutcomeFacts
from raglift.analysis.repetitions import further_runs, repetition_components
from raglift.analysis.scoring import with_metrics
from raglift.analysis.upper_bound import match_tables_of, rule_of
from raglift.base.normalization import normalize
from raglift.errors import ConfigurationError
from raglift.metrics.computing import rankings_by_stage
from raglift.metrics.measure import first_satisfactions
from raglift.metrics.session_prefixes import match_run, rank_in_call
from raglift.records.metric import Metric

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord
    from raglift.matching.matches import MatchTable
    from raglift.stats.variances import VarianceComponents


Asked = Callable[[str], frozenset[int]]
"""Returns the numbers of the passages, among all labelled ones of the dataset, that the text of a search asks for."""

OUTCOMES = ("failed", "found", "left_out", "dropped", "asked", "never_asked", "not_retrieved")
"""What can become of a fact in a session, in the order in which it is tried."""

MEASURES_OF_SESSIONS = tuple(
    map(
        Metric,
        ("calls", "recovery", "redundancy", "wasted_calls", "first_call", "kept", "final_recall", "final_precision"),
    )
)
"""What a session analysis takes."""

SESSION_RECALL = Metric("session_recall")
"""The metric whose variance from run to run is told: over all hits of all calls."""


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


@dataclass(frozen=True)
class SessionAnalysisRecord:
    """How an agent searched, what it found by which call, and where each fact was lost."""

    sessions: int
    """The labelled queries; each has one session, or several runs of it."""
    recall_after: tuple[float, ...]
    """The mean share of facts that the first 1, 2, … calls found, up to the longest session."""
    still_searching: tuple[int, ...]
    """How many sessions of first runs made at least 1, 2, … calls."""
    means: tuple[tuple[Metric, float, int], ...]
    """Each measure of `MEASURES_OF_SESSIONS` with its mean and the queries that it is over; NaN where there is none."""
    failed_calls: int
    """How many calls of first runs failed."""
    facts: tuple[SessionFact, ...]
    """Every fact of the labelled queries, in first runs."""
    losses: tuple[OutcomeFacts, ...]
    """The facts by outcome, in the order of `OUTCOMES`; each fact counts once."""
    context_known: bool
    """Whether the final context of any session is known; else `found` means that a call found the fact."""
    components: VarianceComponents | None
    """How much of the variance of session recall is from run to run; None where no query was run twice."""

    def mean(self, name: str) -> float:
        """Return the mean of one measure, as `recovery`; NaN where no session has a value.

        Raises:
            ConfigurationError: it is none of `MEASURES_OF_SESSIONS`.
        """
        found = {metric.name: mean for metric, mean, _ in self.means}
        if name not in found:
            raise ConfigurationError(f"measure: found {name!r}; expected one of {', '.join(found)}")
        return found[name]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per fact: `query_id`, `fact`, `outcome`, and the `call` and `rank` that first found it."""
        import pandas as pd

        rows = [(each.query_id, each.fact, each.outcome, each.call, each.rank) for each in self.facts]
        frame = pd.DataFrame(rows, columns=["query_id", "fact", "outcome", "call", "rank"])
        return frame.astype({"call": "Int64", "rank": "Int64"})


def session_analysis(
    evaluation: EvaluationRecord, asked: Callable[[tuple[str | None, ...]], Asked]
) -> SessionAnalysisRecord:
    """Return how the sessions of an evaluation went.

    Means and recall after each call are over all runs of each query; what became of each fact is told of the first.

    Args:
        evaluation: of sessions.
        asked: makes, of the texts of all labelled passages, what tells which of them a search asks for.

    Raises:
        ConfigurationError: the evaluation is of a system that is asked once.
    """
    run = evaluation.run
    if not run.has_sessions:
        raise ConfigurationError(
            "session_analysis: found an evaluation of a system that is asked once; expected one of sessions, from "
            "rl.evaluate_sessions"
        )
    table = match_tables_of(evaluation)[-1]
    longest = max((len(each.calls or ()) for trace in run.traces for each in (trace, *trace.repetitions)), default=0)
    scores = with_metrics(evaluation, MEASURES_OF_SESSIONS).scores
    stage = evaluation.after
    labelled = [number for number, query in enumerate(evaluation.dataset.queries) if query.is_labelled]
    made = [len(run.traces[number].calls or ()) for number in labelled]
    facts = tuple(_facts(evaluation, table, asked(table.passages.texts)))
    return SessionAnalysisRecord(
        sessions=len(labelled),
        recall_after=_recall_after(evaluation, table, longest),
        still_searching=tuple(sum(count >= number for count in made) for number in range(1, longest + 1)),
        means=tuple((metric, scores.mean(stage, metric), scores.n(stage, metric)) for metric in MEASURES_OF_SESSIONS),
        failed_calls=sum(call.error is not None for number in labelled for call in run.traces[number].calls or ()),
        facts=facts,
        losses=tuple(_of_outcome(facts, outcome) for outcome in OUTCOMES),
        context_known=table.context is not None,
        components=repetition_components(evaluation, SESSION_RECALL),
    )


def _recall_after(evaluation: EvaluationRecord, table: MatchTable, longest: int) -> tuple[float, ...]:
    """Return the mean of recall@calls(1), recall@calls(2), …: all at once, as sessions may have very many calls."""
    queries = evaluation.dataset.queries
    found = [_found_after(table, longest)]
    for run, was_run in further_runs(evaluation.run):
        rankings = rankings_by_stage(run)[-1:]
        (again,) = match_run(run, rankings, queries, rule_of(evaluation), stages=[evaluation.after])
        found.append(np.where(was_run, _found_after(again, longest), np.nan))
    labelled = np.bincount(table.facts.query, minlength=len(queries)) > 0
    if not labelled.any():
        return (float("nan"),) * longest
    of_queries = np.nanmean(np.stack(found)[:, :, labelled], axis=0)
    return tuple(of_queries.mean(axis=1).tolist())


def _found_after(table: MatchTable, longest: int) -> NDArray[np.float64]:
    """Return the share of facts found after each number of calls: a row for each, and a column per query."""
    first = first_satisfactions(table)
    counts = np.zeros((longest, table.queries))
    np.add.at(counts, (table.calls.number[table.calls.rows(first.query, first.rank)] - 1, first.query), 1.0)
    wanted = np.bincount(table.facts.query, minlength=table.queries)
    return np.asarray(np.cumsum(counts, axis=0) / np.maximum(wanted, 1), dtype=np.float64)


def _of_outcome(facts: tuple[SessionFact, ...], outcome: str) -> OutcomeFacts:
    found = [fact for fact in facts if fact.outcome == outcome]
    return OutcomeFacts(outcome, None, len(found), tuple(dict.fromkeys(fact.query_id for fact in found)))


def _facts(evaluation: EvaluationRecord, table: MatchTable, asked: Asked) -> list[SessionFact]:
    traces, queries, of_facts = evaluation.run.traces, evaluation.dataset.queries, table.facts.query
    first = first_satisfactions(table)
    call, rank = np.zeros((2, len(of_facts)), dtype=np.int64)
    call[first.fact] = table.calls.number[table.calls.rows(first.query, first.rank)]
    rank[first.fact] = rank_in_call(table, first.query, first.rank)
    by_call, earlier = call > 0, np.zeros(len(of_facts), dtype=np.bool_)
    for before in match_tables_of(evaluation)[:-1]:
        earlier[first_satisfactions(before).fact] = True
    reached = by_call
    if table.context is not None and table.context_known is not None:
        in_context = np.isin(np.arange(len(of_facts)), first_satisfactions(table.context).fact)
        reached = np.where(table.context_known[of_facts], in_context, by_call)
    failed = np.array([trace.error is not None for trace in traces], dtype=np.bool_)[of_facts]
    searches = [tuple(call.query for call in trace.calls or ()) for trace in traces]
    never = _never_returned(table, [query.text for query in queries], searches, asked)
    known = (failed, reached, by_call, earlier)  # the order of OUTCOMES
    outcomes = np.select(known, OUTCOMES[: len(known)], never).tolist()
    places = (np.arange(len(of_facts)) - table.facts.first_of_query(of_facts) + 1).tolist()
    return [
        SessionFact(queries[query].id, place, outcome, of_call or None, at or None)
        for query, place, outcome, of_call, at in zip(
            of_facts.tolist(), places, outcomes, call.tolist(), rank.tolist(), strict=True
        )
    ]


def _never_returned(
    table: MatchTable, questions: list[str], searches: list[tuple[str, ...]], asked: Asked
) -> NDArray[np.object_]:
    """Return, of each fact, whether it was asked for: its outcome where no call returned it."""
    passages, wanted = table.passages, table.facts
    by_text = {text: asked(text) for text in {text for of_query in searches for text in of_query}}
    asked_for = [frozenset[int]().union(*(by_text[text] for text in of_query)) for of_query in searches]
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
