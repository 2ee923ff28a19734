"""An agent is asked every query, once or several times; what it did becomes a session of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.adapt import all_chunks
from raglift.adapters.agents import UnderWay
from raglift.adapters.stages import RetrieveStage
from raglift.base.display import counted, describe_error
from raglift.base.progress import step, track
from raglift.base.tokens import TokenCounts
from raglift.errors import ConfigurationError, QueryFailed
from raglift.matching.provenance import Provenance
from raglift.metrics.computing import DEFAULT_METRICS, choose_metrics
from raglift.records.sessions import Session
from raglift.running.execution import ask_stage, stop_if_unusable, unanswered
from raglift.running.finishing import inventory_of_chunks, require_answers, scored_by, with_models
from raglift.running.model_calls import AS_DEPLOYED, NotAsked, counting
from raglift.running.scoring import evaluation_of, require_chunks, require_encoding
from raglift.running.session_runs import DEFAULT_SESSION_METRICS, run_of_sessions
from raglift.running.spec import spec_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.adapters.policy import Policy
    from raglift.adapters.stages import Stage
    from raglift.matching.rule import MatchRule
    from raglift.records.dataset import Dataset
    from raglift.records.labels import Query
    from raglift.results.evaluation import Evaluation
    from raglift.running.answers import KeptAnswers
    from raglift.running.calls import Outcome
    from raglift.running.model_calls import CallMeter, Way
    from raglift.running.settings import Settings


def agent_of(stages: Sequence[Stage]) -> RetrieveStage | None:
    """Return the agent that a system is; None for one that is asked once."""
    first = stages[0]
    return replace(first, for_sessions=True) if isinstance(first, RetrieveStage) and first.is_agent else None


def check_asked_once(config: Settings, system: str) -> None:
    """Raise where a system that is asked once is to be asked several times.

    Raises:
        ConfigurationError: so it is.
    """
    if config.repeats > 1:
        raise ConfigurationError(
            f"repeats: found {config.repeats} with {system}, which is asked once for each query; expected 1, or an "
            "agent, which may search otherwise each time"
        )


def check_agent(config: Settings, reranker: Sequence[Any], system: str) -> None:
    """Raise for settings that an agent, which makes its own searches, cannot be asked with.

    Raises:
        ConfigurationError: a reranker, a pass for latency, or exact search beside it.
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
    if config.exact:
        raise ConfigurationError(
            f"exact: found True with {system}, an agent, which makes its own searches; expected it with the "
            "retriever of its tool alone"
        )


def agent_notes(config: Settings, system: str) -> list[str]:
    """Return which settings have no effect on an agent."""
    given = [] if config.k is None else [f"k={config.k}"]
    given += ["depth='deep'"] if config.depth == "deep" else []
    given += [] if config.budget is None else [f"budget={config.budget}"]
    return [f"{system}: an agent asks for as many hits as it chooses, so {one} has no effect" for one in given]


def evaluate_agent(
    agent: RetrieveStage,
    data: Dataset,
    rule: MatchRule,
    config: Settings,
    kept: KeptAnswers | None,
) -> Evaluation:
    """Evaluate an agent: each query becomes a session, or several of them."""
    wanted = DEFAULT_SESSION_METRICS if config.metrics is DEFAULT_METRICS else config.metrics
    metrics = choose_metrics(wanted, config.ks, data)
    require_encoding(metrics)

    def scored(answers: AgentAnswers, asked: Dataset, notes: Sequence[str], calls: CallMeter) -> Evaluation:
        chunks = all_chunks(None, config.chunks, doc_key=config.doc_key)
        inventory = inventory_of_chunks(chunks, agent.clearing, asked, config, rule)
        require_chunks(metrics, inventory)
        provenance, spec = Provenance(asked, config.doc_key), spec_of(asked, config)
        if config.repeats > 1:
            spec["repeats"] = config.repeats
        run = run_of_sessions(
            answers.sessions,
            asked,
            metrics,
            provenance,
            system=agent.clearing.message(agent.system),
            spec=spec,
            stages=[agent],
        )
        notes = (*run.notes, *notes, *(kept.notes if kept is not None else ()))
        known = replace(run, notes=notes, inventory=inventory, cost=with_models(None, calls))
        counter = TokenCounts(progress=config.progress)
        return scored_by(metrics, lambda chosen: evaluation_of(known, asked, chosen, rule, config.profile, counter))

    said = agent_notes(config, agent.system)
    with counting(config.call_limits, len(data), progress=config.progress) as calls:
        answers = ask_agent(agent, data.queries, config.repeats, config, calls)
        if not answers.is_whole:
            stop = calls.limit_reached(len(answers.sessions))
            asked = replace(data, queries=tuple(query for query in data.queries if query.id in answers.sessions))
            if asked.queries:
                stop.evaluation = scored(answers, asked, [*said, limit_note(answers, len(data))], calls)
            raise stop
        return require_answers(scored(answers, data, [*said, *calls.notes()], calls))


