"""An agent is asked every query, once or several times; sessions, also those of others, become a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.adapt import all_chunks
from raglift.adapters.agents import UnderWay
from raglift.adapters.stages import RetrieveStage, Stage
from raglift.errors import ConfigurationError, QueryFailed
from raglift.matching.provenance import Provenance
from raglift.metrics.computing import DEFAULT_METRICS, choose_metrics
from raglift.running.execution import ask_stage, stop_if_unusable
from raglift.running.notes import run_notes
from raglift.running.scoring import (
    evaluation_of,
    inventory_of_chunks,
    require_answers,
    require_chunks,
    require_encoding,
    scored_by,
)
from raglift.running.settings import DEFAULT_KS
from raglift.running.spec import spec_of
from raglift.text.tokens import TokenCounts
from raglift.types.rankings import Ranking, Run, StageInfo, Trace
from raglift.types.sessions import Session, session_trace, stage_names
from raglift.utilities.display import counted, describe_error
from raglift.utilities.progress import step, track

if TYPE_CHECKING:
    from raglift.adapters.policy import Policy
    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
    from raglift.running.answers import KeptAnswers
    from raglift.running.calls import Outcome
    from raglift.running.settings import Settings
    from raglift.types.dataset import Dataset
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


def agent_of(stages: Sequence[Stage]) -> RetrieveStage | None:
    """Return the agent that a system is; None for one that is asked once."""
    first = stages[0]
    return replace(first, for_sessions=True) if isinstance(first, RetrieveStage) and first.is_agent else None


def check_asked_once(config: Settings, system: str) -> None:
    """Raise if a system that is asked once is to be asked several times.

    Raises:
        ConfigurationError: so it is.
    """
    if config.repeats > 1:
        raise ConfigurationError(
            f"repeats: found {config.repeats} with {system}, which is asked once for each question; expected 1, or an "
            "agent, whose searches vary between runs"
        )


def check_agent(config: Settings, reranker: Sequence[Any], system: str) -> None:
    """Raise for settings that an agent, which makes its own searches, cannot be asked with.

    Raises:
        ConfigurationError: a reranker, or a pass for latency.
    """
    if reranker:
        raise ConfigurationError(
            f"reranker: found one with {system}, an agent, which makes its own searches; expected none: put the "
            "reranker into the agent's tool, or try it on the retriever of the tool alone"
        )
    if config.latency:
        raise ConfigurationError(
            f"latency: found {config.latency} with {system}, an agent; expected none: how long each search took is in "
            "its session"
        )


def agent_notes(config: Settings, system: str) -> list[str]:
    """Return which settings have no effect on an agent."""
    ignored = [] if config.k is None else [f"k={config.k}"]
    ignored += ["depth='deep'"] if config.depth == "deep" else []
    ignored += [] if config.budget is None else [f"budget={config.budget}"]
    return [f"{system}: an agent asks for as many hits as it chooses, so {one} has no effect" for one in ignored]


def evaluate_agent(
    agent: RetrieveStage,
    data: Dataset,
    rule: MatchRule,
    config: Settings,
    answers: KeptAnswers | None,
) -> Evaluation:
    """Evaluate an agent: each query becomes a session, or several of them."""
    metrics = DEFAULT_SESSION_METRICS if config.metrics is DEFAULT_METRICS else config.metrics
    metrics = choose_metrics(metrics, config.ks, data)
    require_encoding(metrics)

    chunks = all_chunks(None, config.chunks, doc_key=config.doc_key)
    inventory = inventory_of_chunks(chunks, agent.clearing, data, config, rule)
    require_chunks(metrics, inventory)
    spec = spec_of(data, config)
    if config.repeats > 1:
        spec["repeats"] = config.repeats
    run = run_of_sessions(
        ask_agent(agent, data.queries, config.repeats, config),
        data,
        metrics,
        Provenance(data, config.doc_key),
        system=agent.clearing.message(agent.system),
        spec=spec,
        stages=[agent],
    )
    notes = (*run.notes, *agent_notes(config, agent.system), *(answers.notes if answers is not None else ()))
    known = replace(run, notes=notes, inventory=inventory)
    counter = TokenCounts(progress=config.progress)
    return require_answers(
        scored_by(metrics, lambda chosen: evaluation_of(known, data, chosen, rule, config.profile, counter))
    )


def ask_agent(agent: RetrieveStage, queries: Sequence[Query], repeats: int, policy: Policy) -> dict[str, list[Session]]:
    """Ask an agent every query so many times: all of them once, then all of them again.

    Args:
        agent: what is asked.
        queries: of the dataset.
        repeats: how often each is asked.
        policy: concurrency, timeout, retries, and what becomes of a failure.

    Returns:
        The sessions of each query, by its id, in the order of their repetitions.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the agent cannot work at all.
    """
    asks = [(query, UnderWay(number)) for number in range(1, repeats + 1) for query in queries]
    inputs: list[tuple[Any, ...]] = [(query.text, under_way) for query, under_way in asks]
    progress = track(agent.name, len(inputs), "questions", show=policy.progress)
    with step(agent.name, show=policy.progress), progress as advance:
        outcomes = ask_stage(agent, inputs, policy, advance)
    stop_if_unusable(agent, outcomes)
    sessions: dict[str, list[Session]] = {}
    for (query, under_way), outcome in zip(asks, outcomes, strict=True):
        sessions.setdefault(query.id, []).append(_session(agent, query, under_way, outcome))
    return sessions


def _session(agent: RetrieveStage, query: Query, under_way: UnderWay, outcome: Outcome[Session]) -> Session:
    if outcome.value is not None:
        retries = outcome.tries - 1
        return replace(outcome.value, query_id=query.id, repetition=under_way.repetition, retries=retries)
    error = describe_error(outcome.error or QueryFailed("no session"), secrets=agent.clearing.secrets)
    tried = f" (tried {outcome.tries} times)" if outcome.tries > 1 else ""
    stopped = Session(
        query.id, under_way.calls(), None, under_way.repetition, f"{agent.name}: {error}{tried}", outcome.tries - 1
    )
    return agent.clearing.session(stopped)


# Sessions become a run, whoever noted them: `evaluate_sessions` is given them, `evaluate` has asked an agent.


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
