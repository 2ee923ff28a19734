"""Measures of a session: an agent's searches for one query, one after the other, and what it kept of their hits.

A system that is asked once has sessions of one call: there session recall and session NDCG are recall and NDCG.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.coverage import Covered
from raglift.metrics.custom import metric
from raglift.metrics.graded_measures import GAIN, gain_of, positions
from raglift.metrics.measure import Number, count_by_query, depth, first_satisfactions, per_query, relevant_hits, sum_by
from raglift.metrics.session_prefixes import first_calls, rank_in_call, satisfied_within
from raglift.types.metric import Calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric


# Quality of the searches: facts found by the first k hits of each call.


BQ = Number("bq", 1, 1000, default=4, is_open=True)
"""The base of the logarithm by which later calls are discounted."""
_SESSION_DCG = "Järvelin et al. 2008; nsDCG of the TREC Session track, Kanoulas et al. 2011"


@metric(
    "session_recall",
    title="SessionRecall",
    formula="facts satisfied by the first k hits of any call / facts",
    source="raglift; with one call, trec_eval's recall",
    is_by_call=True,
    vectorized=True,
)
def SessionRecall(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """SessionRecall@k = facts satisfied by the first k hits of each call / facts. Range [0, 1].

    Where hits cover a passage together (`match="coverage"`), those of several calls do too. With one call it is
    Recall@k.
    """
    found = np.unique(satisfied_within(match_table, metric.k).fact)
    facts = count_by_query(match_table.facts.query, match_table)
    return per_query(count_by_query(match_table.facts.query[found], match_table), facts)


@metric(
    "session_ndcg",
    title="SessionNDCG",
    formula="Σ gain / (log2(position in call + 1) · (1 + log_bq(call))), each fact once, / that of the ideal",
    source=_SESSION_DCG,
    settings=(GAIN, BQ),
    is_by_call=True,
    vectorized=True,
)
def SessionNDCG(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """SessionNDCG@k = session DCG@k / that of the best possible session of as many calls. Range [0, 1].

    Session DCG@k = Σ gain_j / (log2(p_j + 1) · (1 + log_bq(c_j))) over the satisfied facts, where c_j is the number of
    the call that first satisfies fact j among its first k hits, and p_j its position in that call, found as in DCG: of
    facts at one rank, each has a position of its own. A better alternative that comes later adds the difference, with
    the larger of the two discounts. The gain is the grade, or 2^grade − 1 with `gain="exponential"`; bq is 4. The ideal
    session places the facts, best first, where the discounts of its calls and their first k positions are least. With
    one call it is NDCG@k.
    """
    gained = _session_dcg(match_table, metric)
    return per_query(gained, _ideal_session_dcg(match_table, metric))


def _session_dcg(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    satisfied = satisfied_within(match_table, metric.k)
    query = match_table.facts.query[satisfied.fact]
    call, rank = _call_numbers(match_table, query, satisfied.rank), rank_in_call(match_table, query, satisfied.rank)
    first = first_satisfactions(replace(match_table, satisfied=satisfied))
    of_call = match_table.calls.rows(first.query, first.rank)
    position = positions(of_call, rank_in_call(match_table, first.query, first.rank))
    position_of_fact, call_of_fact = np.zeros((2, len(match_table.facts.query)), dtype=np.int64)
    position_of_fact[first.fact] = position
    call_of_fact[first.fact] = _call_numbers(match_table, first.query, first.rank)
    gain = gain_of(satisfied.grade, metric)
    same_fact = np.zeros(len(gain), dtype=bool)
    same_fact[1:] = satisfied.fact[1:] == satisfied.fact[:-1]
    added = gain.copy()
    added[same_fact] -= gain[:-1][same_fact[1:]]
    place = position_of_fact[satisfied.fact]
    discount = np.maximum(_discount(rank, call, metric), _discount(place, call_of_fact[satisfied.fact], metric))
    counts = (rank <= depth(metric.k)) & (place <= depth(metric.k))
    return sum_by(query[counts], added[counts] / discount[counts], match_table.queries)


def _ideal_session_dcg(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    facts = match_table.facts
    order = np.lexsort((-facts.ideal_grade, facts.query))
    query, gain = facts.query[order], gain_of(facts.ideal_grade[order], metric)
    place = np.arange(len(query)) - np.searchsorted(query, query)
    call_counts = np.maximum(np.bincount(match_table.calls.query, minlength=match_table.queries), 1)
    fact_counts = np.bincount(query, minlength=match_table.queries)
    discounts = np.full(len(query), np.inf)
    for calls, count in set(zip(call_counts.tolist(), fact_counts.tolist(), strict=True)):
        if count:
            least = _least_discounts(min(calls, count), count, metric)
            alike = (call_counts[query] == calls) & (fact_counts[query] == count) & (place < len(least))
            discounts[alike] = least[place[alike]]
    within = np.isfinite(discounts)
    return sum_by(query[within], gain[within] / discounts[within], match_table.queries)


def _least_discounts(calls: int, facts: int, metric: Metric) -> NDArray[np.float64]:
    """Return the least discounts that facts can have in so many calls, each in its first k positions."""
    position = np.arange(1, min(facts, depth(metric.k)) + 1)
    number = np.arange(1, calls + 1)
    table = _discount(position[np.newaxis, :], number[:, np.newaxis], metric)
    return np.sort(table, axis=None)[:facts]


def _discount(position: NDArray[np.int64], call: NDArray[np.int64], metric: Metric) -> NDArray[np.float64]:
    base = BQ.of(metric) or 4.0
    return np.asarray(np.log2(position + 1) * (1 + np.log(np.maximum(call, 1)) / np.log(base)), dtype=np.float64)


def _call_numbers(match_table: MatchTable, query: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
    calls = match_table.calls
    return calls.number[calls.rows(query, rank)]


# How an agent searches: what later calls find, what comes again, and calls that were in vain.


_of_session = partial(metric, source="raglift", takes_k=False, is_conditional=True, is_by_call=True, vectorized=True)
"""Declares a measure of whole sessions, of which some have no value."""
_of_search = partial(_of_session, is_neutral=True, is_earned=False)
"""Declares one of how an agent searched, and not of what it found."""


@_of_session(
    "recovery",
    title="Recovery",
    formula="facts that call 1 misses and a later call finds / facts that call 1 misses",
)
def Recovery(match_table: MatchTable, _metric: Metric) -> NDArray[np.float64]:
    """Recovery = of the facts that call 1 misses, the share that later calls find. Range [0, 1].

    A query of which call 1 finds every fact has no value. One whose agent gives up after call 1 counts 0.
    """
    facts = count_by_query(match_table.facts.query, match_table)
    at_first = _facts_found(first_calls(match_table, Calls(1)))
    missed = facts - at_first
    found = per_query(_facts_found(match_table) - at_first, missed)
    return np.where((missed > 0) | (facts == 0), found, np.nan)


@_of_search(
    "redundancy",
    title="Redundancy",
    formula="characters returned that an earlier call had returned / characters returned",
    needs_text=True,
)
def Redundancy(match_table: MatchTable, _metric: Metric) -> NDArray[np.float64]:
    """Redundancy = characters that an earlier call had returned / characters returned. Range [0, 1].

    Of hits whose document and offsets are known, the same characters of the document; of others, the same text. What
    hits of one call share is not repeated. Less is better. A session without hits has no value.
    """
    found = np.array(list(repeated_characters(match_table)), dtype=np.float64).reshape(-1, 2)
    returned, repeated = (sum_by(match_table.calls.query, column, match_table.queries) for column in found.T)
    return np.where(returned > 0, per_query(repeated, returned), np.nan)


@_of_search(
    "wasted_calls",
    title="WastedCalls",
    formula="calls that find no further fact / calls",
)
def WastedCalls(match_table: MatchTable, _metric: Metric) -> NDArray[np.float64]:
    """WastedCalls = calls by which no further fact is satisfied, failed ones too / calls. Range [0, 1].

    Less is better. A session without calls has no value.
    """
    calls, first = match_table.calls, first_satisfactions(match_table)
    finds = np.zeros(len(calls.query), dtype=bool)
    finds[calls.rows(first.query, first.rank)] = True
    count = count_by_query(calls.query, match_table)
    return np.where(count > 0, per_query(count_by_query(calls.query[~finds], match_table), count), np.nan)


@_of_search(
    "first_call",
    title="FirstCall",
    formula="the number of the call that first finds a fact, mean over the facts found",
    is_bounded=False,
)
def FirstCall(match_table: MatchTable, _metric: Metric) -> NDArray[np.float64]:
    """FirstCall = the number of the call that first finds a fact, mean over the facts that are found. Range [1, ∞).

    Less is sooner. A session that finds nothing has no value, so read it beside SessionRecall.
    """
    first = first_satisfactions(match_table)
    numbers = _call_numbers(match_table, first.query, first.rank).astype(np.float64)
    found = count_by_query(first.query, match_table)
    return np.where(found > 0, per_query(sum_by(first.query, numbers, match_table.queries), found), np.nan)


@_of_search(
    "calls",
    title="Calls",
    formula="searches made",
    is_bounded=False,
    is_conditional=False,
)
def CallCount(match_table: MatchTable, _metric: Metric) -> NDArray[np.float64]:
    """Calls = the searches that the agent made for the query, failed ones too. Range [0, ∞)."""
    return count_by_query(match_table.calls.query, match_table)


# What reached the prompt of the answer.


@_of_session(
    "kept",
    title="Kept",
    formula="facts found by any call that the final context has / facts found by any call",
)
def Kept(match_table: MatchTable, _metric: Metric) -> NDArray[np.float64]:
    """Kept = facts that a call found and the final context satisfies / facts that a call found. Range [0, 1].

    A session that finds nothing, or whose context is not known, has no value.
    """
    if match_table.context is None:
        return _where_context_is_known(match_table, np.zeros(match_table.queries))
    retrieved, in_context = first_satisfactions(match_table), first_satisfactions(match_table.context)
    facts = count_by_query(retrieved.query, match_table)
    both = count_by_query(retrieved.query[np.isin(retrieved.fact, in_context.fact)], match_table)
    return _where_context_is_known(match_table, np.where(facts > 0, per_query(both, facts), np.nan))


@_of_session(
    "final_recall",
    title="FinalRecall",
    formula="facts satisfied by the final context / facts",
)
def FinalRecall(match_table: MatchTable, _metric: Metric) -> NDArray[np.float64]:
    """FinalRecall = facts that the final context satisfies / facts. Range [0, 1].

    A session whose context is not known has no value.
    """
    facts = count_by_query(match_table.facts.query, match_table)
    context = match_table.context
    return _where_context_is_known(
        match_table, per_query(_facts_found(context), facts) if context is not None else facts
    )


@_of_session(
    "final_precision",
    title="FinalPrecision",
    formula="relevant hits in the final context / hits in it",
)
def FinalPrecision(match_table: MatchTable, _metric: Metric) -> NDArray[np.float64]:
    """FinalPrecision = relevant hits in the final context / hits in it. Range [0, 1].

    An empty context counts 0: nothing in it is relevant, and a session that answers without evidence must not gain by
    it. A session whose context is not known has no value.
    """
    context = match_table.context
    if context is None:
        return _where_context_is_known(match_table, np.zeros(match_table.queries))
    query, _, _ = relevant_hits(context, None)
    return _where_context_is_known(
        match_table, per_query(count_by_query(query, context), context.hits.astype(np.float64))
    )


def _where_context_is_known(match_table: MatchTable, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values where the context is known, and NaN elsewhere; queries without facts are left out by the caller."""
    known = match_table.context_known
    unknown = np.ones(match_table.queries, dtype=bool) if known is None else ~known
    return np.where(unknown, np.nan, values)


