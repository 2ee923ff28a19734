"""The data of the query browser, collected from the results; of agents, each run with its calls and final context."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.outcomes import fact_outcomes
from raglift.analysis.session_runs import first_calls_and_ranks, session_runs
from raglift.analysis.shared_queries import check_same_rule, shared_queries
from raglift.analysis.upper_bound import depth_of, match_tables_of, rule_of
from raglift.metrics.computing import score, title
from raglift.metrics.registry import MEASURES
from raglift.report.format import rule_in_words, shown_stage
from raglift.report.page.matched_hits import Chunks, Matched, spans_of
from raglift.report.page.query_browser import (
    MAX_BYTES,
    DrillDown,
    QueryDetail,
    ShownCall,
    ShownSession,
    View,
    ViewDetail,
    within,
)
from raglift.retrieval.passage_search import PassageSearch
from raglift.utilities.display import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from raglift.analysis.session_runs import CallFindings, SessionRun
    from raglift.report.page.matched_hits import Match, Spans
    from raglift.results.evaluation import Evaluation
    from raglift.types.documents import Chunk
    from raglift.types.labels import Query
    from raglift.types.metric import Metric
    from raglift.types.rankings import Call, Ranking


def drill_down(
    systems: Mapping[str, Evaluation],
    *,
    left: tuple[str, str],
    right: tuple[str, str],
    primary: Metric,
    max_bytes: int | None = MAX_BYTES,
) -> DrillDown:
    """Return the queries that all systems were asked, with what each stage of each system returned and what matched.

    What exceeds the size budget is left out and mentioned in the notes: first hits below a depth that match nothing,
    then the ends of texts. A hit with a match is always included.

    Args:
        systems: what was measured, by name; of one system the name is not shown.
        left: the system and stage that are shown at first as `before`.
        right: those that are shown at first as `after`.
        primary: the metric that decides; its depth is where a fact counts as found.
        max_bytes: the maximum size of `packed` in the page; None for all.
    """
    check_same_rule(systems)
    shared = shared_queries(systems, left[0])
    # What a loaded evaluation matched is found again once, not for every question asked of it
    measured = {name: replace(one, match_table=match_tables_of(one)) for name, one in systems.items()}
    rule, scored = rule_of(measured[left[0]]), measured[left[0]].scores.metrics
    metrics = [metric for metric in scored if all(metric in one.scores.metrics for one in measured.values())]
    decides = metrics.index(primary)
    k = primary.k or min(depth_of(one, None) for one in measured.values())
    answers = [_Answers(name, one, shared.places[name].tolist(), metrics, primary, k) for name, one in measured.items()]
    names = [(one.system, stage) for one in answers for stage in one.stages]
    chunks = Chunks(hit.chunk for one in answers for ranking in one.rankings() for hit in ranking)
    spans = spans_of(
        (
            (query, *found)
            for one in answers
            for number, query in enumerate(shared.queries)
            for found in one.found(number)
        ),
        chunks,
        rule,
    )
    whole = DrillDown(
        views=_views(answers),
        systems=tuple(measured),
        left=names.index(left),
        right=names.index(right),
        metrics=tuple(title(metric) for metric in metrics),
        primary=decides,
        k=k,
        match=rule_in_words(rule),
        chunks=chunks.shown(),
        queries=tuple(_detail(number, query, answers, chunks, spans) for number, query in enumerate(shared.queries)),
        notes=shared.notes,
        neutral=tuple(number for number, metric in enumerate(metrics) if _is_neutral(metric)),
    )
    return whole if max_bytes is None else within(whole, max_bytes)


def _is_neutral(metric: Metric) -> bool:
    measure = MEASURES[metric.name]
    return measure.is_cost or not measure.is_earned


def _detail(number: int, query: Query, answers: Sequence[_Answers], chunks: Chunks, spans: Spans) -> QueryDetail:
    sessions = tuple(one.sessions(number, query, chunks, spans) for one in answers)
    return QueryDetail(
        id=query.id,
        text=query.text,
        tags=query.tags,
        answerable=query.answerable,
        facts=tuple(fact.passages for fact in query.facts),
        views=tuple(
            one.view(number, query, stage, chunks, spans) for one in answers for stage in range(len(one.stages))
        ),
        all_outcomes=tuple(one.fact_outcomes(number) for one in answers),
        sessions=sessions if any(sessions) else (),
    )


class _Answers:
    """What one system answered: the shared queries, by their number."""

    def __init__(
        self,
        system: str,
        evaluation: Evaluation,
        places: Sequence[int],
        metrics: Sequence[Metric],
        decides: Metric,
        k: int,
    ) -> None:
        scores = evaluation.scores
        self.system, self.stages = system, scores.stages
        self.titles = {stage: shown_stage(evaluation, stage) for stage in scores.stages}
        self._evaluation, self._places = evaluation, places
        self._stages = [Matched.of(judged) for judged in evaluation.match_table]
        self._values = (
            scores.values[:, [scores.metrics.index(metric) for metric in metrics]].transpose(0, 2, 1).tolist()
        )
        all_outcomes = fact_outcomes(evaluation, k)
        self._outcomes = [all_outcomes.outcomes[number][0] for number in all_outcomes.outcome_of_fact.tolist()]
        self._ranks = all_outcomes.ranks.tolist()
        self._bounds = np.searchsorted(all_outcomes.query, np.arange(len(evaluation.dataset) + 1)).tolist()
        self._runs = gathered_runs(evaluation, decides) if evaluation.run.has_sessions else []

    def rankings(self) -> Iterator[Ranking]:
        """Yield every ranking of the shared queries."""
        for matched in self._matched():
            yield from (matched.rankings[place] for place in self._places)

    def _matched(self) -> Iterator[Matched]:
        yield from self._stages
        for run in self._runs:
            yield from run.matched()

    def fact_outcomes(self, number: int) -> tuple[str, ...]:
        """Return the outcome of each fact of a query; nothing for one without labels."""
        if self._runs:
            return self._runs[0].outcomes(self._places[number])
        return tuple(self._outcomes[self._facts(number)])

    def found(self, number: int) -> Iterator[tuple[Chunk, Match]]:
        """Yield each match of a query, at any stage, with the chunk of its hit."""
        for matched in self._matched():
            yield from matched.found(self._places[number])

    def view(self, number: int, query: Query, stage: int, chunks: Chunks, spans: Spans) -> ViewDetail:
        """Return what one stage returned for a query."""
        place = self._places[number]
        hits = self._stages[stage].hits(place, query, chunks, spans)
        shown = ViewDetail(
            hits=hits,
            returned=len(hits),
            values=tuple(self._values[stage][place]),
            facts=tuple(rank or None for rank in self._ranks[stage][self._facts(number)]),
            error=self._evaluation.run.traces[place].error,
        )
        return self._runs[0].by_call(shown, place, stage) if self._runs else shown

    def sessions(self, number: int, query: Query, chunks: Chunks, spans: Spans) -> tuple[ShownSession, ...]:
        """Return each run of a query; none of a system that is asked once."""
        place = self._places[number]
        return tuple(run.session(place, query, chunks, spans) for run in self._runs if run.was_run(place))

    def _facts(self, number: int) -> slice:
        """Return the rows of the facts of a query; none of one without labels."""
        place = self._places[number]
        return slice(self._bounds[place], self._bounds[place + 1])


def _views(answers: Sequence[_Answers]) -> tuple[View, ...]:
    alone = len(answers) == 1
    return tuple(
        View("" if alone else one.system, stage, _title(one, stage, alone=alone))
        for one in answers
        for stage in one.stages
    )


def _title(answers: _Answers, stage: str, *, alone: bool) -> str:
    """Return what to call a stage, of the only system there is or of one of several."""
    stages, shown = answers.stages, answers.titles[stage]
    if not alone:
        return answers.system if len(stages) == 1 else f"{answers.system}: {shown}"
    place = {stages[0]: "before", stages[-1]: "after"}.get(stage) if len(stages) > 1 else None
    return f"{place} ({shown})" if place else shown


_LONGEST = 2000
"""The most characters of a search, an argument or an error that a page carries."""
_MOST_ARGUMENTS = 20


def gathered_runs(evaluation: Evaluation, primary: Metric) -> list[GatheredRun]:
    """Return the runs of the sessions of an evaluation, the first of each query, then the second, and so on."""
    return [
        GatheredRun(evaluation, run, primary, is_first=not number)
        for number, run in enumerate(session_runs(evaluation, PassageSearch))
    ]


class GatheredRun:
    """One run of every query."""

    def __init__(self, evaluation: Evaluation, run: SessionRun, primary: Metric, *, is_first: bool) -> None:
        self._run = run
        self._findings = run.findings()
        table = run.last
        self._stages = [] if is_first else [Matched.of(one) for one in run.match_table]
        self._context = None if table.context is None else Matched.of(table.context)
        self._known = table.context_known
        self._bounds = np.searchsorted(table.facts.query, np.arange(table.queries + 1)).tolist()
        found = [first_calls_and_ranks(one) for one in run.match_table]
        self._calls = [call.tolist() for call, _ in found]
        self._ranks = [rank.tolist() for _, rank in found]
        self._hits = [_hits_by_query(one.calls.query, one.calls.hits, one.queries) for one in run.match_table]
        scores = score(run.run, evaluation.dataset, run.match_table[-1:], [primary], evaluation.profile)
        self._values = scores.values[0, 0].tolist()

    def was_run(self, place: int) -> bool:
        """Whether a query was run so often."""
        return bool(self._run.was_run[place])

    def matched(self) -> Iterator[Matched]:
        """Yield the rankings that no view has: those of further runs, and of final contexts."""
        yield from self._stages
        if self._context is not None:
            yield self._context

    def outcomes(self, place: int) -> tuple[str, ...]:
        """Return what became of each fact of a query."""
        return tuple(fact.outcome for fact in self._run.facts[self._facts(place)])

    def by_call(self, view: ViewDetail, place: int, stage: int) -> ViewDetail:
        """Return what a stage returned for a query, with the call that returned each hit and found each fact."""
        facts = self._facts(place)
        calls = tuple(call or None for call in self._calls[stage][facts])
        return replace(view, calls=tuple(self._hits[stage][place]), found_by=calls)

    def session(self, place: int, query: Query, chunks: Chunks, spans: Spans) -> ShownSession:
        """Return the run of a query as it is shown."""
        trace = self._run.run.traces[place]
        is_known = self._known is not None and bool(self._known[place])
        context = self._context.hits(place, query, chunks, spans) if self._context is not None and is_known else None
        facts = self._run.facts[self._facts(place)]
        return ShownSession(
            calls=tuple(map(_shown_call, trace.calls or (), self._findings[place])),
            context=context,
            outcomes=tuple(fact.outcome for fact in facts),
            tokens=tuple(fact.tokens for fact in facts),
            all_tokens=sum(found.tokens for found in self._findings[place]),
            value=self._values[place],
            views=tuple(
                self._view(stage, matched, place, query, chunks, spans) for stage, matched in enumerate(self._stages)
            ),
            error=None if trace.error is None else shorten(trace.error, _LONGEST),
        )

    def _view(self, stage: int, matched: Matched, place: int, query: Query, chunks: Chunks, spans: Spans) -> ViewDetail:
        hits = matched.hits(place, query, chunks, spans)
        ranks = tuple(rank or None for rank in self._ranks[stage][self._facts(place)])
        return self.by_call(ViewDetail(hits, len(hits), (), ranks), place, stage)

    def _facts(self, place: int) -> slice:
        return slice(self._bounds[place], self._bounds[place + 1])


def _hits_by_query(query: Any, hits: Any, queries: int) -> list[list[int]]:
    """Return of each query how many hits each of its calls returned."""
    of_query: list[list[int]] = [[] for _ in range(queries)]
    for number, count in zip(query.tolist(), hits.tolist(), strict=True):
        of_query[number].append(count)
    return of_query


def _shown_call(call: Call, found: CallFindings) -> ShownCall:
    return ShownCall(
        query=shorten(call.query, _LONGEST),
        tool=shorten(call.tool, _LONGEST),
        arguments=_arguments(call.arguments),
        tokens=found.tokens,
        seconds=call.seconds,
        error=None if call.error is None else shorten(call.error, _LONGEST),
        new=found.new,
        again=found.again,
        repeated=found.repeated / found.characters if found.characters else None,
    )


def _arguments(arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return arguments as names and texts: texts as they are, everything else as JSON or as Python writes it."""
    shown = []
    for name, value in list(arguments.items())[:_MOST_ARGUMENTS]:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, skipkeys=True, default=repr)
        shown.append((shorten(str(name), _LONGEST), shorten(text, _LONGEST)))
    if len(arguments) > _MOST_ARGUMENTS:
        shown.append(("…", f"{len(arguments) - _MOST_ARGUMENTS:,} more"))
    return tuple(shown)
