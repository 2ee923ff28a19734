"""Runs the stages of a system over all queries and keeps what each stage did to each query."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import tenacity

from raglift.errors import (
    ConfigurationError,
    ModelOutputError,
    QueryFailed,
    QueryTimeout,
    RagliftError,
    ServiceUnusable,
)
from raglift.execution.calls import FirstFailure, Outcome, call_all, call_all_async
from raglift.execution.stages import RerankStage, RetrieveStage, Stage
from raglift.progress import track
from raglift.records import Query, Ranking, StageTrace, Trace
from raglift.redaction import describe_error

if TYPE_CHECKING:
    from raglift.execution.policy import Policy
    from raglift.matching import Provenance

__all__ = ["ask_stage", "is_batched", "run_stages"]


@dataclass(frozen=True)
class _Step:
    """The three ways in which a stage may be asked; None where it cannot."""

    batch: Callable[..., list[Ranking]] | None
    one: Callable[..., Ranking] | None
    one_async: Callable[..., Any] | None

    @classmethod
    def of(cls, stage: Stage) -> _Step:
        if isinstance(stage, RetrieveStage):
            asked = stage.retriever
            names = ("retrieve", "retrieve_one", "aretrieve_one")
            return cls(*(getattr(asked, name, None) for name in names))
        names = ("rerank", "rerank_one", "arerank_one")
        return cls(*(getattr(stage.reranker, name, None) for name in names))


def is_batched(stage: Stage) -> bool:
    """Whether a stage takes all queries at once."""
    return _Step.of(stage).batch is not None


def run_stages(
    stages: Sequence[Stage],
    queries: Sequence[Query],
    k: int,
    policy: Policy,
    provenance: Provenance,
    *,
    after: Sequence[Trace] | None = None,
    watch: Callable[[Stage], AbstractContextManager[Any]] = nullcontext,
) -> tuple[Trace, ...]:
    """Put every query through every stage, one stage after the other.

    Args:
        stages: a RetrieveStage, then any number of RerankStages, with distinct names; only RerankStages where there
            are traces to go on from.
        queries: what to ask.
        k: how many hits to retrieve.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        provenance: resolves the document and checks the offsets of every hit.
        after: traces of earlier stages, one a query, to go on from; a query that failed there is not asked again.
        watch: entered while a stage is asked, and left when it has answered.

    Returns:
        One trace a query, in the order of the queries. A query that failed keeps the stages before the failure.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the system cannot work at all: a model that does not load, results that are no rankings.
    """
    done: list[list[StageTrace]] = [list(trace.stages) for trace in after] if after else [[] for _ in queries]
    errors: list[str | None] = [trace.error for trace in after] if after else [None] * len(queries)
    for stage in stages:
        alive = [place for place, error in enumerate(errors) if error is None]
        texts = [queries[place].text for place in alive]
        if isinstance(stage, RetrieveStage):
            inputs: list[tuple[Any, ...]] = [(text, k) for text in texts]
        else:
            inputs = [(text, done[place][-1].ranking) for place, text in zip(alive, texts, strict=True)]
        # A stage that takes all queries at once shows its own progress: only it knows what it is busy with.
        show = False if is_batched(stage) else policy.progress
        with watch(stage), track(stage.name, len(alive), "queries", show=show) as advance:
            outcomes = ask_stage(stage, inputs, policy, advance)
        _stop_if_unusable(stage, outcomes)
        for place, outcome in zip(alive, outcomes, strict=True):
            if outcome.value is None:
                tried = f" (tried {outcome.tries} times)" if outcome.tries > 1 else ""
                errors[place] = f"{stage.name}: {describe_error(outcome.error or QueryFailed('no ranking'))}{tried}"
            else:
                ranking = provenance.check(outcome.value)
                done[place].append(StageTrace(stage.name, ranking, outcome.seconds))
    return tuple(
        Trace(query.id, tuple(stages_done), error)
        for query, stages_done, error in zip(queries, done, errors, strict=True)
    )


def ask_stage(
    stage: Stage, inputs: list[tuple[Any, ...]], policy: Policy, advance: Callable[[int], None]
) -> list[Outcome[Ranking]]:
    """Ask one stage for its rankings, in whichever way it may be asked.

    Args:
        stage: what is asked.
        inputs: a query's text and the depth for a RetrieveStage, its text and ranking for a RerankStage; for each.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        advance: called with the number of queries just finished.

    Returns:
        One outcome a query, in order: its ranking and seconds, or its error.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the stage cannot work at all.
    """
    step = _Step.of(stage)
    try:
        if step.batch is not None:
            return _run_batch(stage, step.batch, inputs, policy, advance)
        always_async = isinstance(stage, RetrieveStage) and stage.asynchronous
        if step.one_async is not None and (policy.concurrency > 1 or always_async or step.one is None):
            asynchronous = [partial(_checked_async, stage, step.one_async, *given) for given in inputs]
            return call_all_async(asynchronous, policy, advance)
        if step.one is not None:
            return call_all([partial(_checked, stage, step.one, *given) for given in inputs], policy, advance)
    except FirstFailure as stop:
        failure = _stopped(stage, inputs[stop.place][0], stop.error)
        raise failure from failure.__cause__
    raise ConfigurationError(f"{stage.name}: {stage.system} has none of the methods of the protocol")


def _is_misuse(error: BaseException | None) -> bool:
    """Whether raglift itself says that the system cannot be used; a timeout says so of one query only."""
    return isinstance(error, RagliftError) and not isinstance(error, QueryFailed)


def _stopped(stage: Stage, query: str, error: BaseException) -> BaseException:
    """Return what to raise where the error of one query's call stops the run."""
    if not isinstance(error, Exception) or _is_misuse(error):
        return error
    kind = QueryTimeout if isinstance(error, QueryTimeout) else QueryFailed
    failure = kind(f"{stage.name} ({stage.system}) failed on {query[:80]!r}: {describe_error(error)}")
    failure.__cause__ = error
    return failure


