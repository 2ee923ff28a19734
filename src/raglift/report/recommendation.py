"""The recommendation of one of several systems, in words: one sentence, the systems as good, and what to try next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.analysis.costs import CHARACTERS, CONTEXT, EMBEDDING, INDEX, LATENCY, MODEL_CALLS, ORDER, RERANKERS
from raglift.analysis.truncation import truncation_mark
from raglift.base.display import counted
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Document, Section, table_of
from raglift.report.format import (
    bytes_text,
    decimals_of,
    difference_text,
    labels_line,
    level,
    outcome_text,
    p_text,
    seconds_text,
)
from raglift.report.terminal.rendering import as_text
from raglift.stats.best_of_many import BEST_METHOD
from raglift.stats.paired_tests import FEW_QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.analysis.recommendation import Contender, RecommendationRecord
    from raglift.rendering.document import Part, Table


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
            f"Use {name}: {metric} {mean}, the cheapest of {equals - len(found.too_low)} that {found.queries:,} "
            f"queries cannot tell from the best ({best})."
        )
    if equals == 1:
        return f"Use {name}: {metric} {mean}, the best of {found.systems} by more than noise."
    if equals == len(found.too_low) + 1:
        return f"Use {name}: {metric} {mean}, the best of {found.systems}; no cheaper one is within {found.margin:g}."
    return f"Use {name}: {metric} {mean}, the best of {found.systems} and the cheapest as good."


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
        _too_low_sentence(found),
        next_sentence(found),
        confirmation_sentence(found),
    ]
    tables = (equals_table(found),) if len(found.equals) > 1 else ()
    return Section("Recommendation", tuple(filter(None, said)), tables)


def recommendation_parts(found: RecommendationRecord) -> Iterator[Part]:
    """Yield the lines and the table of a recommendation."""
    section = recommendation_section(found)
    yield from section.paragraphs
    yield from section.tables


def recommendation_text(found: RecommendationRecord) -> str:
    """Return a recommendation as plain text."""
    return as_text([*labels_line(found.label_sources), *recommendation_parts(found)])


def recommendation_summary(found: RecommendationRecord) -> Document:
    """Return a recommendation as a document."""
    section = recommendation_section(found)
    return Document(
        "Recommendation",
        section.paragraphs[0],
        equals_table(found),
        (),
        notes=section.paragraphs[1:],
        labels=str(found.label_sources),
    )


def _why(found: RecommendationRecord) -> str:
    """Return in what the recommended system is cheaper than the best, and how far its mean is below."""
    if found.recommended is None or found.best is None or found.recommended == found.best:
        return ""
    one, best = found.of(found.recommended), found.of(found.best)
    decimals, percent = decimals_of(found.primary), level(found.method)
    difference = difference_text(one.difference, decimals)
    behind = f" Its difference to that is {difference}{'' if ']' not in difference else f' ({percent} interval)'}."
    if found.decided_by is None:
        return f"The best is {found.best}; no known cost tells the two apart.{behind}"
    cost = found.decided_by
    figures = f"{cost_name(cost)} {cost_figure(cost, one.costs[cost])} against {cost_figure(cost, best.costs[cost])}"
    return f"The highest mean is that of {found.best}; what decides is {figures}.{behind}"


def _set_sentence(found: RecommendationRecord) -> str:
    """Return which systems cannot be told from the best, how that was found, and in which order they stand."""
    level_of = f"{found.method.alpha * 100:g} %"
    if len(found.equals) == 1:
        others = "The other is" if found.systems == 2 else f"The other {found.systems - 1} are"
        return f"{others} worse ({BEST_METHOD}; level {level_of})." if found.beaten else ""
    told = f"{len(found.equals)} of {found.systems} cannot be told from the best, the cheapest first"
    costs = [cost_name(cost) for cost in _shown_costs(found)]
    order = (
        f" Costs are looked at in this order: {', '.join(costs)}; less than 10 % apart is the same." if costs else ""
    )
    return f"{told} ({BEST_METHOD}; the true best is left out in at most {level_of} of cases).{order}"


def _too_low_sentence(found: RecommendationRecord) -> str:
    if not found.is_decided or not found.too_low:
        return ""
    count, left = len(found.too_low), len(found.equals) - len(found.too_low)
    who = "1 of these has a mean" if count == 1 else f"{count} of these have means"
    verb = "is" if count == 1 else "are"
    return (
        f"{who} more than {found.margin:g} lower than the best, and {verb} not recommended for a lower cost, which "
        f"leaves {left}; more queries would tell."
    )


def next_sentence(found: RecommendationRecord) -> str:
    """Return what to try next, by what became of most of the facts that are not found."""
    if not found.facts:
        return ""
    lost = sum(loss.facts for loss in found.losses)
    if not lost:
        return (
            f"Next: it finds all {found.facts:,} facts by rank {found.k}; ask harder questions, or look at a lower k."
        )
    most = found.losses[0]
    told = f"of {found.facts:,} facts it does not find {lost:,} by rank {found.k}, and {most.facts:,} of these are"
    advice = {
        "below_k": "another reranker, or more hits in the prompt" if found.has_reranker else "a reranker",
        "dropped": f"more hits after {most.stage}",
        "not_retrieved": "more candidates, a hybrid of BM25 and embeddings, or another embedding model",
        "not_attainable": "larger chunks or more overlap, and raglift audit, which checks the labels",
        "missed": "more candidates, another retriever, or larger chunks",
    }.get(most.outcome)
    if most.outcome == "failed":
        return f"Next: find out why queries fail: {told} theirs."
    return f"Next: try {advice}: {told} {outcome_text(most, found.k)}."


def confirmation_sentence(found: RecommendationRecord) -> str:
    """Return how the recommendation of one half of the queries did on the other; empty if there are too few."""
    held = found.confirmation
    if held is None:
        if found.is_decided:
            return f"Not confirmed on held-out queries: that takes {2 * FEW_QUERIES}, and there are {found.queries}."
        return ""
    decimals = decimals_of(found.primary)
    same = "the same" if held.system == found.recommended else f"{held.system} instead"
    what = "the cheapest of all" if held.is_cheapest else "the next best there"
    return (
        f"Held out: {len(held.selection):,} queries alone recommend {same}. On the {len(held.held_out):,} others it "
        f"has {held.mean:.{decimals}f}, {held.other} ({what}) {held.other_mean:.{decimals}f}: "
        f"{difference_text(held.difference, decimals)}, p {p_text(held.difference.p)}: {held.verdict}."
    )


def equals_table(found: RecommendationRecord) -> Table:
    """Return the systems that cannot be told from the best, with their costs, the cheapest first."""
    costs = _shown_costs(found)
    rows = [_row(one, found, costs) for one in _first(found)]
    columns = (
        "cannot be told from the best",
        mean_title(found.primary),
        "difference",
        "p (corrected)",
        *map(cost_name, costs),
    )
    more = len(found.equals) - len(rows)
    caption = "The systems that cannot be told from the best, the cheapest first"
    return table_of(columns, rows, left=(0,), caption=f"{caption}; {more} more are not shown" if more else caption)


def _first(found: RecommendationRecord) -> list[Contender]:
    """Return the cheapest systems, and in any case the recommended and the best."""
    needed = {found.recommended, found.best}
    chosen = {one.system for one in found.equals[:_SHOWN]} | needed
    return [one for one in found.equals if one.system in chosen]


def _row(one: Contender, found: RecommendationRecord, costs: list[str]) -> list[str | Cell]:
    decimals = decimals_of(found.primary)
    arrow = " ←" * (one.system == found.recommended)
    mark = "" if one.truncated_share == 0.0 else f" {truncation_mark(one.truncated_share)}"
    behind = 0.0 if one.difference is None else one.difference.mean
    difference = Cell("best", "muted") if one.system == found.best else Cell(f"{behind:+.{decimals}f}")
    p = "" if one.system == found.best else p_text(one.p)
    figures = [cost_figure(cost, one.costs[cost]) if cost in one.costs else "–" for cost in costs]
    return [f"{one.system}{mark}{arrow}", f"{one.mean:.{decimals}f}", difference, p, *figures]


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
