"""Context precision: a model is asked whether each of the first hits helps to answer, and its verdicts are scored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, Field

from raglift.analysis.upper_bound import rule_of
from raglift.analysis.warnings import new_evidence
from raglift.base.display import counted
from raglift.base.normalization import normalize
from raglift.errors import ConfigurationError
from raglift.judging.batch import NoAnswer, ask_all, estimate
from raglift.judging.comparing import agreement
from raglift.judging.pooling import pool, systems_of
from raglift.judging.prompts import load_prompt
from raglift.judging.rubrics import Reason  # noqa: TC001 — pydantic looks it up
from raglift.judging.usefulness_records import ContextPrecision, Judged, JudgedLift
from raglift.llm.language_models import DEFAULT_MODEL, language_model
from raglift.records.labels import Annotator
from raglift.records.metric import Metric
from raglift.stats.paired_tests import paired_difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.base.cache import Cache
    from raglift.judging.batch import Estimate, Limits
    from raglift.judging.pooling import Pool
    from raglift.llm.replies import FilledPrompt
    from raglift.records.documents import Chunk
    from raglift.results.evaluation import Evaluation

    Evaluations = Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation]


# Precision and average precision of verdicts.


def precision_at(verdicts: NDArray[np.float64], ks: Sequence[int]) -> NDArray[np.float64]:
    """Return precision@k: the useful hits among the first k, divided by k.

    Args:
        verdicts: shape (queries, depth): 1 for a useful hit, 0 for another and where there is none, NaN for one without
            a verdict.
        ks: depths from 1 to the depth.

    Returns:
        Shape (ks, queries), from 0 to 1; NaN if one of the first k has no verdict.
    """
    found: NDArray[np.float64] = np.cumsum(verdicts, axis=1).T[np.asarray(ks) - 1] / np.asarray(ks)[:, np.newaxis]
    return found


def average_precision_at(verdicts: NDArray[np.float64], ks: Sequence[int]) -> NDArray[np.float64]:
    """Return AP@k over verdicts: Σ precision@i · vᵢ / Σ vᵢ, for i from 1 to k; 0 where no hit is useful.

    It divides by what was found and judged useful, not by all that there is: what was not retrieved costs nothing. This
    is what Ragas calls context precision.

    Args:
        verdicts: as in `precision_at`.
        ks: depths from 1 to the depth.

    Returns:
        Shape (ks, queries), from 0 to 1; NaN if one of the first k has no verdict.
    """
    useful = np.cumsum(verdicts, axis=1)
    precision = useful / np.arange(1, verdicts.shape[1] + 1)
    gained = np.cumsum(precision * verdicts, axis=1)
    found: NDArray[np.float64] = (gained / np.where(useful == 0, 1.0, useful)).T[np.asarray(ks) - 1]
    return found


# Context precision: a model's verdict on whether each of the first hits helps to answer.


_KS = (1, 3, 5, 10)


class Verdict(BaseModel):
    """Whether a passage was useful for answering a question."""

    reason: Reason = Field(description="Why, in one short sentence.")
    useful: bool = Field(description="Whether the answer needs something that the passage says.")


def context_precision(
    evaluations: Evaluations,
    model: Any = DEFAULT_MODEL,
    *,
    ks: Sequence[int] | None = None,
    answers: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    cache: Cache | None = None,
    progress: bool | None = None,
    seed: int = 0,
) -> ContextPrecision:
    """Ask a language model of each of the first hits whether it is useful for answering; no labels are needed.

    Each distinct pair of query and chunk is asked once, and every verdict is cached as it comes. Means are over the
    queries that the corpus answers, as far as is known; a query with a hit that got no verdict is left out and counted.
    Where people labelled the queries, the judge is checked against them.

    Args:
        evaluations: of the same queries, from `evaluate` or `load_evaluation`; labelled or not. Every stage is judged.
        model: as for `language_model`.
        ks: the depths; by default 1, 3, 5 and 10, no deeper than the runs.
        answers: the answer that was given to each query, by its id, for those that have one: then it says what counts.
        limits: how many requests at a time, and for how much money at most.
        cache: where verdicts are kept; by default raglift's.
        progress: whether to show a bar; None for where there is a terminal.
        seed: of the statistics.

    Raises:
        ConfigurationError: an argument that cannot be used.
        MissingDependency: the provider's package is not installed.
        CostLimitReached: the next request might pass the limit; what was answered is in the cache.
    """
    systems, depths = systems_of(evaluations), _depths(evaluations, ks)
    pairs = _pairs(evaluations, depths)
    answers = _checked_answers(pairs, answers or {})
    asked = language_model(model)
    prompts = _prompts(pairs, answers)
    came = ask_all(asked, list(prompts.values()), Verdict, limits, label="judging", cache=cache, progress=progress)
    verdicts = {key: _said(answer) for key, answer in zip(prompts, came.values, strict=True)}
    judged = [
        [Judged(each.query, one, *_verdict(verdicts, each.query.id, one.chunk)) for one in each.chunks]
        for each in pairs.queries
    ]
    tables = [_table(pairs, *system, max(depths), verdicts) for system in systems.values()]
    precision = np.stack([precision_at(table, depths) for table in tables])
    ap = np.stack([average_precision_at(table, depths) for table in tables])
    prompt = load_prompt("usefulness")
    annotator = Annotator(asked.name, prompt.version, came.last_day)
    return ContextPrecision(
        judge=annotator,
        agreement=agreement(
            pairs,
            [each.query for each in pairs.queries],
            [[None if one.useful is None else int(one.useful) for one in row] for row in judged],
            judge=f"{annotator.model} ({annotator.prompt})",
            levels=2,
            rule=rule_of(next(iter(systems.values()))[0]),
            seed=seed,
        ),
        pool=pairs,
        judged=tuple(one for row in judged for one in row),
        ks=depths,
        precision=precision,
        ap=ap,
        lifts=tuple(_lifts(systems, depths, precision, ap, seed)),
        notes=tuple(_notes(systems, pairs, depths, answers)),
        asked=came.asked,
        usage=came.usage,
        dollars=came.dollars,
    )


def estimate_context_precision(
    evaluations: Evaluations,
    model: Any = DEFAULT_MODEL,
    *,
    ks: Sequence[int] | None = None,
    answers: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    cache: Cache | None = None,
) -> Estimate:
    """Return what `context_precision` would cost with the same arguments; nothing is sent."""
    pairs = _pairs(evaluations, _depths(evaluations, ks))
    prompts = _prompts(pairs, _checked_answers(pairs, answers or {}))
    return estimate(language_model(model, to_estimate=True), list(prompts.values()), Verdict, limits, cache=cache)


def _depths(evaluations: Evaluations, ks: Sequence[int] | None) -> tuple[int, ...]:
    """Return the depths in order.

    Raises:
        ConfigurationError: something that is not a depth, or one that a run was not asked for.
    """
    asked = min(int(evaluation.run.spec["candidates"]) for evaluation, _ in systems_of(evaluations).values())
    if ks is None:
        return tuple(k for k in _KS if k <= asked)
    wrong = [k for k in ks if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= asked]
    if wrong or not ks:
        raise ConfigurationError(
            f"ks: found {wrong[0] if wrong else 'none'!r}; expected integers from 1 to {asked}, the number of "
            "candidates that the runs asked for"
        )
    return tuple(sorted(set(ks)))


def _pairs(evaluations: Evaluations, depths: Sequence[int]) -> Pool:
    """Return the hits to judge: none for a query that the corpus does not answer, which is left out of the means."""
    found = pool(evaluations, depth=max(depths))
    return replace(found, queries=tuple(each for each in found.queries if each.query.answerable))


def _checked_answers(pairs: Pool, answers: Mapping[str, str]) -> dict[str, str]:
    """Return the answers to the queries that are judged.

    Raises:
        ConfigurationError: none of them is to one of these queries.
    """
    ids = [each.query.id for each in pairs.queries]
    found = {query_id: answers[query_id] for query_id in ids if query_id in answers}
    if answers and not found:
        known = ", ".join(ids[:3]) or "none that the corpus answers"
        raise ConfigurationError(
            f"answers: found none to a query of the runs ({next(iter(answers))}, …); expected the ids of some: {known}"
        )
    return found


_Key = tuple[str, str]
"""A query's id and a chunk's words, normalized: what a verdict is about."""


def _prompts(pairs: Pool, answers: Mapping[str, str]) -> dict[_Key, FilledPrompt]:
    """Return what is asked: once of each query and distinct words."""
    prompt = load_prompt("usefulness")
    found: dict[_Key, FilledPrompt] = {}
    for each in pairs.queries:
        answer = answers.get(each.query.id, "")
        for pooled in each.chunks:
            words = normalize(pooled.chunk.text)
            if words and (each.query.id, words) not in found:
                filled = prompt.fill(question=each.query.text, answer=answer, passage=pooled.chunk.text)
                found[each.query.id, words] = filled
    return found


_Said = tuple[bool | None, str]
"""A verdict and its reason; None, and why there is none."""


def _said(answer: Verdict | NoAnswer) -> _Said:
    return (None, answer.reason) if isinstance(answer, NoAnswer) else (answer.useful, answer.reason)


def _verdict(verdicts: Mapping[_Key, _Said], query_id: str, chunk: Chunk) -> _Said:
    """Return what was said of a chunk; one without text helps nobody."""
    return verdicts.get((query_id, normalize(chunk.text)), (False, "the chunk has no words"))


def _table(
    pairs: Pool, evaluation: Evaluation, stage: int, depth: int, verdicts: Mapping[_Key, _Said]
) -> NDArray[np.float64]:
    """Return the verdicts of one system: a row per query, a column per rank; NaN for a hit without one."""
    traces = {trace.query_id: trace for trace in evaluation.run.traces}
    table = np.zeros((len(pairs.queries), depth))
    for number, each in enumerate(pairs.queries):
        stages = traces[each.query.id].stages
        for place, hit in enumerate(stages[stage].ranking.hits[:depth] if stage < len(stages) else ()):
            useful, _ = _verdict(verdicts, each.query.id, hit.chunk)
            table[number, place] = np.nan if useful is None else useful
    return table


def _lifts(
    systems: Mapping[str, tuple[Evaluation, int]],
    depths: Sequence[int],
    precision: NDArray[np.float64],
    ap: NDArray[np.float64],
    seed: int,
) -> Iterator[JudgedLift]:
    """Yield what the stages after the first changed, where the pair is fair."""
    for last, (name, (evaluation, stage)) in enumerate(systems.items()):
        if stage == 0 or stage < len(evaluation.run.stages) - 1:
            continue
        if new_evidence(evaluation):  # what is useful of it may not have been among the candidates
            continue
        for place, k in enumerate(depths):
            if evaluation.has_fair_lift(Metric("precision", k)):
                changed = (
                    paired_difference(values[last, place] - values[last - stage, place], seed=seed, bound=1.0)
                    for values in (precision, ap)
                )
                run = name.removesuffix(evaluation.run.stages[stage].name).removesuffix("/")
                yield JudgedLift(run, k, *changed)


def _notes(
    systems: Mapping[str, tuple[Evaluation, int]], pairs: Pool, depths: Sequence[int], answers: Mapping[str, str]
) -> Iterator[str]:
    evaluation, _ = next(iter(systems.values()))
    unanswerable = len(evaluation.dataset) - len(pairs.queries)
    if unanswerable:
        yield f"{counted(unanswerable, 'query')} marked unanswerable, neither judged nor in a mean"
    if answers:
        yield f"answers were given to {len(answers):,} of {counted(len(pairs.queries), 'query')}"
    for name, (each, stage) in systems.items():
        limit = each.truncated.get(each.run.stages[stage].name)
        if limit is not None and limit < max(depths):
            yield f"{name}: at most {counted(limit, 'hit')}; at a deeper k what is missing counts as not useful"
        if stage == len(each.run.stages) - 1 and (strange := new_evidence(each)):
            yield f"{name}: no lift is given: {strange[0]}"
        failed = sum(len(trace.stages) <= stage for trace in each.run.traces if trace.error is not None)
        if failed:
            yield f"{name}: {counted(failed, 'query')} failed and {'counts' if failed == 1 else 'count'} 0"
