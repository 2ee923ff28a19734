"""How one query's value comes about, in its own numbers: `2 relevant hits / 5 (k)`.

What is said is computed here a second time, from counts, and said only where it comes to the value that the profile
gave: a wrong figure in an explanation is worse than none.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.metrics import compute, title
from raglift.records import Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.diagnosis.conventions.counts import Counts

__all__ = ["numbers_of"]

_EXACT = 1e-8
_MOST_TERMS = 6
_NOTHING = "no relevant hit"

Told = tuple[str, float]
"""What is said, and what it comes to."""
Term = tuple[float, int]
"""A part of a sum, as a fraction."""


def numbers_of(counts: Counts, value: float) -> str:
    """Return how a value comes about under a profile; nothing where few words cannot say it.

    Args:
        counts: the query, judged as the profile judges, at the depth of the metric.
        value: what the profile computed.
    """
    name = counts.metric.name
    ways = (_WAYS.get((counts.profile, name)), _WAYS.get(("default", name)))
    for way in filter(None, ways):
        said, comes_to = way(counts)
        if said and math.isclose(comes_to, value, rel_tol=_EXACT, abs_tol=_EXACT):
            return said
    return ""


def _share(part: int, what: str, whole: int, of_what: str) -> Told:
    return f"{_counted(part, what)} / {_counted(whole, of_what)}", part / whole if whole else 0.0


def _counted(count: int, noun: str) -> str:
    """Return a number with its noun, of which | marks the end: `2 hits that came back`."""
    first, _, rest = noun.partition("|")
    return f"{count:,} {first}{'' if count == 1 else 's'}{rest}"


def _precision(counts: Counts) -> Told:
    return _precision_at_k(len(counts.relevant_ranks()), "relevant hit", counts)


def _precision_of_documents(counts: Counts) -> Told:
    return _precision_at_k(len(counts.ranks_of_first_matches()), "relevant document", counts)


def _precision_at_k(relevant: int, noun: str, counts: Counts) -> Told:
    k = counts.metric.k
    return (f"{_counted(relevant, noun)} / {k:,} (k)", relevant / k) if k else ("", 0.0)


def _precision_of_ids(counts: Counts) -> Told:
    relevant = len(counts.relevant_ranks(distinct=True))
    return _share(relevant, "relevant id", counts.distinct_returned, "distinct id| that came back")


def _precision_of_hits(counts: Counts) -> Told:
    relevant = len(counts.relevant_ranks(distinct=True))
    return _share(relevant, "relevant id", counts.returned, "hit| that came back")


def _recall(counts: Counts) -> Told:
    return _share(len(counts.ranks_of_facts), "fact| found", counts.facts, "fact")


def _recall_of_passages(counts: Counts) -> Told:
    found = {(fact, passage) for fact, passage, _ in counts.matches}
    return _share(len(found), "passage| found", counts.passages, "passage")


def _recall_of_labels(counts: Counts) -> Told:
    return _share(counts.labels_found, "label| found", counts.labels, "label")


def _reciprocal_rank(counts: Counts) -> Told:
    rank = min(counts.ranks_of_facts, default=0)
    return (f"1/{rank}, the first fact being found at rank {rank}", 1 / rank) if rank else (_NOTHING, 0.0)


def _reciprocal_rank_of_groups(counts: Counts) -> Told:
    return _mean_of_groups([(1, rank) for rank in counts.ranks_of_facts], counts)


def _average_precision(counts: Counts) -> Told:
    place = {rank: number for number, rank in enumerate(sorted(set(counts.ranks_of_facts)), start=1)}
    return _divided([(place[rank], rank) for rank in counts.ranks_of_facts], counts.facts, "fact")


def _average_precision_of_documents(counts: Counts) -> Told:
    return _divided(_at_hits(counts.ranks_of_first_matches()), counts.labels, "label")


def _average_precision_of_hits(counts: Counts) -> Told:
    return _divided(_at_hits(counts.relevant_ranks()), counts.labels, "label")


def _average_precision_of_found(counts: Counts) -> Told:
    terms = _at_hits(counts.relevant_ranks())
    return _divided(terms, len(terms), "relevant hit| that came back") if terms else (_NOTHING, 0.0)


def _average_precision_of_groups(counts: Counts) -> Told:
    values: list[Term] = []
    for _, of_fact in groupby(counts.matches, key=lambda match: match[0]):
        terms = _at_hits(sorted({rank for _, _, rank in of_fact}))
        values.append(terms[0] if len(terms) == 1 else (_total(terms), len(terms)))
    return _mean_of_groups(values, counts)


def _ndcg(counts: Counts) -> Told:
    gained, ideal = (_beside(counts, name) for name in ("dcg", "idcg"))
    return f"DCG {gained:.4f} / IDCG {ideal:.4f}", gained / ideal if ideal else 0.0


def _f1(counts: Counts) -> Told:
    precision, recall = (_beside(counts, name) for name in ("precision", "recall"))
    names = [title(replace(counts.metric, name=name, parameters=())) for name in ("precision", "recall")]
    mean = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return f"the harmonic mean of {names[0]} {precision:.4f} and {names[1]} {recall:.4f}", mean


def _beside(counts: Counts, name: str) -> float:
    """Return another measure of the same query, at the same depth."""
    parameters = counts.metric.parameters if name in ("dcg", "idcg") else ()
    try:
        return float(
            compute(counts.judged, Metric(name, counts.metric.depth, parameters), counts.profile)[counts.query]
        )
    except ConfigurationError:  # one that divides by k, where there is none
        return math.nan


def _at_hits(ranks: list[int]) -> list[Term]:
    """Return the precision at each of some relevant hits."""
    return list(enumerate(ranks, start=1))


def _divided(terms: Sequence[Term], whole: int, noun: str) -> Told:
    return f"{_sum(terms)} / {_counted(whole, noun)}", _total(terms) / whole if whole else 0.0


def _mean_of_groups(found: list[Term], counts: Counts) -> Told:
    return _divided([*found, *[(0, 1)] * (counts.facts - len(found))], counts.facts, "group")


def _total(terms: Sequence[Term]) -> float:
    return sum(part / whole for part, whole in terms)


def _sum(terms: Sequence[Term]) -> str:
    """Return `(1/1 + 2/3 + 0)`; the sum alone where there are many."""
    if not terms:
        return "0"
    if len(terms) > _MOST_TERMS:
        return f"{_total(terms):.4f}"
    return f"({' + '.join(_term(*term) for term in terms)})"


def _term(part: float, whole: int) -> str:
    if not part:
        return "0"
    return f"{part}/{whole}" if isinstance(part, int) else f"{part / whole:.4f}"


_WAYS: dict[tuple[str, str], Callable[[Counts], Told]] = {
    ("default", "precision"): _precision,
    ("default", "recall"): _recall,
    ("default", "f1"): _f1,
    ("default", "rr"): _reciprocal_rank,
    ("default", "ap"): _average_precision,
    ("default", "ndcg"): _ndcg,
    ("tutorial", "recall"): _recall_of_passages,
    ("autorag", "precision"): _precision_of_hits,
    ("autorag", "rr"): _reciprocal_rank_of_groups,
    ("autorag", "ap"): _average_precision_of_groups,
    ("trec", "precision"): _precision_of_documents,
    ("trec", "recall"): _recall_of_labels,
    ("trec", "ap"): _average_precision_of_documents,
    ("llamaindex", "precision"): _precision_of_ids,
    ("llamaindex", "recall"): _recall_of_labels,
    ("llamaindex", "ap"): _average_precision_of_hits,
    ("ragas", "precision"): _precision_of_ids,
    ("ragas", "recall"): _recall_of_labels,
    ("ragas", "ap"): _average_precision_of_found,
}
"""What to say of a profile's measure; for one that has no entry the default's is tried."""
