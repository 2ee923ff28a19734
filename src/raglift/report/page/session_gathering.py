"""The sessions of a page, collected from the results: each run's calls, what each found, and the final context."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.session_runs import first_calls_and_ranks, session_runs
from raglift.metrics.computing import score
from raglift.report.page.matched_hits import Matched
from raglift.report.page.query_browser import ShownCall, ShownSession, ViewDetail
from raglift.retrieval.passage_search import PassageSearch
from raglift.utilities.display import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from raglift.analysis.session_runs import CallFindings, SessionRun
    from raglift.report.page.matched_hits import Chunks, Spans
    from raglift.results.evaluation import Evaluation
    from raglift.types.labels import Query
    from raglift.types.metric import Metric
    from raglift.types.rankings import Call

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
        tokens=found.tokens if call.tokens is None else call.tokens,
        is_reported=call.tokens is not None,
        seconds=call.seconds,
        error=None if call.error is None else shorten(call.error, _LONGEST),
        new=found.new,
        again=found.again,
        seen=found.seen / found.characters if found.characters else None,
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
