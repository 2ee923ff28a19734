"""Sessions and rankings that a system has returned elsewhere are scored, without running it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from raglift.adapters.clearing import Clearing
from raglift.errors import ConfigurationError, DatasetError
from raglift.matching.provenance import Provenance
from raglift.metrics.computing import DEFAULT_METRICS, choose_metrics, names_of
from raglift.running.agents import DEFAULT_SESSION_METRICS, run_of_sessions
from raglift.running.evaluation import checked_dataset
from raglift.running.notes import run_notes
from raglift.running.scoring import checked_rule, evaluation_of, require_chunks, require_encoding
from raglift.running.settings import DEFAULT_KS, Settings
from raglift.running.spec import named_in_spec, spec_of
from raglift.text.tokens import TokenCounts
from raglift.types.rankings import Ranking, Run, StageInfo, StageTrace, Trace
from raglift.types.sessions import Session
from raglift.utilities.validation import described, fault, nearest, quoted

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.metric import Calls, Metric, Tokens


# `evaluate_sessions`: the searches that an agent made.


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

    A question without a session counts as failed. One with several sessions, of distinct `repetition`, has their mean
    as its value. With one call for each question, the figures are the same as with `evaluate` on the same hits.

    Args:
        sessions: one or more for each query of the dataset.
        dataset: labelled queries, as for `evaluate`.
        metrics: what to compute; metrics that are not of sessions look at all hits of a session, one call after the
            other.
        ks: the depths at which metrics are taken; measures of sessions look at the first k hits of each call.
        match: as for `evaluate`.
        profile: whose metric conventions, as for `evaluate`.
        system: what the agent is called in reports.
        doc_key: the metadata key of the hits that holds the ids of the dataset's documents.

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
    checked = _checked_sessions(sessions, data)
    clearing = Clearing()
    cleared = {query_id: list(map(clearing.session, of_query)) for query_id, of_query in checked.items()}
    spec = {**spec_of(data, Settings(doc_key=doc_key)), **named_in_spec(names_of(metrics, DEFAULT_SESSION_METRICS))}
    run = run_of_sessions(cleared, data, chosen, Provenance(data, doc_key), system=system, spec=spec)
    return evaluation_of(run, data, chosen, rule, profile, TokenCounts())


def _checked_sessions(sessions: Iterable[Session], dataset: Dataset) -> dict[str, list[Session]]:
    """Return the sessions of each query, in the order of their repetitions; every fault is listed."""
    if isinstance(sessions, (str, Session)) or not isinstance(sessions, Iterable):
        raise ConfigurationError(f"sessions: found {described(sessions)}; expected a list of Session")
    by_query: dict[str, dict[int, Session]] = defaultdict(dict)
    faults = []
    for number, session in enumerate(sessions, start=1):
        if not isinstance(session, Session):
            raise ConfigurationError(f"sessions: found {described(session)} as number {number}; expected a Session")
        where, found = f"session {number}", f"the question {quoted(session.query_id)}"
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


# `evaluate_rankings`: what a system returned for each question.


_STAGE = "retrieve"


def evaluate_rankings(
    rankings: Mapping[str, Ranking],
    dataset: Dataset,
    *,
    system: str,
    metrics: Sequence[Metric | str] = DEFAULT_METRICS,
    ks: Sequence[int] = DEFAULT_KS,
    match: str | MatchRule = "containment",
    profile: str = "default",
    notes: Sequence[str] = (),
) -> Evaluation:
    """Measure rankings as `evaluate` does those of a system; a query without one counts as failed.

    Args:
        rankings: for queries of the dataset, by their ids, what came back.
        dataset: labelled queries.
        system: what the rankings are of, for people.
        metrics: what to compute.
        ks: the depths at which metrics are taken.
        match: what counts as a match, as for `evaluate`.
        profile: whose metric conventions, as for `evaluate`.
        notes: what a reader of the figures must know.

    Raises:
        ConfigurationError: an argument that cannot be used.
    """
    chosen = choose_metrics(metrics, ks, dataset)
    require_encoding(chosen)
    require_chunks(chosen, None)
    rule, provenance = checked_rule(match, profile), Provenance(dataset)
    error = f"{_STAGE}: no ranking of this question in {system}"
    traces = tuple(
        Trace(query.id, (StageTrace(_STAGE, provenance.check(rankings[query.id]), 0.0),))
        if query.id in rankings
        else Trace(query.id, error=error)
        for query in dataset
    )
    settings = spec_of(dataset, Settings())  # nothing was asked: models, retries and the like had no part in it
    spec = {name: settings[name] for name in ("depth", "dataset", "started", "environment")}
    spec |= named_in_spec(names_of(metrics))
    spec["returned"] = max(map(len, rankings.values()), default=0)
    spec["candidates"] = max([spec["returned"], *(metric.k or 0 for metric in chosen), DEFAULT_KS[-1]])
    run = Run(
        (StageInfo(_STAGE, system, has_own_depth=True),),
        traces,
        spec,
        (*dataset.resolution.notes, *run_notes((), provenance), *notes),
    )
    return evaluation_of(run, dataset, chosen, rule, profile, TokenCounts())
