"""An agent is asked every query, once or several times; what it did becomes a session of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.adapt import all_chunks
from raglift.adapters.agents import UnderWay
from raglift.adapters.stages import RetrieveStage, Stage
from raglift.errors import ConfigurationError, QueryFailed
from raglift.matching.provenance import Provenance
from raglift.metrics.computing import DEFAULT_METRICS, choose_metrics
from raglift.running.execution import ask_stage, stop_if_unusable
from raglift.running.scoring import (
    evaluation_of,
    inventory_of_chunks,
    require_answers,
    require_chunks,
    require_encoding,
    scored_by,
)
from raglift.running.session_runs import DEFAULT_SESSION_METRICS, run_of_sessions
from raglift.running.spec import spec_of
from raglift.text.tokens import TokenCounts
from raglift.types.sessions import Session
from raglift.utilities.display import describe_error
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
