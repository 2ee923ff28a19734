"""Sessions become a run, whoever noted them: `evaluate_sessions` is given them, `evaluate` has asked an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.running.notes import run_notes
from raglift.running.settings import DEFAULT_KS
from raglift.types.rankings import Ranking, Run, StageInfo, Trace
from raglift.types.sessions import Session, session_trace, stage_names
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.adapters.stages import Stage
    from raglift.matching.provenance import Provenance
    from raglift.types.dataset import Dataset
    from raglift.types.metric import Metric


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

_NO_SESSION = "no session was given for this question"


def run_of_sessions(
    sessions: Mapping[str, Sequence[Session]],
    dataset: Dataset,
    metrics: Sequence[Metric],
    provenance: Provenance,
    *,
    system: str,
    spec: Mapping[str, Any],
    stages: Sequence[Stage] = (),
) -> Run:
    """Return the run that sessions are.

    Args:
        sessions: of each query by its id, in the order of their repetitions, and without secrets.
        dataset: what was asked.
        metrics: what will be taken: `candidates` in the run's spec is as deep.
        provenance: checks documents and offsets.
        system: what made the sessions, for people.
        spec: what was asked, without the number of candidates.
        stages: the agent that was asked, for notes on it.
    """
    names = stage_names(one for of_query in sessions.values() for one in of_query)
    traces = tuple(_trace(query.id, sessions.get(query.id, []), names, provenance) for query in dataset.queries)
    if any(one.context is not None for of_query in sessions.values() for one in of_query):
        traces = tuple(map(_with_nothing_kept, traces))
    # as many as were asked for by agents, or are looked at
    returned = (len(done.ranking) for trace in traces for done in trace.stages)
    candidates = max([*returned, *(metric.k for metric in metrics if metric.k is not None), DEFAULT_KS[-1]])
    notes = (*dataset.resolution.notes, *run_notes(stages, provenance), *_notes(traces))
    infos = tuple(StageInfo(name, name if number else system) for number, name in enumerate(names))
    return Run(infos, traces, {**spec, "depth": "deployed", "candidates": candidates}, notes)


def _trace(query_id: str, runs: Sequence[Session], stages: Sequence[str], provenance: Provenance) -> Trace:
    if not runs:
        return Trace(query_id, error=_NO_SESSION, calls=())
    first, *others = (session_trace(_checked(one, provenance), stages) for one in runs)
    return replace(first, repetitions=tuple(others))


def _with_nothing_kept(trace: Trace) -> Trace:
    """Return a trace in which nothing reached the prompt of an answer that never came."""
    repetitions = tuple(map(_with_nothing_kept, trace.repetitions))
    lacks = trace.context is None and trace.error is not None
    return replace(trace, context=Ranking() if lacks else trace.context, repetitions=repetitions)


def _checked(session: Session, provenance: Provenance) -> Session:
    """Return a session whose hits have their documents, and no offsets that are false."""
    calls = tuple(
        replace(call, stages=tuple(replace(stage, ranking=provenance.check(stage.ranking)) for stage in call.stages))
        for call in session.calls
    )
    context = session.context
    return replace(session, calls=calls, context=provenance.check(context) if isinstance(context, Ranking) else None)


def _notes(traces: Sequence[Trace]) -> list[str]:
    """Return what readers of the figures of sessions should know."""
    notes = []
    missing = [trace.query_id for trace in traces if trace.error == _NO_SESSION]
    if missing:
        notes.append(f"{counted(len(missing), 'question')} without a session, as {missing[0]}: counted as failed")
    runs = [1 + len(trace.repetitions) for trace in traces if trace.error != _NO_SESSION]
    if max(runs) > 1:
        often = f"{max(runs)}" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"
        notes.append(
            f"each question was run {often} times: figures are over all runs, and hits, explanations and what became "
            "of each fact are those of the first"
        )
        failed = sum(again.error is not None for trace in traces for again in trace.repetitions)
        if failed:
            notes.append(f"{counted(failed, 'repeated run')} failed")
    without = sum(trace.context is None and trace.error is None for trace in traces)
    if without and any(trace.context is not None for trace in traces):
        notes.append(f"the final context of {counted(without, 'session')} is not known: excluded from its figures")
    return notes
