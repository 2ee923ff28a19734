"""The data of the query browser, collected from the results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.outcomes import fact_outcomes
from raglift.analysis.shared_queries import check_same_rule, shared_queries
from raglift.analysis.upper_bound import depth_of, match_tables_of, rule_of
from raglift.metrics.computing import title
from raglift.metrics.registry import MEASURES
from raglift.report.format import rule_in_words
from raglift.report.page.matched_hits import Chunks, Matched, spans_of
from raglift.report.page.query_browser import MAX_BYTES, DrillDown, QueryDetail, View, ViewDetail, within
from raglift.report.page.session_gathering import gathered_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.report.page.matched_hits import Match, Spans
    from raglift.report.page.query_browser import ShownSession
    from raglift.results.evaluation import Evaluation
    from raglift.types.documents import Chunk
    from raglift.types.labels import Query
    from raglift.types.metric import Metric
    from raglift.types.rankings import Ranking


def drill_down(
    systems: Mapping[str, Evaluation],
    *,
    left: tuple[str, str],
    right: tuple[str, str],
    primary: Metric,
    max_bytes: int = MAX_BYTES,
) -> DrillDown:
    """Return the queries that all systems were asked, with what each stage of each system returned and what matched.

    What exceeds the size budget is left out and mentioned in the notes: first hits below a depth that match nothing,
    then the ends of texts. A hit with a match is always included.

    Args:
        systems: what was measured, by name; of one system the name is not shown.
        left: the system and stage that are shown at first as `before`.
        right: those that are shown at first as `after`.
        primary: the metric that decides; its depth is where a fact counts as found.
        max_bytes: the maximum size of `packed` in the page.

    Raises:
        ConfigurationError: systems that cannot be compared fairly.
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
    return within(whole, max_bytes)


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
        View("" if alone else one.system, stage, _stage_title(stage, one.stages) if alone else _title(one, stage))
        for one in answers
        for stage in one.stages
    )


def _title(answers: _Answers, stage: str) -> str:
    return answers.system if len(answers.stages) == 1 else f"{answers.system}: {stage}"


def _stage_title(stage: str, stages: Sequence[str]) -> str:
    """Return what to call a stage of the only system there is."""
    place = {stages[0]: "before", stages[-1]: "after"}.get(stage) if len(stages) > 1 else None
    return f"{place} ({stage})" if place else stage