def _facts_found(match_table: MatchTable) -> NDArray[np.float64]:
    return count_by_query(first_satisfactions(match_table).query, match_table)


def repeated_characters(match_table: MatchTable) -> Iterator[tuple[int, int]]:
    """Yield, of each call, how many characters its hits have, and how many of these an earlier call had returned."""
    calls, current = match_table.calls, -1
    texts: set[str] = set()
    documents: dict[str, Covered] = {}
    for query, before, hits in zip(calls.query.tolist(), calls.before.tolist(), calls.hits.tolist(), strict=True):
        if query != current:
            current, texts, documents = query, set(), defaultdict(Covered)
        chunks = match_table.rankings[query].chunks[before : before + hits]
        placed, length, repeated = [], 0, 0
        for chunk in chunks:
            start, end = chunk.start, chunk.end
            if chunk.doc_id is not None and start is not None and end is not None and end > start:
                placed.append((chunk.doc_id, start, end))
                length, repeated = length + end - start, repeated + documents[chunk.doc_id].shared(start, end)
            else:
                length, repeated = length + len(chunk.text), repeated + len(chunk.text) * (chunk.text in texts)
        yield length, repeated
        for doc_id, start, end in placed:
            documents[doc_id].add(start, end)
        texts.update(chunk.text for chunk in chunks)
