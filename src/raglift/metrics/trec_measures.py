"""Further measures of trec_eval: of sets, of the recall-precision curve, and of normalized gain.

To all of them every label is a document, alternatives too, and the first hit that matches it retrieves it, as under
`profile="trec"`: R is the number of labels of the query, and a hit found when it is the first to match one. At a depth
each is that of the first k hits, as with trec_eval's `-M k`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.custom import metric
from raglift.metrics.measure import Choice, Number, count_by_query, per_query, sum_by
from raglift.metrics.profiles.hits import RelevantHits, first_matches, labels, labels_found, recall_of_labels, returned
from raglift.metrics.profiles.trec import average_precision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric

    Values = NDArray[np.float64]


RECALL = Number("recall", 0, 1, default=0.0)
"""From which recall on the best precision is looked for."""
ROUNDING = Choice("rounding", ("up", "nearest"))
"""How recall · R becomes a number of documents: trec_eval 9 adds 0.9 and cuts, trec_eval 10 rounds."""
MULTIPLE = Number("multiple", 0, 100, default=1.0, is_open=True)
"""At which multiple of R the precision is taken."""
WEIGHT = Number("x", 0, 1000, default=1.0)
"""How much more recall counts than precision."""
FOUND = Number("found", -1000, 1000, default=1.0)
"""What a relevant hit is worth."""
OTHER = Number("other", -1000, 1000, default=-1.0)
"""What any other hit is worth."""
_RECALLS = tuple(tenth / 10 for tenth in range(11))
_EXPERIMENTAL = "trec_eval, Buckley 2008, experimental"


def _relevant(match_table: MatchTable) -> Values:
    """Return how many labels each query has."""
    return count_by_query(labels(match_table)[0], match_table)


def _found(match_table: MatchTable, metric: Metric) -> Values:
    """Return how many hits are the first to match a label."""
    return count_by_query(first_matches(match_table, metric).query, match_table)


@metric(
    "set_precision",
    title="SetPrecision",
    formula="relevant hits / hits that came back",
    source="trec_eval's set_P",
    aliases=("setprecision", "set_p"),
    vectorized=True,
)
def SetPrecision(match_table: MatchTable, metric: Metric) -> Values:
    """SetPrecision@k = relevant hits among the first k / hits among the first k. Range [0, 1].

    Other than Precision@k, a short ranking is not less precise.
    """
    return per_query(_found(match_table, metric), returned(match_table, metric))


@metric(
    "set_relative_precision",
    title="SetRelativePrecision",
    formula="relevant hits / the most that there could be among so many hits",
    source="trec_eval's set_relative_P",
    aliases=("setrelativeprecision", "set_relative_p"),
    vectorized=True,
)
def SetRelativePrecision(match_table: MatchTable, metric: Metric) -> Values:
    """SetRelativePrecision@k = relevant hits among the first k / min(hits among the first k, R). Range [0, 1]."""
    return per_query(_found(match_table, metric), np.minimum(returned(match_table, metric), _relevant(match_table)))


@metric(
    "relative_precision",
    title="RelativePrecision",
    formula="relevant hits among the first k / min(k, R)",
    source="trec_eval's relative_P",
    aliases=("relativeprecision", "relative_p"),
    needs_k=True,
    vectorized=True,
)
def RelativePrecision(match_table: MatchTable, metric: Metric) -> Values:
    """RelativePrecision@k = relevant hits among the first k / min(k, R): of the precision that is possible. [0, 1]."""
    assert metric.k is not None, "checked by compute()"  # noqa: S101
    return per_query(_found(match_table, metric), np.minimum(_relevant(match_table), metric.k))


@metric(
    "set_ap",
    title="SetAP",
    formula="SetPrecision · recall",
    source="trec_eval's set_map",
    aliases=("setap", "set_map"),
    vectorized=True,
)
def SetAP(match_table: MatchTable, metric: Metric) -> Values:
    """SetAP@k = SetPrecision@k · labels that the first k hits match / R. Range [0, 1]. The order does not matter."""
    both = _found(match_table, metric) * labels_found(match_table, metric)
    return per_query(both, returned(match_table, metric) * _relevant(match_table))


@metric(
    "set_f",
    title="SetF",
    formula="(x + 1) P R / (x P + R), with P the SetPrecision and R the recall",
    source="van Rijsbergen 1979, trec_eval's set_F",
    settings=(WEIGHT,),
    aliases=("setf",),
    vectorized=True,
)
def SetF(match_table: MatchTable, metric: Metric) -> Values:
    """SetF(x)@k = (x + 1) P R / (x P + R) of SetPrecision@k and the share of labels that come back. Range [0, 1].

    x says how much more recall counts than precision; unless given it is 1, and SetF the harmonic mean.
    """
    x = WEIGHT.of(metric) or 0.0
    precision = per_query(_found(match_table, metric), returned(match_table, metric))
    recall = recall_of_labels(match_table, metric)
    return per_query((x + 1) * precision * recall, x * precision + recall)


@metric(
    "utility",
    title="Utility",
    formula="found · relevant hits + other · other hits",
    source="trec_eval's utility",
    settings=(FOUND, OTHER),
    is_bounded=False,
    vectorized=True,
)
def Utility(match_table: MatchTable, metric: Metric) -> Values:
    """Utility@k = found · (relevant hits) + other · (other hits) among the first k; found is 1 and other −1.

    trec_eval's further two weights, of documents that did not come back, are 0 there unless given, and not here.
    """
    found = _found(match_table, metric)
    others = returned(match_table, metric) - found
    return (FOUND.of(metric) or 0.0) * found + (OTHER.of(metric) or 0.0) * others


@metric(
    "gm_map",
    title="GMAP",
    formula="average precision; its mean over queries is geometric",
    source="Robertson 2006, trec_eval's gm_map",
    aliases=("gmap",),
    mean="geometric",
    vectorized=True,
)
def GMAP(match_table: MatchTable, metric: Metric) -> Values:
    """GMAP@k = (1/R) Σ over relevant hits of the precision there; the mean over queries is geometric. Range [0, 1].

    One bad query lowers it more than a good one raises it. Values below 0.00001 count as that.
    """
    return average_precision(match_table, metric)


@metric(
    "yaap",
    title="YAAP",
    formula="log((1 + S) / (1 + R − S)), with S the sum of the precisions at relevant hits",
    source="Robertson 2012, trec_eval's yaap",
    is_earned=False,
    is_bounded=False,
    vectorized=True,
)
def YAAP(match_table: MatchTable, metric: Metric) -> Values:
    """YAAP@k = log((1 + S) / (1 + R − S)), with S the sum over relevant hits of the precision there. Unbounded.

    It orders the rankings of one query as average precision does, and spreads what is near 0 or 1. A ranking without
    hits has log(1 / (1 + R)), and not 0.
    """
    hits = first_matches(match_table, metric)
    total = sum_by(hits.query, hits.found_so_far / hits.rank, match_table.queries)
    return np.asarray(np.log((1 + total) / (1 + _relevant(match_table) - total)), dtype=np.float64)


@metric(
    "r_precision_mult",
    title="RPrecisionMult",
    formula="relevant hits among the first multiple · R / as many",
    source="trec_eval's Rprec_mult",
    settings=(MULTIPLE,),
    aliases=("rprecisionmult",),
    takes_k=False,
    vectorized=True,
)
def RPrecisionMult(match_table: MatchTable, metric: Metric) -> Values:
    """RPrecisionMult(multiple) = relevant hits among the first multiple · R, rounded up / as many. Range [0, 1].

    Rounded as trec_eval does, which adds 0.9 and cuts. The multiple is 1 unless given.
    """
    last = ((MULTIPLE.of(metric) or 0.0) * _relevant(match_table) + 0.9).astype(np.int64)
    hits = first_matches(match_table, metric)
    return per_query(count_by_query(hits.query[hits.rank <= last[hits.query]], match_table), last.astype(np.float64))


@metric(
    "iprec",
    title="IPrec",
    formula="highest precision at any rank from which on a share of the labels has come back",
    source="trec_eval's iprec_at_recall",
    settings=(RECALL, ROUNDING),
    vectorized=True,
)
def IPrec(match_table: MatchTable, metric: Metric) -> Values:
    """IPrec(recall)@k = the highest precision at any rank ≤ k by which recall · R labels have come back. Range [0, 1].

    0 where fewer come back. With rounding=up, the default, recall · R is rounded as in trec_eval 9, which adds 0.9 and
    cuts; with rounding=nearest as in trec_eval 10.
    """
    return _interpolated(match_table, first_matches(match_table, metric), RECALL.of(metric) or 0.0, metric)


@metric(
    "eleven_point_avg",
    title="ElevenPointAvg",
    formula="mean of IPrec at recall 0, 0.1, …, 1",
    source="trec_eval's 11pt_avg",
    settings=(ROUNDING,),
    aliases=("elevenpointavg", "11pt_avg"),
    vectorized=True,
)
def ElevenPointAvg(match_table: MatchTable, metric: Metric) -> Values:
    """ElevenPointAvg@k = the mean of IPrec(recall)@k over recall 0, 0.1, …, 1. Range [0, 1]."""
    hits, total = first_matches(match_table, metric), np.zeros(match_table.queries)
    for recall in reversed(_RECALLS):  # in trec_eval's order, for the same last bits
        total += _interpolated(match_table, hits, recall, metric)
    return total / len(_RECALLS)


def _interpolated(match_table: MatchTable, hits: RelevantHits, recall: float, metric: Metric) -> Values:
    share = recall * _relevant(match_table)
    rounded = np.floor(share + 0.5) if ROUNDING.of(metric) == "nearest" else np.floor(share + 0.9)
    far = hits.found_so_far >= rounded[hits.query]
    values = np.zeros(match_table.queries)
    np.maximum.at(values, hits.query[far], hits.found_so_far[far] / hits.rank[far])
    return values


@metric(
    "bin_g",
    title="BinG",
    formula="(1/R) Σ over relevant hits of 1 / log2(2 + other hits before it)",
    source=_EXPERIMENTAL,
    aliases=("bing",),
    vectorized=True,
)
def BinG(match_table: MatchTable, metric: Metric) -> Values:
    """BinG@k = (1/R) Σ over relevant hits of 1 / log2(2 + hits before it that are not relevant). Range [0, 1]."""
    hits = first_matches(match_table, metric)
    terms = 1 / np.log2(2 + hits.rank - hits.found_so_far)
    return per_query(sum_by(hits.query, terms, match_table.queries), _relevant(match_table))


@metric(
    "g",
    title="G",
    formula="Σ over hits of gain / log2(2 + gain of the ideal ranking so far − gain so far), / gain of all labels",
    source=_EXPERIMENTAL,
    vectorized=True,
)
def G(match_table: MatchTable, metric: Metric) -> Values:
    """G@k = Σ over relevant hits of grade / log2(2 + ideal − gained), / the grades of all labels. Range [0, 1].

    gained is the sum of the grades of the hits up to and with this one; ideal that of as many hits in the best order,
    in which a hit after the last label counts 1.
    """
    values = np.zeros(match_table.queries)
    for query, hits, ideal in _gains(match_table, metric):
        best = np.cumsum(ideal)
        at_rank = best[np.minimum(hits.rank, len(ideal)) - 1] + np.maximum(hits.rank - len(ideal), 0)
        values[query] = np.cumsum(hits.grade / np.log2(2 + at_rank - np.cumsum(hits.grade)))[-1] / best[-1]
    return values


@metric(
    "ndcg_rel",
    title="NDCGRel",
    formula="mean over labels of the NDCG at the rank where it comes back; at the end for one that does not",
    source=_EXPERIMENTAL,
    aliases=("ndcgrel",),
    vectorized=True,
)
def NDCGRel(match_table: MatchTable, metric: Metric) -> Values:
    """NDCGRel@k = the mean over the labels of the NDCG at the rank of its hit. Range [0, 1].

    One that does not come back among the first k has the DCG of these, / the ideal DCG of all labels. Gain is linear.
    """
    values = np.zeros(match_table.queries)
    for query, hits, ideal in _gains(match_table, metric):
        gained, best = _cumulated(hits.grade, hits.rank), _cumulated(ideal, np.arange(1, len(ideal) + 1))
        total = np.cumsum(gained / best[np.minimum(hits.rank, len(ideal)) - 1])[-1]
        total += (len(ideal) - len(gained)) * gained[-1] / best[-1]
        values[query] = total / len(ideal)
    return values


@metric(
    "rndcg",
    title="RNDCG",
    formula="mean of the NDCG at the ranks where the grade of the ideal ranking falls, and at the end",
    source=_EXPERIMENTAL,
    vectorized=True,
)
def RNDCG(match_table: MatchTable, metric: Metric) -> Values:
    """RNDCG@k = the mean of the NDCG at each rank where the ideal ranking's grade falls. Range [0, 1].

    Of 5 labels of grade 3 and 10 of grade 1 these are ranks 5 and 15; the end of the first k hits is one more where
    more than R + 1 came back. Gain is linear.
    """
    values = np.zeros(match_table.queries)
    length = returned(match_table, metric)
    for query, hits, ideal in _gains(match_table, metric):
        best = _cumulated(ideal, np.arange(1, len(ideal) + 1))
        gained = np.concatenate(([0.0], _cumulated(hits.grade, hits.rank)))
        ends = np.append(np.flatnonzero(np.diff(ideal)) + 1, len(ideal))
        shares = gained[np.searchsorted(hits.rank, ends, side="right")] / best[ends - 1]
        if length[query] > len(ideal) + 1:
            shares = np.append(shares, gained[-1] / best[-1])
        values[query] = np.cumsum(shares)[-1] / len(shares)
    return values


def _gains(match_table: MatchTable, metric: Metric) -> Iterator[tuple[int, RelevantHits, NDArray[np.int64]]]:
    """Yield each query of which a label came back, with its relevant hits and the grades of its labels, best first."""
    hits = first_matches(match_table, metric)
    owner, grades = labels(match_table)
    queries = np.arange(match_table.queries + 1)
    first, ideal = np.searchsorted(hits.query, queries).tolist(), np.searchsorted(owner, queries).tolist()
    for query in np.unique(hits.query).tolist():
        of_run, theirs = slice(first[query], first[query + 1]), slice(ideal[query], ideal[query + 1])
        yield query, RelevantHits(hits.query[of_run], hits.rank[of_run], hits.grade[of_run]), grades[theirs]


def _cumulated(grade: NDArray[np.int64], rank: NDArray[np.int64]) -> Values:
    return np.asarray(np.cumsum(grade / np.log2(rank + 1)), dtype=np.float64)
