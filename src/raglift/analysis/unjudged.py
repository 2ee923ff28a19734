"""Hits that nobody judged: what share of the first ones they are, and what they can do to the figures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raglift.analysis.shared_queries import named
from raglift.analysis.unjudged_hits import RankShares, Side, judged_counts, of_hits, supposed, supposed_by_share
from raglift.metrics.computing import mean_of, mean_title
from raglift.metrics.registry import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord
    from raglift.records.metric import Metric


LITTLE = 0.05
"""Up to this share of unjudged hits nothing is said of them."""


@dataclass(frozen=True)
class Unjudged:
    """What hits that nobody judged can do to a metric, of one system or of several."""

    metric: Metric
    """The metric that decides; the hits are those down to its depth, or that fit into its budget."""
    shares: Mapping[str, float]
    """For each system, which share of these hits of the labelled queries nobody judged."""
    counted: Mapping[str, float]
    """For each system, the mean where every such hit is irrelevant, as they count."""
    relevant: int = 0
    """How many of the distinct judged hits are relevant."""
    judged: int = 0
    """How many distinct hits were judged, relevant or not."""
    supposed: Mapping[str, float] | None = None
    """For each system, the mean if as many of the unjudged hits were relevant as of the judged; None where no hit was
    judged irrelevant, so that nothing is known of how many these may be."""
    turned: Mapping[str, str] = field(default_factory=dict)
    """For each system of a comparison whose verdict would be another one then: which."""
    holes: Mapping[str, Holes] = field(default_factory=dict)
    """For each system of a comparison with a verdict that its unjudged hits, or the baseline's, could turn: how."""


@dataclass(frozen=True)
class Holes:
    """How a verdict could turn if the unjudged hits of the system that trails were as relevant as the judged."""

    leading: str
    trailing: str
    leading_mean: float
    """The mean of the leading system then; its own further unjudged hits are irrelevant."""
    trailing_mean: float
    """That of the other: higher."""
    pairs: int
    """How many of its hits nobody judged and the leading system does not return: to judge to rule this out."""


def unjudged_of(
    systems: Mapping[str, EvaluationRecord],
    metric: Metric,
    places: Mapping[str, NDArray[np.intp]] | None = None,
    *,
    same_chunks: bool = True,
) -> tuple[Unjudged, NDArray[np.float64] | None] | None:
    """Return what unjudged hits can do to a metric, and the values of each system and query then; None if nothing.

    Nothing is to be said where people only named what is relevant, and where at most 5 % of the hits were not judged.

    A share of the distinct unjudged hits is drawn at random: that share of the distinct judged ones which is relevant.
    Each is taken as a fact of its own, of the grade that relevant hits have on average, and the metric computed anew;
    recall and ideal rankings grow with the facts. Values are the means of 20 draws, always the same ones.

    Args:
        systems: by name.
        metric: the metric that decides.
        places: for each system, the queries that it is compared on, in one order; None for all.
        same_chunks: whether a hit of one system that is drawn is a fact for the others too, found or not.
    """
    if not any(evaluation.dataset.shows_judged for evaluation in systems.values()):
        return None
    measure = MEASURES[metric.name]
    repeated = any(trace.repetitions for one in systems.values() for trace in one.run.traces)
    # Of all runs, of what became of the hits, or of what is read before a fact, which a supposed label does not say
    if repeated or measure.needs_budget or (measure.is_by_call and not measure.takes_k):
        return None
    sides = {name: Side.of(one, metric, None if places is None else places[name]) for name, one in systems.items()}
    shares = {name: len(side.unjudged[0]) / side.hits if side.hits else 0.0 for name, side in sides.items()}
    if max(shares.values()) <= LITTLE:
        return None
    counted = {
        name: mean_of(metric, side.evaluation.scores.of(side.evaluation.after, metric)[side.places])
        for name, side in sides.items()
    }
    relevant, judged, grade = judged_counts(sides, of_hits(metric).k)
    found = Unjudged(metric, shares, counted, relevant, judged)
    if relevant == judged:
        return found, None
    values = supposed_by_share(sides, metric, relevant / judged, grade, same_chunks=same_chunks)
    supposed = {name: mean_of(metric, row) for name, row in zip(sides, values, strict=True)}
    return replace(found, supposed=supposed), values


