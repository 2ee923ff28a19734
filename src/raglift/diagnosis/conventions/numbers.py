"""How one query's value comes about, in its own numbers: `2 relevant hits / 5 (k)`.

What is said is computed here a second time, from counts, and said only where it comes to the value that the profile
gave: a wrong figure in an explanation is worse than none.
"""

from __future__ import annotations

import math
from dataclasses import replace
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
    first, _, rest = noun.partition("|")
    return f"{count:,} {first}{'' if count == 1 else 's'}{rest}"


def _precision(counts: Counts) -> Told:
    k = counts.metric.k
    if not k:
        return "", 0.0
    relevant = len(counts.relevant_ranks)
    return f"{_counted(relevant, 'relevant hit')} / {k:,} (k)", relevant / k


def _precision_of_ids(counts: Counts) -> Told:
    return _share(len(counts.relevant_ids), "relevant id", len(set(counts.ids)), "distinct id| that came back")


def _precision_of_hits(counts: Counts) -> Told:
    return _share(len(counts.relevant_ids), "relevant id", len(counts.ids), "hit| that came back")


def _recall(counts: Counts) -> Told:
    return _share(len(counts.first_ranks), "fact| found", len(counts.fact_rows), "fact")


def _recall_of_passages(counts: Counts) -> Told:
    found = sum(map(len, counts.matched.values()))
    return _share(found, "passage| found", counts.passages, "passage")


def _reciprocal_rank(counts: Counts) -> Told:
    rank = min(counts.first_ranks.values(), default=0)
    return (f"1/{rank}, of the first relevant rank", 1 / rank) if rank else ("no relevant hit", 0.0)


def _reciprocal_rank_of_groups(counts: Counts) -> Told:
    return _mean_of_groups([(1, rank) for rank in counts.first_ranks.values()], counts)


def _average_precision(counts: Counts) -> Told:
    terms, facts = _terms(counts), len(counts.fact_rows)
    return f"{_sum(terms)} / {_counted(facts, 'fact')}", _total(terms) / facts if facts else 0.0


def _average_precision_of_found(counts: Counts) -> Told:
    terms = _terms(counts)
    found = _counted(len(terms), "relevant hit| that came back")
    return (f"{_sum(terms)} / {found}", _total(terms) / len(terms)) if terms else ("no relevant hit", 0.0)


def _average_precision_of_groups(counts: Counts) -> Told:
    values: list[Term] = []
    for passages in counts.matched.values():
        ranks = sorted({rank for of_passage in passages.values() for rank in of_passage})
        at_hits: list[Term] = list(enumerate(ranks, start=1))
        values.append(at_hits[0] if len(at_hits) == 1 else (_total(at_hits), len(at_hits)))
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


def _terms(counts: Counts) -> list[Term]:
    """Return N(r)/r of each fact that was found."""
    ranks = sorted(set(counts.first_ranks.values()))
    place = {rank: number for number, rank in enumerate(ranks, start=1)}
    return [(place[rank], rank) for rank in sorted(counts.first_ranks.values())]


def _mean_of_groups(found: list[Term], counts: Counts) -> Told:
    groups = len(counts.fact_rows)
    terms = [*found, *[(0, 1)] * (groups - len(found))]
    return f"{_sum(terms)} / {_counted(groups, 'group')}", _total(terms) / groups if groups else 0.0


def _total(terms: Sequence[Term]) -> float:
    return sum(part / whole for part, whole in terms)


def _sum(terms: Sequence[Term]) -> str:
    """Return `(1/1 + 2/3 + 0)`; the sum alone where there are many, and a single term without brackets."""
    if not terms:
        return "0"
    if len(terms) > _MOST_TERMS:
        return f"{_total(terms):.4f}"
    shown = [_term(*term) for term in terms]
    return shown[0] if len(shown) == 1 else f"({' + '.join(shown)})"


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
}
"""What to say of a profile's measure; for one that has no entry the default's is tried."""
