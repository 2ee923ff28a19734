"""Runs the stages of a system over all queries, and records what each stage returned for each query."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import tenacity

from raglift.adapters.stages import RerankStage, RetrieveStage, Stage
from raglift.errors import (
    ConfigurationError,
    ModelOutputError,
    QueryFailed,
    QueryTimeout,
    RagliftError,
    ServiceUnusable,
    order_to_stop,
)
from raglift.running.calls import FirstFailure, Outcome, call_all, call_all_async
from raglift.types.rankings import Ranking, StageTrace, Trace
from raglift.types.sessions import Session
from raglift.utilities.cache import is_bypassed
from raglift.utilities.display import counted, describe_error
from raglift.utilities.progress import step, track

if TYPE_CHECKING:
    from raglift.adapters.policy import Policy
    from raglift.matching.provenance import Provenance
    from raglift.types.labels import Query


_OF_A_RETRIEVER = ("retrieve", "retrieve_one", "aretrieve_one")


@dataclass(frozen=True)
class _Step:
    """The three ways in which a stage may be asked; None if it cannot."""

    batch: Callable[..., list[Ranking]] | None
    one: Callable[..., Ranking] | None
    one_async: Callable[..., Any] | None

    @classmethod
    def of(cls, stage: Stage) -> _Step:
        if isinstance(stage, RetrieveStage):
            asked = stage.retriever
            names = ("", "session_one", "asession_one") if stage.for_sessions else _OF_A_RETRIEVER
            return cls(*(getattr(asked, name, None) for name in names))
        names = ("rerank", "rerank_one", "arerank_one")
        return cls(*(getattr(stage.reranker, name, None) for name in names))


def is_batched(stage: Stage) -> bool:
    """Whether a stage takes all queries at once."""
    return _Step.of(stage).batch is not None


def takes_filters(stage: Stage) -> bool:
    """Whether a stage can be given a metadata filter with each query, as a third argument."""
    return isinstance(stage, RetrieveStage) and bool(getattr(stage.retriever, "takes_filters", False))


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
        stages: a RetrieveStage, then any number of RerankStages, with distinct names; only RerankStages if there are
            traces to continue from.
        queries: what to ask.
        k: how many hits to retrieve.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        provenance: resolves the document and checks the offsets of every hit.
        after: traces of earlier stages, one per query, to continue from; a query that failed there is not run again.
        watch: entered while a stage is asked, and left when it has answered.

    Returns:
        One trace per query, in the order of the queries. A query that failed keeps the stages before the failure.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the system cannot work at all: a model that does not load, results that are not rankings.
    """
    state = _State(queries, k, provenance)
    for place, trace in enumerate(after or ()):
        state.done[place], state.errors[place], state.retries[place] = list(trace.stages), trace.error, trace.retries
    for stage in stages:
        alive = [place for place, error in enumerate(state.errors) if error is None]
        # A stage that takes all queries at once shows its own progress: only it knows what it is busy with.
        show = False if is_batched(stage) else policy.progress
        queries_done = track(stage.name, len(alive), "questions", show=show)
        with step(stage.name, show=policy.progress), watch(stage), queries_done as advance:
            outcomes = ask_stage(stage, [state.input_of(stage, place) for place in alive], policy, advance)
        stop_if_unusable(stage, outcomes)
        _stop_if_doubtful(stage, outcomes)
        for place, outcome in zip(alive, outcomes, strict=True):
            state.record(stage, place, outcome)
    return state.traces()


