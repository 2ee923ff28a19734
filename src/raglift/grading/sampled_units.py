"""Which pairs or queries of a pool people graded, and what can be corrected with that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from raglift.errors import ConfigurationError
from raglift.grading.graded_pool import frame_of, is_sum_over_hits
from raglift.grading.human_grades import HumanSample, SampledPair, frame_hash
from raglift.metrics.computing import title
from raglift.metrics.parsing import as_metric
from raglift.stats.prediction_powered import FEWEST_SAMPLED
from raglift.utilities.display import counted, listed
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.grading.pooling import Pool
    from raglift.types.metric import Metric


Estimand = Literal["these-queries", "population"]
ESTIMANDS: tuple[Estimand, ...] = ("these-queries", "population")
"""What an interval is about: these queries and this pool, or all queries like these."""
_SHOWN = 3


def check_estimand(estimand: object) -> None:
    """Raise unless it is one of `ESTIMANDS`."""
    if estimand not in ESTIMANDS:
        raise ConfigurationError(f"estimand: found {estimand!r}; expected one of {', '.join(map(repr, ESTIMANDS))}")


@dataclass(frozen=True, eq=False)
class SampledUnits:
    """What was drawn from the pairs of a pool, and what people said of it."""

    k: int
    """How deep the rankings are from whose hits the sample is."""
    frame: list[tuple[int, int]]
    """The pairs that could be drawn, by the numbers of query and chunk in the pool."""
    human: dict[tuple[int, int], int]
    """People's grades of the sampled pairs, likewise."""
    places: tuple[int, ...]
    """What was drawn: places in the frame or, of queries, among those that have pairs; in order."""
    of: int
    """From how many."""
    by_query: bool
    """Whether queries were drawn."""


def sampled_units(pairs: Pool, sample: HumanSample, scale: int | None = None) -> SampledUnits:
    """Return what of a pool people graded."""
    k = sample.k or pairs.depth
    if k > pairs.depth:
        raise ConfigurationError(
            f"human: found a sample from the first {k} hits; the model graded the first {pairs.depth}: expected "
            f"grades as deep as the sample, as from grade(pool(runs, depth={k}), …)"
        )
    frame = frame_of(pairs, k)
    if sample.frame and sample.frame != frame_hash(pairs, k):
        of = sample.of if sample.sampled == "pairs" else None
        raise ConfigurationError(
            f"human: found a sample that was drawn from {'other' if of is None else f'{of:,} other'} pairs than the "
            f"{len(frame):,} of the first {k} hits of these evaluations; expected the same evaluations, all of them: "
            "what could not be drawn is not represented"
        )
    entries = ((pairs.queries[query], chunk) for query, chunk in frame)
    place_of = {(entry.query.id, entry.chunks[chunk].chunk.id): place for place, (entry, chunk) in enumerate(entries)}
    _check_ids(pairs, place_of, sample, scale)
    graded = _graded_in_order(sample)
    by_query = sample.sampled == "queries"
    if by_query:
        places = _drawn_queries(pairs, frame, graded)
    else:
        places = tuple(place_of[pair.query, pair.chunk] for pair in graded)
    of = len({query for query, _ in frame}) if by_query else len(frame)
    fewest = min(FEWEST_SAMPLED, of)
    if len(places) < fewest:
        what = "queries of which every pair is graded" if by_query else "graded pairs"
        raise ConfigurationError(
            f"human: found {len(places):,} {what}; expected at least {fewest}: grade {fewest - len(places)} more, "
            "drawn at random as these were"
        )
    return SampledUnits(
        k=k,
        frame=frame,
        human={frame[place_of[pair.query, pair.chunk]]: int(pair.grade or 0) for pair in graded},
        places=places,
        of=of,
        by_query=by_query,
    )