@dataclass(frozen=True)
class AgentAnswers:
    """What an agent did."""

    sessions: dict[str, list[Session]]
    """Of each query that was asked, by its id, in the order of their repetitions."""
    is_whole: bool
    """Whether every query was asked as often as it should be, and no limit was reached."""


def ask_agent(
    agent: RetrieveStage, queries: Sequence[Query], repeats: int, policy: Policy, calls: CallMeter
) -> AgentAnswers:
    """Ask an agent every query so many times: all of them once, then all of them again.

    Args:
        agent: what is asked.
        queries: of the dataset.
        repeats: how often each is asked.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        calls: counts the calls of models, and may stop before the next query.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the agent cannot work at all.
    """
    asks = [(query, UnderWay(number)) for number in range(1, repeats + 1) for query in queries]
    told = f", each asked {repeats} times," if repeats > 1 else ""
    way = calls.plan({AS_DEPLOYED: len(asks)}, told)[AS_DEPLOYED]
    outcomes = _outcomes(agent, [(query.text, under_way) for query, under_way in asks], policy, way)
    asked = [
        (query, under_way, outcome)
        for (query, under_way), outcome in zip(asks, outcomes, strict=True)
        if not isinstance(outcome.error, NotAsked)
    ]
    stop_if_unusable(agent, [outcome for _, _, outcome in asked])
    sessions: dict[str, list[Session]] = {}
    for query, under_way, outcome in asked:
        sessions.setdefault(query.id, []).append(_session(agent, query, under_way, outcome))
    return AgentAnswers(sessions, len(asked) == len(asks))


def limit_note(answers: AgentAnswers, queries: int) -> str:
    """Return what a reader must know of a run that a limit stopped."""
    asked = len(answers.sessions)
    return (
        f"stopped at a limit: {asked:,} of {counted(queries, 'query')} {'was' if asked == 1 else 'were'} asked, and "
        "the figures are over these alone"
    )


def _outcomes(
    agent: RetrieveStage, inputs: list[tuple[Any, ...]], policy: Policy, calls: Way
) -> list[Outcome[Session]]:
    """Ask an agent; where calls of models are counted, the first query goes before the others."""
    known: dict[int, Outcome[Session]] = {}
    if len(inputs) > 1 and calls.wants_first(policy.concurrency):
        waiting = unanswered(agent, inputs)
        calls.kept[agent.name] = len(inputs) - len(waiting)
        if waiting:
            with calls.leading():
                found = ask_stage(agent, [inputs[waiting[0]]], policy, lambda _count: None, calls)
            known[waiting[0]] = found[0]
    left = [place for place in range(len(inputs)) if place not in known]
    progress = track(agent.name, len(inputs), "queries", show=policy.progress)
    with step(agent.name, show=policy.progress), progress as advance:
        advance(len(known))
        known |= zip(left, ask_stage(agent, [inputs[place] for place in left], policy, advance, calls), strict=True)
    return [known[place] for place in range(len(inputs))]


def _session(agent: RetrieveStage, query: Query, under_way: UnderWay, outcome: Outcome[Session]) -> Session:
    if outcome.value is not None:
        retries = outcome.tries - 1
        return replace(outcome.value, query_id=query.id, repetition=under_way.repetition, retries=retries)
    error = describe_error(outcome.error or QueryFailed("no session"), secrets=agent.clearing.clearance.held)
    tried = f" (tried {outcome.tries} times)" if outcome.tries > 1 else ""
    stopped = Session(
        query.id, under_way.calls(), None, under_way.repetition, f"{agent.name}: {error}{tried}", outcome.tries - 1
    )
    return agent.clearing.session(stopped)
