"""Explanation of one query's score, and a metric over k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.upper_bound import match_tables_of, rule_of
from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.matching.matches import Direction, MatchTable
from raglift.matching.rule import Text
from raglift.metrics.computing import compute, score
from raglift.metrics.parsing import parse
from raglift.metrics.registry import MEASURES
from raglift.metrics.session_prefixes import calls_of_prefixes
from raglift.rendering.presenting import Presentable
from raglift.types.rankings import Hit, Ranking

if TYPE_CHECKING:
    import pandas as pd

    from raglift.metrics.measure import Measure
    from raglift.results.evaluation import Evaluation
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


# Explanation of one query's score: which hit covers which passage, and its gain.


@dataclass(frozen=True)
class Overlap:
    """How one hit bears on one passage."""

    fact: int
    """Which fact of the query, from 1."""
    passage: int
    """Which alternative of the fact, from 1."""
    grade: int
    """The passage's grade."""
    direction: str
    """`chunk contains passage`, `passage contains chunk`, `chunk overlaps passage` or `same id`."""
    start: int
    """First covered character of the passage's own text; 0 for a chunk-id label."""
    end: int
    """One past the last."""
    length: int
    """Characters of the passage; 0 for a chunk-id label."""
    counts: bool
    """Whether it makes the hit relevant; else the hit covers a part, but the match rule does not call that a match."""
    satisfies: bool
    """Whether with this hit the fact is satisfied for the first time, or with a better grade."""
    share: float
    """Which part of the passage's normalized characters the hit covers, as coverage counts it; 0 for a chunk-id
    label."""


@dataclass(frozen=True)
class ExplainedHit:
    """One hit with its pieces and earnings."""

    hit: Hit
    overlaps: tuple[Overlap, ...]
    earned: tuple[float, ...]
    """For each metric, how much its value grew with this hit: the hits' earnings add up to the value."""


@dataclass(frozen=True)
class Explanation(Presentable):
    """One query at one stage."""

    query: Query
    stage: str
    match: str
    """The match rule."""
    error: str | None
    """Why the query failed, if it did."""
    metrics: tuple[Metric, ...]
    """Those that were scored, whose function is installed, and that hits can earn: not IDCG nor SpanPrecisionOmega."""
    values: tuple[float, ...]
    """For each metric, its value; NaN for a query that is left out of the mean."""
    hits: tuple[ExplainedHit, ...]
    causes: tuple[tuple[int, str], ...] = ()
    """For each fact that is lost, by its number from 1, what it is lost by and what mends it, if `repairs` found it
    out."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per hit and piece: rank, chunk, fact, passage, direction, covered part, and what counts."""
        import pandas as pd

        rows = [
            (each.hit.rank, each.hit.chunk.id, each.hit.chunk.doc_id, each.hit.score, *_cells(overlap))
            for each in self.hits
            for overlap in each.overlaps or (None,)
        ]
        names = ("fact", "passage", "grade", "direction", "start", "end", "length", "counts", "satisfies")
        return pd.DataFrame(rows, columns=["rank", "chunk_id", "doc_id", "score", *names]).convert_dtypes()

    def earnings(self) -> pd.DataFrame:
        """Return one row per hit and one column per metric: how much the metric's value grew with the hit."""
        import pandas as pd

        index = pd.Index([each.hit.rank for each in self.hits], name="rank")
        return pd.DataFrame([each.earned for each in self.hits], index, [str(metric) for metric in self.metrics])


def explain(evaluation: Evaluation, query_id: str, *, stage: str | None = None) -> Explanation:
    """Return which hit of one query matched which passage, and what it earned: see `Evaluation.explain`.

    What a hit earned in a metric is the metric's value over the hits up to it, minus that over the hits before it.
    """
    query = evaluation.dataset.query(query_id)
    stage = evaluation.after if stage is None else stage
    ranking = Ranking(evaluation.hits(query_id, stage))
    number = evaluation.dataset.queries.index(query)
    trace = evaluation.run.traces[number]
    prefixes = [Ranking(ranking.hits[:length]) for length in range(len(ranking) + 1)]
    counter = evaluation.match_table[0].counter if evaluation.match_table else None
    (judged,) = match_rankings([query] * len(prefixes), [prefixes], rule_of(evaluation), counter=counter)
    if evaluation.run.has_sessions:
        whole = match_tables_of(evaluation)[evaluation.scores.stages.index(stage)]
        judged = replace(judged, sessions=calls_of_prefixes(whole, number))
    overlaps = _overlaps(query, len(ranking), judged, Text(rule_of(evaluation)))
    metrics = tuple(metric for metric in evaluation.scores.metrics if _is_told(MEASURES[metric.name]))
    of_beginnings = [np.nan_to_num(compute(judged, metric, evaluation.profile)) for metric in metrics]
    earned = np.diff(np.array(of_beginnings).reshape(-1, len(prefixes))).T
    hits = (
        ExplainedHit(hit, tuple(overlaps.get(hit.rank, ())), tuple(row))
        for hit, row in zip(ranking, earned.tolist(), strict=True)
    )
    values = tuple(float(evaluation.scores.of(stage, metric)[number]) for metric in metrics)
    lost = evaluation.known_repairs.of(query_id) if evaluation.known_repairs is not None else ()
    causes = tuple((one.fact, one.reason) for one in lost)
    return Explanation(query, stage, str(rule_of(evaluation)), trace.error, metrics, values, tuple(hits), causes)