def _stop_if_unusable(stage: Stage, outcomes: Sequence[Outcome[Ranking]]) -> None:
    """Raise the error where every query failed of misuse: then it is no query's fault.

    A service has slow and broken moments as well: where it answered no query, and half of them or more say that it
    cannot be asked like this, that is what there is to mend.
    """
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if not errors or len(errors) < len(outcomes):
        return
    unusable = [error for error in errors if isinstance(error, ServiceUnusable)]
    if unusable and (2 * len(unusable) >= len(errors) or all(map(_is_misuse, errors))):
        causes = [str(error).partition(" — ")[0] for error in unusable]
        worst = unusable[causes.index(max(causes, key=causes.count))]
        others = len(errors) - len(unusable)
        more = f" (every query failed, {others:,} of {len(errors):,} of another cause)" if others else ""
        raise ServiceUnusable(f"{stage.system}: {worst}{more}") from worst  # which of its addresses it was about
    if all(map(_is_misuse, errors)):
        raise errors[0]


def _run_batch(
    stage: Stage,
    call: Callable[..., list[Ranking]],
    inputs: list[tuple[Any, ...]],
    policy: Policy,
    advance: Callable[[int], None],
) -> list[Outcome[Ranking]]:
    """Ask for all queries at once; when that fails, one by one, so that one query cannot take the rest with it."""
    if not inputs:
        return []
    started = time.perf_counter()
    try:
        rankings = tenacity.Retrying(**policy.retry_policy.for_tenacity())(_call_batch, stage, call, inputs)
    except Exception as error:
        if isinstance(error, RagliftError) and not isinstance(error, ModelOutputError):
            raise  # not one query's fault: a model that does not load, a cache that cannot be written
        if policy.on_error == "raise":
            raise QueryFailed(f"{stage.name} ({stage.system}) failed: {describe_error(error)}") from error
        # In turn: what takes all queries at once was not promised to be safe to call from several threads
        in_turn = replace(policy, concurrency=1)
        return call_all([partial(_alone, stage, call, given) for given in inputs], in_turn, advance)
    advance(len(inputs))
    seconds = (time.perf_counter() - started) / len(inputs)
    return [Outcome(ranking, seconds) for ranking in rankings]


def _alone(stage: Stage, call: Callable[..., list[Ranking]], given: tuple[Any, ...]) -> Ranking:
    return _call_batch(stage, call, [given])[0]


def _call_batch(stage: Stage, call: Callable[..., list[Ranking]], inputs: list[tuple[Any, ...]]) -> list[Ranking]:
    texts = [given[0] for given in inputs]
    if isinstance(stage, RerankStage):
        rankings = call(texts, [given[1] for given in inputs])
    else:
        rankings = call(texts, inputs[0][1])
    if not isinstance(rankings, Sequence) or len(rankings) != len(inputs):
        found = f"{len(rankings)} rankings" if isinstance(rankings, Sequence) else type(rankings).__name__
        raise ConfigurationError(f"{stage.name}: {stage.system} returned {found}; expected {len(inputs)} rankings")
    for ranking in rankings:
        _require_ranking(stage, ranking)
    return list(rankings)


def _checked(stage: Stage, call: Callable[..., Ranking], *given: Any) -> Ranking:
    ranking = call(*given)
    _require_ranking(stage, ranking)
    return ranking


async def _checked_async(stage: Stage, call: Callable[..., Any], *given: Any) -> Ranking:
    ranking = await call(*given)
    _require_ranking(stage, ranking)
    assert isinstance(ranking, Ranking)  # noqa: S101 — checked above, for the type checker
    return ranking


def _require_ranking(stage: Stage, ranking: object) -> None:
    if not isinstance(ranking, Ranking):
        raise ConfigurationError(
            f"{stage.name}: {stage.system} returned a {type(ranking).__name__}; expected a raglift Ranking"
        )
    ranks = [getattr(hit, "rank", None) for hit in ranking.hits]
    if ranks != list(range(1, len(ranks) + 1)):
        raise ConfigurationError(
            f"{stage.name}: {stage.system} returned hits of the ranks {ranks[:5]}; expected 1, 2, 3, … in order: "
            "build the ranking with Ranking.of"
        )
