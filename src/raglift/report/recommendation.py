"""The recommendation of one of several systems, in words: one sentence, the systems as good, and what to try next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.analysis.costs import CHARACTERS, CONTEXT, EMBEDDING, INDEX, LATENCY, MODEL_CALLS, ORDER, RERANKERS
from raglift.analysis.truncation import truncation_mark
from raglift.base.display import counted
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Document, Section, table_from
from raglift.report.format import (
    brackets,
    bytes_text,
    confidence_text,
    decimals_of,
    difference_text,
    level,
    p_equation,
    p_text,
    seconds_text,
    signed,
)
from raglift.report.sentences import next_step
from raglift.stats.best_of_many import BEST_METHOD
from raglift.stats.paired_tests import FEW_QUERIES

if TYPE_CHECKING:
    from raglift.analysis.recommendation import Contender, RecommendationRecord
    from raglift.rendering.document import Table


_MOST_WORDS = 12
"""As many words of a name are in the sentence, so that it has at most 30 in all."""
_SHOWN = 8
"""As many of the systems that may be the best are in the table."""


def recommendation_sentence(found: RecommendationRecord) -> str:
    """Return what is recommended and why, in at most 30 words."""
    metric, decimals = mean_title(found.primary), decimals_of(found.primary)
    if found.recommended is None or found.best is None:
        return f"No recommendation: no query counts in {metric} for all systems that can be compared."
    name, mean = _short(found.recommended), f"{found.of(found.recommended).mean:.{decimals}f}"
    if not found.is_decided:
        return (
            f"{name} has the highest {metric} ({mean}), but {counted(found.queries, 'query')} "
            f"{'is' if found.queries == 1 else 'are'} too few to recommend it."
        )
    equals = len(found.equals)
    if found.recommended != found.best:
        best = f"{found.of(found.best).mean:.{decimals}f}"
        return (
            f"Use {name}: {metric} {mean}, the cheapest of {equals - len(found.too_low)} systems not significantly "
            f"worse than the best ({best}) on {counted(found.queries, 'query')}."
        )
    if equals == 1:
        return f"Use {name}: {metric} {mean}, significantly the best of {found.systems}."
    if equals == len(found.too_low) + 1:
        return f"Use {name}: {metric} {mean}, the best of {found.systems}; no cheaper one is within {found.margin:g}."
    return f"Use {name}: {metric} {mean}, the highest of {found.systems}; none as good is cheaper."


def _short(name: str) -> str:
    words = name.split()
    return name if len(words) <= _MOST_WORDS else " ".join(words[:_MOST_WORDS]) + "…"


def recommendation_section(found: RecommendationRecord) -> Section:
    """Return the recommendation with its reasons: the systems as good, their costs, and what to try next."""
    if found.recommended is None:
        return Section("Recommendation", (recommendation_sentence(found),))
    said = [
        recommendation_sentence(found),
        _why(found),
        _set_sentence(found),
        confirmation_sentence(found),
        method_sentence(found) if found.systems > 1 else "",
        next_sentence(found),
    ]
    tables = (equals_table(found),) if len(found.equals) > 1 else ()
    return Section("Recommendation", tuple(filter(None, said)), tables)


def recommendation_view(found: RecommendationRecord) -> Document:
    """Return a recommendation with its reasons."""
    sentence, *reasons = recommendation_section(found).paragraphs
    return Document(
        "Recommendation",
        sentence,
        equals_table(found),
        (),
        notes=tuple(reasons),
        labels=str(found.label_sources),
    )


def _why(found: RecommendationRecord) -> str:
    """Return in what the recommended system is cheaper than the best, and how far its mean is below."""
    if found.recommended is None or found.best is None or found.recommended == found.best:
        return ""
    one, best = found.of(found.recommended), found.of(found.best)
    decimals, percent = decimals_of(found.primary), level(found.method)
    which = f" ({percent} interval)" if brackets(one.difference) else ""
    behind = f"Its difference to the best is {difference_text(one.difference, decimals)}{which}."
    if found.decided_by is None:
        return f"The highest mean is that of {found.best}; no known cost tells the two apart. {behind}"
    cost = found.decided_by
    figures = f"{cost_figure(cost, one.costs[cost])} against {cost_figure(cost, best.costs[cost])}"
    cheaper = f"The recommended one costs less ({cost_name(cost)}: {figures})."
    return f"The highest mean is that of {found.best}. {cheaper} {behind}"


def _set_sentence(found: RecommendationRecord) -> str:
    """Return which systems cannot be told from the best, and which costs decide between them."""
    if len(found.equals) == 1:
        others = "The other is" if found.systems == 2 else f"The other {found.systems - 1} are"
        return f"{others} worse." if found.beaten else ""
    told = f"{len(found.equals)} of {found.systems} are not significantly worse than the best"
    costs = [cost_name(cost) for cost in _shown_costs(found)]
    order = f" Cheaper means by {', then '.join(costs)}; less than 10% apart is the same." if costs else ""
    return f"{told}{_too_low(found)}.{order}"


def method_sentence(found: RecommendationRecord) -> str:
    """Return how the systems that cannot be told from the best were found."""
    level_of = confidence_text(found.method.alpha)
    return f"Method: {BEST_METHOD}; the true best is left out in at most {level_of} of cases."


def _too_low(found: RecommendationRecord) -> str:
    """Say how many of the systems that cannot be told from the best are too low to be recommended for their costs."""
    if not found.is_decided or not found.too_low:
        return ""
    count, left = len(found.too_low), len(found.equals) - len(found.too_low)
    only = f"only {left} {'is' if left == 1 else 'are'} within {found.margin:g} of its mean"
    rest = "the other one is" if count == 1 else f"the other {count} are"
    worse = "it is worse" if count == 1 else "they are worse"
    return f", but {only}; {rest} not recommended, since more queries may show that {worse}"


def next_sentence(found: RecommendationRecord) -> str:
    """Return what to try next, by what became of most of the facts that are not found."""
    tried = " ".join(one.system for one in (*found.equals, *found.beaten))
    return next_step(found.facts, found.losses, found.k, has_reranker=found.has_reranker, tried=tried)


def confirmation_sentence(found: RecommendationRecord) -> str:
    """Return how the recommendation of one half of the queries did on the other; empty if there are too few."""
    held = found.confirmation
    if held is None:
        if found.is_decided:
            return f"Not confirmed on held-out queries: that takes {2 * FEW_QUERIES}, and there are {found.queries}."
        return ""
    decimals = decimals_of(found.primary)
    same = "it" if held.system == found.recommended else f"{held.system} instead"
    what = "the cheapest of all" if held.is_cheapest else "the next best there"
    return (
        f"Held-out check: {len(held.selection):,} queries alone would recommend {same}. On the {len(held.held_out):,} "
        f"others that has {held.mean:.{decimals}f}, and {held.other} ({what}) {held.other_mean:.{decimals}f}: "
        f"{difference_text(held.difference, decimals)}, {p_equation(held.difference.p)}, "
        f"{held.verdict if held.verdict == 'better' else f'{held.verdict}, so it is not confirmed'}."
    )


def equals_table(found: RecommendationRecord) -> Table:
    """Return the systems that cannot be told from the best, with their costs, the cheapest first."""
    rows = _first(found)
    more = len(found.equals) - len(rows)
    caption = "Systems not significantly worse than the best, the cheapest first"
    return table_from(_columns(found), rows, f"{caption}; {more} more are not shown" if more else caption)


def _columns(found: RecommendationRecord) -> list[Column[Contender]]:
    decimals = decimals_of(found.primary)
    return [
        Column("within reach of the best", lambda one: _name(one, found), words=True),
        Column(mean_title(found.primary), lambda one: f"{one.mean:.{decimals}f}", value=lambda one: one.mean),
        Column("difference", lambda one: _behind(one, found, decimals), value=_difference),
        Column("p (corrected)", lambda one: "" if one.system == found.best else p_text(one.p), value=lambda one: one.p),
        *(_cost_column(cost) for cost in _shown_costs(found)),
    ]


def _name(one: Contender, found: RecommendationRecord) -> str:
    arrow = " ←" * (one.system == found.recommended)
    mark = "" if one.truncated_share == 0.0 else f" {truncation_mark(one.truncated_share)}"
    return f"{one.system}{mark}{arrow}"


def _behind(one: Contender, found: RecommendationRecord, decimals: int) -> Cell:
    return Cell("best", "muted") if one.system == found.best else Cell(signed(_difference(one), decimals))


def _difference(one: Contender) -> float:
    return 0.0 if one.difference is None else one.difference.mean


def _cost_column(cost: str) -> Column[Contender]:
    def cell(one: Contender) -> str:
        return cost_figure(cost, one.costs[cost]) if cost in one.costs else "–"

    return Column(cost_name(cost), cell, value=lambda one: one.costs.get(cost), optional=True)


def _first(found: RecommendationRecord) -> list[Contender]:
    """Return the cheapest systems that are near the best, and in any case the recommended and the best."""
    near = [one for one in found.equals if one not in found.too_low]
    chosen = {one.system for one in near[:_SHOWN]} | {found.recommended, found.best}
    return [one for one in found.equals if one.system in chosen]


def _shown_costs(found: RecommendationRecord) -> list[str]:
    """Return the costs in which the systems that may be the best differ, in the order in which they are looked at."""
    every = dict.fromkeys(cost for one in found.equals for cost in one.costs)
    order = [cost for cost in every if cost not in ORDER] + [cost for cost in ORDER if cost in every]
    return [cost for cost in order if len({one.costs.get(cost) for one in found.equals}) > 1]


_NAMES = {
    MODEL_CALLS: "language model calls per query",
    LATENCY: "p50 latency",
    RERANKERS: "rerankers",
    EMBEDDING: "embedding models",
    CONTEXT: "context tokens",
    CHARACTERS: "context characters",
    INDEX: "index size",
}


def cost_name(cost: str) -> str:
    """Return what a cost is called in a sentence; one that the user knows keeps its name."""
    return _NAMES.get(cost, cost)


def cost_figure(cost: str, value: float) -> str:
    """Return a cost with its unit."""
    if cost == LATENCY:
        return seconds_text(value)
    if cost == INDEX:
        return bytes_text(round(value))
    return f"{value:,.0f}" if value >= 100 or value.is_integer() else f"{value:.3g}"