def _check_ids(pairs: Pool, place_of: Mapping[tuple[str, str], int], sample: HumanSample, scale: int | None) -> None:
    """Raise for pairs that are not in the frame, and for grades beyond the scale."""
    queries = {entry.query.id for entry in pairs.queries}
    strange = sorted({pair.query for pair in sample.pairs} - queries)
    if strange:
        raise ConfigurationError(
            f"human: found unknown queries: {listed(strange, _SHOWN)}; expected queries of the evaluations"
        )
    outside = [f"{pair.query} {pair.chunk}" for pair in sample.pairs if (pair.query, pair.chunk) not in place_of]
    if outside:
        raise ConfigurationError(
            f"human: found {counted(len(outside), 'pair')} of query and chunk outside of the pool: "
            f"{listed(outside, _SHOWN)}; expected pairs that a system has among its first hits: "
            "others weigh nothing in its figures"
        )
    too_high = [pair for pair in sample.graded if scale is not None and (pair.grade or 0) > scale]
    if too_high:
        first = too_high[0]
        raise ConfigurationError(
            f"human: found grade {first.grade} for query {quoted(first.query)} and chunk {quoted(first.chunk)}; "
            f"expected 0 to {scale}, the scale of the model: people and model have to mean the same by a grade"
        )
    seen: set[tuple[str, str]] = set()
    for pair in sample.pairs:
        if (pair.query, pair.chunk) in seen:
            raise ConfigurationError(
                f"human: found query {quoted(pair.query)} and chunk {quoted(pair.chunk)} twice; expected each pair once"
            )
        seen.add((pair.query, pair.chunk))


def _graded_in_order(sample: HumanSample) -> list[SampledPair]:
    """Return the graded pairs: all, or the first ones, which are a sample too."""
    pairs = list(sample.pairs)
    graded = [pair for pair in pairs if pair.grade is not None]
    count = len(graded)
    if count == len(pairs):
        return graded
    if sample.sampled == "queries":
        last = pairs[count].query  # the query that is not graded to its end
        count = next(number for number, pair in enumerate(pairs) if pair.query == last)
        graded = [pair for pair in graded if pair.query in {each.query for each in pairs[:count]}]
    in_order = all(pair.grade is not None for pair in pairs[:count]) and len(graded) == count
    if not in_order:
        missing = next(pair for pair in pairs if pair.grade is None)
        raise ConfigurationError(
            f"human: found {sum(pair.grade is None for pair in pairs):,} of {len(pairs):,} sampled pairs without a "
            f"grade, the first of query {quoted(missing.query)} and chunk {quoted(missing.chunk)}; "
            "expected grades in order, from the first on: what is left out because it is hard to grade biases the rest"
        )
    return graded


def _drawn_queries(pairs: Pool, frame: Sequence[tuple[int, int]], graded: Sequence[SampledPair]) -> tuple[int, ...]:
    """Return the numbers of the sampled queries among those with pairs."""
    wanted: dict[str, int] = {}
    for query, _ in frame:
        wanted[pairs.queries[query].query.id] = wanted.get(pairs.queries[query].query.id, 0) + 1
    found: dict[str, list[SampledPair]] = {}
    for pair in graded:
        found.setdefault(pair.query, []).append(pair)
    partly = [query for query, of_query in found.items() if len(of_query) < wanted[query]]
    if partly:
        raise ConfigurationError(
            f"human: found {len(found[partly[0]]):,} of {wanted[partly[0]]:,} pairs of query {quoted(partly[0])} "
            "graded; expected all pairs of each sampled query: a metric of a list needs the whole list"
        )
    number = {query: place for place, query in enumerate(wanted)}
    return tuple(number[query] for query in found)


def metrics_to_correct(metrics: Sequence[Metric | str] | None, units: SampledUnits) -> tuple[Metric, ...]:
    """Return the metrics to correct."""
    usual = ("ndcg", "rr", "precision") if units.by_query else ("precision", "dcg")
    chosen = tuple(as_metric(each) for each in (metrics or [f"{name}@{units.k}" for name in usual]))
    for metric in chosen:
        if metric.k is None or metric.k > units.k:
            raise ConfigurationError(
                f"{title(metric)}: found no depth in hits, or one below the first {units.k}, from which the sample "
                f"was drawn; expected {metric.name}@{units.k} or less"
            )
        if not units.by_query and not is_sum_over_hits(metric):
            raise ConfigurationError(
                f"{title(metric)}: cannot be corrected by grades of single pairs, for it is no sum over hits: with "
                "some hits graded by people and the others by the model it would be biased. Expected Precision, DCG or "
                "RBP; or grade all pairs of some queries: sample_for_grading(…, sampled='queries'), "
                "`raglift labels sample … --queries`"
            )
    return chosen
