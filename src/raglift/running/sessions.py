"""`evaluate_sessions()`: the searches that an agent made are scored, without running it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.clearing import Clearing
from raglift.base.display import counted
from raglift.base.tokens import TokenCounts
from raglift.base.validation import described, fault, nearest, quoted
from raglift.errors import ConfigurationError, DatasetError
from raglift.matching.provenance import Provenance
from raglift.metrics.computing import choose_metrics
from raglift.records.rankings import Call, Ranking, Run, StageInfo, Trace
from raglift.records.sessions import Session, session_trace, stage_names
from raglift.running.evaluation import checked_dataset
from raglift.running.notes import run_notes
from raglift.running.options import DEFAULT_KS, Config, spec_of
from raglift.running.scoring import checked_rule, evaluation_of, require_chunks, require_encoding

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from raglift.matching.rule import MatchRule
    from raglift.records.dataset import Dataset
    from raglift.records.metric import Calls, Metric, Tokens
    from raglift.results.evaluation import Evaluation


DEFAULT_SESSION_METRICS = (
    "session_ndcg",
    "session_recall",
    "recall@calls(1)",
    "calls",
    "recovery",
    "redundancy",
    "wasted_calls",
    "first_call",
    "kept",
    "final_recall",
    "final_precision",
)
"""What is taken of sessions unless something else is asked for."""

_NO_SESSION = "no session was given for this query"


def evaluate_sessions(
    sessions: Iterable[Session],
    dataset: Dataset | str | os.PathLike[str],
    *,
    metrics: Sequence[Metric | str] = DEFAULT_SESSION_METRICS,
    ks: Sequence[int | Tokens | Calls | str] = DEFAULT_KS,
    match: str | MatchRule = "containment",
    profile: str = "default",
    system: str = "agent",
    doc_key: str | None = None,
) -> Evaluation:
    """Measure what an agent found by several searches for each query, and what it kept of it.

        first = rl.Call.of("when was the lamp lit", chunks)
        rl.evaluate_sessions([rl.Session("q1", [first], context=chunks[:3])], dataset)

    A query without a session counts as failed. One with several sessions, of distinct `repetition`, has the mean over
    them as its value. With one call for each query, the figures are those of `evaluate` on the same hits.

    Args:
        sessions: one or more for each query of the dataset.
        dataset: labelled queries, as for `evaluate`.
        metrics: what to compute; any other metric is that of all hits of a session, one call after the other.
        ks: the depths at which metrics are taken: of measures of sessions, the first k hits of each call.
        match: as for `evaluate`.
        profile: whose metric conventions, as for `evaluate`.
        system: what the agent is called in reports.
        doc_key: the metadata key that holds the ids of documents, where hits have them there.

    Raises:
        DatasetError: sessions of queries that the dataset does not have, or two of one query and repetition; every
            fault is listed.
        ConfigurationError: no sessions, or an argument that cannot be used.
        MissingDependency: tokens are to be counted, and tiktoken is not installed.
    """
    data = checked_dataset(dataset)
    chosen = choose_metrics(metrics, ks, data)
    require_encoding(chosen)
    require_chunks(chosen, None)
    rule = checked_rule(match, profile)
    given = _checked_sessions(sessions, data)
    names = stage_names(one for of_query in given.values() for one in of_query)
    provenance, clearing = Provenance(data, doc_key), Clearing()
    traces = tuple(_trace(query.id, given.get(query.id, []), names, provenance, clearing) for query in data.queries)
    if any(one.context is not None for of_query in given.values() for one in of_query):
        traces = tuple(map(_with_nothing_kept, traces))
    spec = {
        **spec_of(data, Config(doc_key=doc_key)),
        "depth": "deployed",
        # as many as were asked for by agents, or are looked at
        "candidates": max(
            [
                *(len(done.ranking) for trace in traces for done in trace.stages),
                *(metric.k for metric in chosen if metric.k is not None),
                DEFAULT_KS[-1],
            ]
        ),
    }
    notes = (*data.resolution.notes, *run_notes((), provenance), *_notes(traces))
    infos = tuple(StageInfo(name, name if number else system) for number, name in enumerate(names))
    return evaluation_of(Run(infos, traces, spec, notes), data, chosen, rule, profile, TokenCounts())


def _checked_sessions(sessions: Iterable[Session], dataset: Dataset) -> dict[str, list[Session]]:
    """Return the sessions of each query, in the order of their repetitions; every fault is listed."""
    if isinstance(sessions, (str, Session)) or not isinstance(sessions, Iterable):
        raise ConfigurationError(f"sessions: found {described(sessions)}; expected a list of Session")
    by_query: dict[str, dict[int, Session]] = defaultdict(dict)
    faults = []
    for number, session in enumerate(sessions, start=1):
        if not isinstance(session, Session):
            raise ConfigurationError(f"sessions: found {described(session)} as number {number}; expected a Session")
        where, found = f"session {number}", f"the query {quoted(session.query_id)}"
        if session.query_id not in dataset.query_by_id:
            faults.append(fault(where, found, nearest(session.query_id, dataset.query_by_id)))
        elif session.repetition in by_query[session.query_id]:
            again = f"{found} a second time as repetition {session.repetition}"
            expected = "it once, or another repetition (2, 3, …) for each further run of it"
            faults.append(fault(where, again, expected))
        else:
            by_query[session.query_id][session.repetition] = session
    if faults:
        raise DatasetError("sessions", faults)
    if not by_query:
        raise ConfigurationError("sessions: found none; expected at least one, as Session('q1', calls)")
    return {query_id: [runs[number] for number in sorted(runs)] for query_id, runs in by_query.items()}


def _trace(
    query_id: str, runs: Sequence[Session], stages: Sequence[str], provenance: Provenance, clearing: Clearing
) -> Trace:
    if not runs:
        return Trace(query_id, error=_NO_SESSION, calls=())
    first, *others = (session_trace(_kept(one, provenance, clearing), stages) for one in runs)
    return replace(first, repetitions=tuple(others))


def _with_nothing_kept(trace: Trace) -> Trace:
    """Return a trace in which nothing reached the prompt of an answer that never came."""
    repetitions = tuple(map(_with_nothing_kept, trace.repetitions))
    lacks = trace.context is None and trace.error is not None
    return replace(trace, context=Ranking() if lacks else trace.context, repetitions=repetitions)


def _kept(session: Session, provenance: Provenance, clearing: Clearing) -> Session:
    """Return a session as it is kept: documents and offsets checked, and no secret of the environment in it."""

    def checked(ranking: Ranking) -> Ranking:
        return provenance.check(clearing.ranking(ranking))

    def kept(call: Call) -> Call:
        said: dict[str, Any] = {name: getattr(call, name) for name in ("query", "tool", "arguments", "error")}
        stages = tuple(replace(stage, ranking=checked(stage.ranking)) for stage in call.stages)
        return replace(call, stages=stages, **{name: clearing.clearance.value(value) for name, value in said.items()})

    context = None if session.context is None else checked(session.context)  # type: ignore[arg-type]
    error = None if session.error is None else clearing.message(session.error)
    return replace(session, calls=tuple(map(kept, session.calls)), context=context, error=error)


def _notes(traces: Sequence[Trace]) -> list[str]:
    """Return what readers of the figures of sessions should know."""
    notes = []
    missing = [trace.query_id for trace in traces if trace.error == _NO_SESSION]
    if missing:
        notes.append(f"{counted(len(missing), 'query')} without a session, as {missing[0]}: counted as failed")
    runs = [1 + len(trace.repetitions) for trace in traces if trace.error != _NO_SESSION]
    if max(runs) > 1:
        often = f"{max(runs)}" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"
        notes.append(
            f"each query was run {often} times: figures are over all runs, and hits, explanations and what became of "
            "each fact are those of the first"
        )
        failed = sum(again.error is not None for trace in traces for again in trace.repetitions)
        if failed:
            notes.append(f"{counted(failed, 'repeated run')} failed")
    without = sum(trace.context is None and trace.error is None for trace in traces)
    if without and any(trace.context is not None for trace in traces):
        notes.append(f"the final context of {counted(without, 'session')} is not known: excluded from its figures")
    return notes