class _State:
    """How far each query came: the stages that it went through, or its error.

    Args:
        queries: what is asked.
        k: how many hits to retrieve.
        provenance: checks rankings.
    """

    def __init__(self, queries: Sequence[Query], k: int, provenance: Provenance) -> None:
        self.done: list[list[StageTrace]] = [[] for _ in queries]
        self.errors: list[str | None] = [None] * len(queries)
        self.retries = [0] * len(queries)
        self._queries = queries
        self._k = k
        self._provenance = provenance
        self._has_filters = any(query.filter is not None for query in queries)

    def input_of(self, stage: Stage, place: int) -> tuple[Any, ...]:
        """Return what a stage is given for a query."""
        query = self._queries[place]
        if isinstance(stage, RerankStage):
            return (query.text, self.done[place][-1].ranking)
        return (query.text, self._k, query.filter) if self._filters(stage) else (query.text, self._k)

    def _filters(self, stage: RetrieveStage) -> bool:
        """Whether a retriever is given the filters of the queries, of which some have one."""
        return self._has_filters and takes_filters(stage)

    def record(self, stage: Stage, place: int, outcome: Outcome[Ranking]) -> None:
        """Note what a stage returned for a query, or why it failed."""
        if outcome.value is None:
            tried = f" (tried {outcome.tries} times)" if outcome.tries > 1 else ""
            reason = _described(stage, outcome.error or QueryFailed("no ranking"))
            self.errors[place] = f"{stage.name}: {reason}{tried}"
            self.retries[place] = outcome.tries - 1
        else:
            ranking = self._provenance.check(outcome.value)
            self.done[place].append(StageTrace(stage.name, ranking, outcome.seconds, outcome.tries - 1))

    def traces(self) -> tuple[Trace, ...]:
        """Return one trace per query."""
        return tuple(
            Trace(query.id, tuple(stages_done), error, retries=retries)
            for query, stages_done, error, retries in zip(
                self._queries, self.done, self.errors, self.retries, strict=True
            )
        )


def ask_stage(
    stage: Stage,
    inputs: list[tuple[Any, ...]],
    policy: Policy,
    advance: Callable[[int], None],
) -> list[Outcome[Any]]:
    """Ask one stage for its rankings, or an agent for its sessions, in whichever way it may be asked; without secrets.

    Args:
        stage: what is asked.
        inputs: for each query, its text, and with it the depth for a RetrieveStage, and the query's filter where it
            takes one; the `UnderWay` of an agent's run; or the ranking for a RerankStage.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        advance: called with the number of queries just finished.

    Returns:
        One outcome a query, in order: its ranking or session and seconds, or its error.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the stage cannot work at all.
    """
    if stage.keeper is not None and not is_bypassed():
        return stage.keeper.ask(stage, inputs, policy, advance)
    # After the calls: it takes time that is not the system's, and would block the event loop
    return [_cleared(stage, outcome) for outcome in _asked(stage, inputs, policy, advance)]


def _cleared(stage: Stage, outcome: Outcome[Any]) -> Outcome[Any]:
    """Return an outcome without secrets in its hits: all that a system returns comes through here."""
    if outcome.value is None:
        return outcome
    try:
        value = stage.clearing.answer(outcome.value)
    except BaseException as error:
        if order_to_stop(error) is not None:
            raise
        # Metadata of a user's may not let itself be looked at
        return replace(outcome, value=None, error=error)
    return outcome if value is outcome.value else replace(outcome, value=value)


def _asked(
    stage: Stage,
    inputs: list[tuple[Any, ...]],
    policy: Policy,
    advance: Callable[[int], None],
) -> list[Outcome[Any]]:
    """Ask one stage, as `ask_stage` does, for what comes back as it is."""
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


def _described(stage: Stage, error: BaseException) -> str:
    """Return an error of a stage as one line, without the secrets that its system holds."""
    return describe_error(error, secrets=stage.clearing.secrets)


def _is_misuse(error: BaseException | None) -> bool:
    """Whether raglift itself says that the system cannot be used; a timeout says so of one query only."""
    return isinstance(error, RagliftError) and not isinstance(error, QueryFailed)


def _stopped(stage: Stage, query: str, error: BaseException) -> BaseException:
    """Return what to raise where the error of one query's call stops the run."""
    if order_to_stop(error) is not None or _is_misuse(error):
        return error
    kind = QueryTimeout if isinstance(error, QueryTimeout) else QueryFailed
    system = stage.clearing.message(stage.system)
    failure = kind(f"{stage.name} ({system}) failed on {query[:80]!r}: {_described(stage, error)}")
    failure.__cause__ = error
    return failure


def _stop_if_doubtful(stage: Stage, outcomes: Iterable[Outcome[Ranking]]) -> None:
    """Raise if what came back was most likely meant otherwise than it was read."""
    if isinstance(stage, RerankStage) and stage.doubt is not None:
        doubt = stage.doubt([outcome.value for outcome in outcomes if outcome.value is not None])
        if doubt is not None:
            raise ConfigurationError(doubt)