def _is_told(measure: Measure) -> bool:
    """Whether hits earn it, and it can be computed again: a user's own may not be installed where a run is loaded."""
    return measure.is_earned and measure.is_installed


def _overlaps(query: Query, number: int, judged: MatchTable, text: Text) -> dict[int, list[Overlap]]:
    """Return the overlaps of each rank of one of the matched rankings."""
    overlaps, satisfied = judged.overlaps, judged.satisfied
    news = set(zip(satisfied.fact.tolist(), satisfied.passage.tolist(), satisfied.rank.tolist(), strict=True))
    first_fact = int(judged.facts.first_of_query(np.array([number]))[0])
    found: dict[int, list[Overlap]] = {}
    for row in np.flatnonzero(overlaps.query == number).tolist():
        fact, alternative = int(overlaps.fact[row]), int(overlaps.passage[row])
        rank = int(overlaps.rank[row])
        label = query.facts[fact - first_fact].passages[alternative].text or ""
        covered = int(overlaps.normalized_end[row] - overlaps.normalized_start[row])
        overlap = Overlap(
            fact=fact - first_fact + 1,
            passage=alternative + 1,
            grade=int(overlaps.grade[row]),
            direction=Direction.NAMES[int(overlaps.direction[row])],
            start=int(overlaps.start[row]),
            end=int(overlaps.end[row]),
            length=len(label),
            counts=bool(overlaps.relevant[row]),
            satisfies=(fact, alternative, rank) in news,
            share=covered / len(text(label)) if covered else 0.0,
        )
        found.setdefault(rank, []).append(overlap)
    return found


def _cells(overlap: Overlap | None) -> tuple[object, ...]:
    if overlap is None:
        return (None,) * 9
    return (
        overlap.fact,
        overlap.passage,
        overlap.grade,
        overlap.direction,
        overlap.start,
        overlap.end,
        overlap.length,
        overlap.counts,
        overlap.satisfies,
    )


# A metric over k.


def has_curve(metric: Metric) -> bool:
    """Whether a metric can be shown over k: it is taken at a number of hits, and can be computed here."""
    return "k" in MEASURES[metric.name].depths and MEASURES[metric.name].is_installed


def over_k(evaluation: Evaluation, metric: Metric | str, ks: Sequence[int] | None = None) -> pd.DataFrame:
    """Return a metric's mean at many depths, from what matched: see `Evaluation.over_k`."""
    import pandas as pd

    measure = parse(str(metric))
    if measure.depth is not None or "k" not in MEASURES[measure.name].depths:
        raise ConfigurationError(
            f"over_k: found {metric}; expected a measure without a depth that takes one, as 'ndcg'"
        )
    metrics = [measure @ k for k in _depths(evaluation, ks)]
    scores = score(evaluation.run, evaluation.dataset, match_tables_of(evaluation), metrics, evaluation.profile)
    means = {
        stage: [np.nan if evaluation.is_truncated(stage, at_k) else scores.mean(stage, at_k) for at_k in scores.metrics]
        for stage in scores.stages
    }
    n = [scores.n(evaluation.before, at_k) for at_k in scores.metrics]
    return pd.DataFrame({"k": [at_k.k for at_k in scores.metrics], **means, "n": n})


def _depths(evaluation: Evaluation, ks: Sequence[int] | None) -> list[int]:
    candidates = int(evaluation.run.spec["candidates"])
    given: object = range(1, candidates + 1) if ks is None else ks
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []
    for k in found or [ks]:
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= int(k) <= candidates:
            raise ConfigurationError(
                f"ks: found {k!r}; expected depths from 1 to {candidates}, the number of candidates, as "
                f"range(1, {candidates + 1})"
            )
    return sorted({int(k) for k in found})