def holes_between(
    systems: Mapping[str, EvaluationRecord],
    metric: Metric,
    places: Mapping[str, NDArray[np.intp]],
    *,
    same_chunks: bool,
) -> Holes | None:
    """Return whether unjudged hits of the second of two systems could put it before the first; None if not.

    That is so if its mean is higher once each of its unjudged hits is relevant as often as the judged hits at its rank
    are, in both systems together, and the first system's other unjudged hits are irrelevant. A hit of both counts for
    both. Nothing is to be said where no hit was judged irrelevant.

    Args:
        systems: the one that leads, then the one that trails, by name.
        metric: the metric that decides.
        places: for each system, the queries that it is compared on, in one order.
        same_chunks: whether a hit of one system is a fact for the other too, found or not.
    """
    sides = {name: Side.of(one, metric, places[name]) for name, one in systems.items()}
    shares = RankShares.of(sides.values())
    leading, trailing = sides
    ranks = sides[trailing].first_ranks()
    if not shares.says_something or not ranks:
        return None
    _, _, grade = judged_counts(sides, of_hits(metric).k)
    drawn = shares.draws(list(ranks.values()))
    values = supposed(sides, metric, list(ranks), drawn, grade, same_chunks=same_chunks)
    means = [mean_of(metric, row) for row in values]
    if means[1] <= means[0]:
        return None
    known = sides[leading].first_ranks().keys() if same_chunks else set()
    return Holes(leading, trailing, means[0], means[1], sum(key not in known for key in ranks))


# In words.


def is_unjudged_note(note: str) -> bool:
    """Return whether a note says what share of the first hits has no label, in the words of this version or 0.1.0's."""
    return _NO_LABEL in note or note.startswith("nobody judged")


def unjudged_note(found: Unjudged) -> str:
    """Return what share of the first hits of one system nobody judged, and between what its metric lies for that."""
    (share,), (counted,) = found.shares.values(), found.counted.values()
    first = f"{share:.1%} of the {_which(found.metric)} {_NO_LABEL}"
    if found.supposed is None:
        return f"{first}; {_NOT_KNOWN}"
    (supposed,) = found.supposed.values()
    return f"{first}; {_if(found)}, {mean_title(found.metric)} would {_change(counted, supposed)}"


_NO_LABEL = "have no label and count as irrelevant"
_NOT_KNOWN = "no hit was judged irrelevant, so it is unknown how many of them are relevant"


def _change(counted: float, supposed: float) -> str:
    before, after = f"{counted:.3f}", f"{supposed:.3f}"
    return f"stay {before}" if before == after else f"be {after} instead of {before}"


def _if(found: Unjudged) -> str:
    return f"if the same share of them were relevant as of the labelled ones ({found.relevant:,} of {found.judged:,})"


def unjudged_text(found: Unjudged, shown: Sequence[str]) -> str:
    """Return what share of the first hits of systems nobody judged, and what that can do to the verdict.

    Args:
        found: of the systems.
        shown: those whose figures are told.
    """
    title = mean_title(found.metric)
    shares = _listed([f"{found.shares[name]:.1%} in {name}" for name in shown])
    first = f"of the {_which(found.metric)}, {shares} {_NO_LABEL}"
    if found.supposed is None:
        return f"{first}; {_NOT_KNOWN}"
    figures = _listed([f"{_change(found.counted[name], found.supposed[name])} in {name}" for name in shown])
    turned = [f"{name} would be {verdict}" for name, verdict in found.turned.items()]
    verdict = f"the verdict could change: {named(turned)}" if turned else "the verdict would stay the same"
    return f"{first}; {_if(found)}, {title} would {figures}, and {verdict}{_turning(found)}"


def _turning(found: Unjudged) -> str:
    """Return how the verdict that is easiest to turn could be, and how many pairs to judge; empty if none could be."""
    if not found.holes:
        return ""
    one = max(found.holes.values(), key=lambda hole: hole.trailing_mean - hole.leading_mean)
    pairs = f"{one.pairs:,} hit{'s' * (one.pairs != 1)}"
    return (
        f". If those of {one.trailing} alone were as relevant as the labelled hits at their rank, it would lead with "
        f"{one.trailing_mean:.3f} against {one.leading_mean:.3f}: to decide it, label the {pairs} that {one.leading} "
        "does not return"
    )


def unjudged_in_short(found: Unjudged) -> str:
    """Return what share of the first hits of several systems nobody judged, and whether that can turn a verdict."""
    least, most = (f"{share:.0%}" for share in (min(found.shares.values()), max(found.shares.values())))
    share = least if least == most else f"{least} to {most}"
    first = f"{share} of the {_which(found.metric)} {_NO_LABEL}"
    return f"{first}; labelling them could change which system is better" if found.turned else first


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _which(metric: Metric) -> str:
    if metric.budget is not None:
        return f"hits within {metric.budget.most:,} tokens"
    k = of_hits(metric).k
    if metric.calls is not None:
        return f"hits of the first {metric.calls.most} calls"
    return "hits" if k is None else f"top-{k} hits"