def stop_if_unusable(stage: Stage, outcomes: Sequence[Outcome[Any]]) -> None:
    """Raise the error where every query failed of misuse: then it is not a query's fault.

    A service can also be slow or fail temporarily: only if it answered no query, and at least half of the errors are
    configuration errors, the configuration is reported as the cause.
    """
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if not errors or len(errors) < len(outcomes):
        return
    unusable = [error for error in errors if isinstance(error, ServiceUnusable)]
    if unusable and (2 * len(unusable) >= len(errors) or all(map(_is_misuse, errors))):
        causes = [str(error).partition(" — ")[0] for error in unusable]
        worst = unusable[causes.index(max(causes, key=causes.count))]
        others = len(errors) - len(unusable)
        more = f" (every question failed, {others:,} of {len(errors):,} of another cause)" if others else ""
        raise ServiceUnusable(f"{stage.system}: {worst}{more}") from worst  # which of its addresses it was about
    if all(map(_is_misuse, errors)):
        said = str(errors[0])
        if (shown := stage.clearing.message(said)) != said:
            raise ConfigurationError(shown) from None
        raise errors[0]


def every_query_failed(traces: Sequence[Trace]) -> QueryFailed | None:
    """Return the error of a run in which every query failed, with the first cause; None if any query was answered."""
    if not traces or any(trace.error is None for trace in traces):
        return None
    return QueryFailed(f"every question failed; the first: {traces[0].error}")


def most_queries_failed(traces: Sequence[Trace]) -> QueryFailed | None:
    """Return an error that says how many queries failed, where it is more than half of them; else None."""
    failed = [trace for trace in traces if trace.error is not None]
    if 2 * len(failed) <= len(traces):
        return None
    return QueryFailed(
        f"{len(failed):,} of {counted(len(traces), 'question')} failed and count 0, so the figures say little about "
        f"the system; the first, {failed[0].query_id}: {failed[0].error}"
    )


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
    retrying = tenacity.Retrying(**policy.retry_policy.for_tenacity())
    try:
        rankings = retrying(_call_batch, stage, call, inputs)
    except BaseException as error:
        if (order := order_to_stop(error)) is not None:
            raise order from None
        if isinstance(error, asyncio.CancelledError):  # the task that waits for the system was cancelled
            raise
        if isinstance(error, RagliftError) and not isinstance(error, ModelOutputError):
            raise  # not one query's fault: a model that does not load, a cache that cannot be written
        if policy.on_error == "raise":
            system = stage.clearing.message(stage.system)
            raise QueryFailed(f"{stage.name} ({system}) failed: {_described(stage, error)}") from error
        # In turn: what takes all queries at once was not promised to be safe to call from several threads
        in_turn = replace(policy, concurrency=1)
        outcomes = call_all([partial(_alone, stage, call, given) for given in inputs], in_turn, advance)
        # The retries of the call for all of them were retries of each
        retries = int(retrying.statistics["attempt_number"]) - 1
        return [replace(one, tries=one.tries + retries) for one in outcomes]
    advance(len(inputs))
    seconds = (time.perf_counter() - started) / len(inputs)
    tries = int(retrying.statistics["attempt_number"])
    return [Outcome(ranking, seconds, tries=tries) for ranking in rankings]


def _alone(stage: Stage, call: Callable[..., list[Ranking]], given: tuple[Any, ...]) -> Ranking:
    return _call_batch(stage, call, [given])[0]


def _call_batch(stage: Stage, call: Callable[..., list[Ranking]], inputs: list[tuple[Any, ...]]) -> list[Ranking]:
    texts = [given[0] for given in inputs]
    if isinstance(stage, RerankStage):
        rankings = call(texts, [given[1] for given in inputs])
    else:
        rankings = call(texts, inputs[0][1], *([[given[2] for given in inputs]] if len(inputs[0]) > 2 else []))
    if not isinstance(rankings, Sequence) or len(rankings) != len(inputs):
        found = f"{len(rankings)} rankings" if isinstance(rankings, Sequence) else type(rankings).__name__
        raise ConfigurationError(f"{stage.name}: {stage.system} returned {found}; expected {len(inputs)} rankings")
    return [_accepted(stage, ranking) for ranking in rankings]


def _checked(stage: Stage, call: Callable[..., Any], *given: Any) -> Ranking | Session:
    answer = call(*given)
    return answer if isinstance(answer, Session) else _accepted(stage, answer)


async def _checked_async(stage: Stage, call: Callable[..., Any], *given: Any) -> Ranking | Session:
    answer = await call(*given)
    return answer if isinstance(answer, Session) else _accepted(stage, answer)


def _accepted(stage: Stage, ranking: object) -> Ranking:
    """Return what a system gave as a ranking.

    Raises:
        ConfigurationError: it is no ranking.
    """
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
    return ranking
