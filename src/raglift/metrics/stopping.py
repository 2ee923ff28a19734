"""Metrics of a reader who goes down the ranking and may stop at any hit: ERR, RBP and what RBP leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.metrics.custom import metric
from raglift.metrics.satisfied import count_by_query, depth, relevant_hits, sum_by, unjudged_hits
from raglift.metrics.settings import Choice, Number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching import FactTable, Judgements, PassageTable
    from raglift.records import Metric

__all__ = ["ERR", "RBP", "RBPResidual"]

HIGHEST_GRADE = Number("gmax", 1, 1000, is_whole=True)
"""The top of the scale of grades; by default the highest grade of the dataset."""
PERSISTENCE = Number("p", 0, 1, default=0.8, is_open=True)
"""How likely the reader is to look at the next hit."""
UTILITY = Choice("gain", ("binary", "graded"))
"""What a relevant hit is worth: 1, or its grade / the highest grade of the query's labels."""
_OF_TREC = Number("p", 0, 1, default=0.9, is_open=True)
"""As `PERSISTENCE`, with trec_eval's default."""


def require_grades(metric: Metric, facts: FactTable, _: PassageTable) -> None:
    """Check that no label has a higher grade than the scale has.

    Raises:
        ConfigurationError: one has.
    """
    given, highest = HIGHEST_GRADE.of(metric), int(facts.ideal_grade.max(initial=0))
    if given is not None and highest > given:
        raise ConfigurationError(
            f"{metric}: found a label of the grade {highest}; expected none above gmax, which is {given:g}: choose "
            f"gmax={highest} or more"
        )


@metric(
    "err",
    title="ERR",
    formula="Σ 1/rank · P · Π over hits before of (1 − P), with P = (2^grade − 1) / 2^gmax",
    source="Chapelle et al. 2009",
    settings=(HIGHEST_GRADE,),
    check=require_grades,
    vectorized=True,
)
def ERR(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """ERR@k = Σ over ranks i ≤ k of 1/i · P_i · Π over j < i of (1 − P_j), with P = (2^g − 1) / 2^gmax. Range [0, 1).

    The expected 1/rank at which a reader stops who goes down the ranking and stops at a hit with probability P, after
    Chapelle et al. 2009. g is the highest grade that the hit matches, 0 where it matches nothing.

    gmax is the highest grade of all labelled queries of the dataset, so a query's value does not depend on which other
    queries it is shown with: slices by tag, held-out halves and token budgets are of the same scale. Another dataset
    has another scale, and so has a part of one that is evaluated alone (`Dataset.only`, `Dataset.sample`): name it to
    compare them, as `err(gmax=3)@10`. gdeval's is 4.
    """
    query, rank, grade = relevant_hits(judgements, metric.k)
    given = HIGHEST_GRADE.of(metric)
    top = judgements.highest_grade if given is None else given
    stops = np.exp2(grade - top) - np.exp2(-float(top))  # (2^g − 1) / 2^gmax, where 2^g may be no float
    values, reaches = np.zeros(judgements.queries), np.ones(judgements.queries)
    for rows in _one_after_the_other(query):
        of = query[rows]
        values[of] += reaches[of] * stops[rows] / rank[rows]
        reaches[of] *= 1 - stops[rows]
    return values


@metric(
    "rbp",
    title="RBP",
    formula="(1 − p) Σ over relevant hits of p^(rank − 1)",
    source="Moffat and Zobel 2008",
    settings=(PERSISTENCE, UTILITY),
    vectorized=True,
)
def RBP(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """RBP(p)@k = (1 − p) Σ over relevant hits at ranks i ≤ k of p^(i − 1). Range [0, 1).

    The share of relevant hits among those that a reader looks at who goes on to the next hit with probability p, after
    Moffat and Zobel 2008; p is 0.8 unless given, as `rbp(p=0.95)@10`. A hit is relevant or not: grades do not count,
    unless gain=graded makes a hit worth its grade / the highest grade of the query's labels. trec_eval 10's rbp is
    `rbp(gain=graded,p=0.9)`. The weights of the first k ranks add up to 1 − p^k, which is the most that RBP@k can be.
    """
    persistence = PERSISTENCE.of(metric) or 0.0
    query, rank, grade = relevant_hits(judgements, metric.k)
    weight = np.power(persistence, rank - 1, dtype=np.float64)
    if UTILITY.of(metric) == "graded":
        highest = np.ones(judgements.queries)
        np.maximum.at(highest, judgements.facts.query, judgements.facts.ideal_grade)
        weight *= grade / highest[query]
    return (1 - persistence) * sum_by(query, weight, judgements.queries)


@metric(
    "rbp_residual",
    title="RBPResidual",
    formula="p^n + (1 − p) Σ over hits that nobody judged of p^(rank − 1), with n the hits; 0 if all were judged",
    source="Moffat and Zobel 2008, trec_eval 10's rbp_resid",
    settings=(_OF_TREC,),
    aliases=("rbpresidual", "rbp_resid"),
    is_earned=False,
    is_neutral=True,
    vectorized=True,
)
def RBPResidual(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """RBPResidual(p)@k = how much higher RBP(p) could be if all that nobody judged were relevant. Range [0, 1].

    It is p^n + (1 − p) Σ of p^(i − 1) over the ranks i ≤ n of hits that nobody judged, n being the hits up to k; 0
    where all of them were judged, or none came back. p is 0.9 unless given: RBP has another default. It is no quality,
    but says how far to trust RBP.
    """
    persistence = _OF_TREC.of(metric) or 0.0
    query, rank = unjudged_hits(judgements, metric.k)
    sums = (1 - persistence) * sum_by(query, np.power(persistence, rank - 1, dtype=np.float64), judgements.queries)
    hits = np.minimum(judgements.hits, depth(metric.k))
    return np.where(count_by_query(query, judgements) > 0, np.power(persistence, hits, dtype=np.float64) + sums, 0.0)


def _one_after_the_other(query: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows that are first of their query, then those that are second, and so on; `query` is ascending."""
    place = np.arange(len(query)) - np.searchsorted(query, query)
    order = np.argsort(place, kind="stable")
    return np.split(order, np.cumsum(np.bincount(place))[:-1]) if len(place) else []
