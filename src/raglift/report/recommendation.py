"""The recommendation of one of several systems, in words: one sentence, the systems as good, and what to try next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.analysis.costs import CHARACTERS, CONTEXT, EMBEDDING, INDEX, LATENCY, ORDER, RERANKERS
from raglift.analysis.shared_queries import named
from raglift.analysis.truncation import Truncation, truncation_mark
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Document, Section, Table, table_from
from raglift.report.format import (
    brackets,
    bytes_text,
    decimals_of,
    difference_text,
    level,
    p_equation,
    p_text,
    percent_text,
    seconds_text,
    signed,
)
from raglift.report.sentences import is_area, next_step, quality_text, questions_text, short_name
from raglift.stats.best_of_many import BEST_METHOD
from raglift.stats.margins import NON_INFERIORITY_METHOD
from raglift.stats.paired_tests import FEWEST_CHECKED
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.analysis.recommendation import Contender, HeldOutCheck, Recommendation
    from raglift.types.metric import Metric


_MOST_WORDS = 6
"""As many words of a name are in the sentence, so that it has at most 30 in all; …"""
_FEWER_WORDS = 4
"""… and as many of each of two names."""
_METHOD = f"Method: {NON_INFERIORITY_METHOD}; p-values of being the best by {BEST_METHOD}."
_SHOWN = 8
"""As many of the systems that may be the best are in the table."""


def recommendation_sentence(found: Recommendation, *, is_complete: bool = True) -> str:
    """Return what is recommended, what it finds, and what is shown of it."""
    metric = mean_title(found.primary)
    if found.choice is None or found.best is None:
        return f"No recommendation: no question counts in {metric} for all systems that can be compared."
    check = found.check
    if check is not None and found.is_contradicted:
        return contradiction(check, found.primary)
    name = short_name(found.choice, _MOST_WORDS)
    if found.is_alone:
        return f"No recommendation: {name} is the only system that can be compared in {metric}."
    use = f"Use {name}" if is_complete else f"Best so far: {name}"
    checked = "" if check is None else f"; {check.verdict} on held-out questions"
    finds = f"{use}: {_finds(found)}"
    if found.choice != found.best:
        best = quality_text(found.primary, found.of(found.best).mean)
        return f"{finds}, the cheapest shown within {found.margin:g} of the best ({best}){checked}."
    if found.systems == 1:
        return f"{finds}, the only system that can be compared{checked}."
    if found.is_shown:
        return f"{finds}, the best of {found.systems}, and no cheaper one is shown to match it{checked}."
    needed = "" if found.queries_needed is None else f" (about {found.queries_needed:,} questions would show)"
    use = f"{name} leads" if is_complete else f"{name} leads so far"
    shown = f"not shown within {found.margin:g} of every other{needed}"
    return f"{use}: {_finds(found)}, the highest of {found.systems}, but {shown}{checked}."


def _finds(found: Recommendation) -> str:
    """Return what the choice finds, in terms of facts or questions, and the mean of the metric that decides."""
    assert found.choice is not None  # noqa: S101 — asked of a choice alone
    mean = quality_text(found.primary, found.of(found.choice).mean)
    if is_area(found.primary):
        return f"it finds {mean}"
    if found.first is None or found.first.metric == found.primary or not found.first.n:
        return mean
    return f"it puts the right passage first for {questions_text(found.first.mean, found.first.n)} ({mean})"


def contradiction(check: HeldOutCheck, metric: Metric) -> str:
    """Return that nothing is recommended, as held-out queries contradict the choice."""
    decimals = decimals_of(metric)
    return (
        f"No recommendation yet: {short_name(check.system, _FEWER_WORDS)} is contradicted by held-out questions "
        f"({check.mean:.{decimals}f}; {short_name(check.other, _FEWER_WORDS)} {check.other_mean:.{decimals}f}, "
        f"{p_equation(check.difference.p)})."
    )


def recommendation_section(found: Recommendation) -> Section:
    """Return the recommendation with its reasons: the systems as good, their costs, and what to try next."""
    if found.choice is None:
        said = [recommendation_sentence(found), _left_out_sentence(found)]
        return Section("Recommendation", tuple(filter(None, said)))
    said = [
        recommendation_sentence(found),
        budget_sentence(found),
        _why(found),
        _set_sentence(found),
        _left_out_sentence(found),
        check_sentence(found),
        _METHOD if found.systems > 1 else "",
        next_sentence(found),
    ]
    tables = (equals_table(found),) if len(found.equals) > 1 else ()
    return Section("Recommendation", tuple(filter(None, said)), tables)


def recommendation_view(found: Recommendation) -> Document:
    """Return a recommendation with its reasons."""
    sentence, *reasons = recommendation_section(found).paragraphs
    return Document(
        "Recommendation",
        " ".join(filter(None, [sentence, truncation_sentence(found)])),
        equals_table(found),
        (),
        notes=tuple(reasons),
        labels=str(found.label_sources),
    )


def recommendation_lead(found: Recommendation, *, is_complete: bool = True) -> str:
    """Return what is recommended, and what its models truncate."""
    sentences = [recommendation_sentence(found, is_complete=is_complete), truncation_sentence(found)]
    return " ".join(filter(None, sentences))


def budget_sentence(found: Recommendation) -> str:
    """Return what the choice, and who finds most, find at the budget; empty where recall up to one does not decide."""
    row = found.at_budget
    if found.recommended is None or row is None or row.interval is None or row.metric.budget is None:
        return ""
    share, low, high = (percent_text(value, 0) for value in (row.mean, row.interval.low, row.interval.high))
    said = f"At {row.metric.budget.most:,} tokens it finds {share} [{low}, {high}] of the facts"
    most = found.most_at_budget
    if most is None or (most_share := percent_text(most.mean, 0)) == share:
        return f"{said}."
    return f"{said}; {short_name(most.system, _MOST_WORDS)} finds most there, {most_share}."


def truncation_sentence(found: Recommendation) -> str:
    """Return what the models of the choice truncate, and the best system that truncates nothing; empty for nothing."""
    if found.recommended is None or not found.truncation:
        return ""
    said = f"There {truncation_text(found.truncation)}"
    whole, decimals = found.best_without_truncation, decimals_of(found.primary)
    if whole is None:
        return f"{said}; no system reads everything."
    difference = difference_text(found.to_untruncated, decimals)
    return f"{said}; {whole}, the best that truncates nothing, has {found.of(whole).mean:.{decimals}f} ({difference})."


def truncation_text(found: Truncation) -> str:
    """Return how many chunks and candidates were truncated: `the embedding model truncates 86 of 404 chunks (21%)`."""
    parts = (
        ("the embedding model", "chunk", found.chunks, found.of_chunks),
        ("the reranker", "candidate", found.candidates, found.of_candidates),
    )
    said = []
    for model, thing, count, of in parts:
        if count:
            share = (
                f"{count:,} of {counted(of, thing)} ({percent_text(count / of, 0)})" if of else counted(count, thing)
            )
            said.append(f"{model} truncates {share}")
    return " and ".join(said)


def _why(found: Recommendation) -> str:
    """Return in what the choice is cheaper than the best, how far its mean is below, and how far it could be."""
    if found.choice is None or found.best is None or found.is_contradicted:
        return ""
    one, best = found.of(found.choice), found.of(found.best)
    decimals, percent = decimals_of(found.primary), level(found.method)
    bound = ""
    if found.systems > 1 and one.lower is not None and one.is_shown:
        far = "above" if one.lower > 0.0 else f"at most {-one.lower:.{decimals}f} below"
        bound = f"Its true mean is {far} that of every other (one-sided {percent} bounds)."
    if found.choice == found.best:
        return bound
    which = f" ({percent} interval)" if brackets(one.difference) else ""
    behind = f"Its difference to the best is {difference_text(one.difference, decimals)}{which}."
    cost = found.decided_by
    cheaper = ""
    if cost is not None:
        figures = f"{cost_figure(cost, one.costs[cost])} against {cost_figure(cost, best.costs[cost])}"
        cheaper = f" The recommended one costs less ({cost_name(cost)}: {figures})."
    return f"The highest mean is that of {found.best}.{cheaper} {behind} {bound}".rstrip()


def _set_sentence(found: Recommendation) -> str:
    """Return which systems may be the best, and which costs decide between them."""
    if found.systems == 1:
        return ""
    may_be_best = sum(one.may_be_best for one in found.equals)
    are = f"{may_be_best} of {found.systems} {'is' if may_be_best == 1 else 'are'} not ruled out as the best"
    costs = [cost_name(cost) for cost in _shown_costs(found)]
    order = f" Cost: {', then '.join(costs)}; differences under 10% are ignored." if costs else ""
    return f"{are}.{order}"


def _left_out_sentence(found: Recommendation) -> str:
    """Return which systems cannot be compared, and why; empty if all can be."""
    if not found.left_out:
        return ""
    why = "prompts that end before the budget, or fewer hits than the metric looks at"
    return f"Left out for {why}: {named(found.left_out)}."


def next_sentence(found: Recommendation) -> str:
    """Return what to try next, by what became of most of the facts that are not found."""
    every = (*found.equals, *found.beaten)
    tried = " ".join(one.system for one in every)
    has_reranker = found.has_reranker or any(one.costs.get(RERANKERS) for one in every)
    return next_step(found.facts, found.losses, found.k, has_reranker=has_reranker, tried=tried)


def check_sentence(found: Recommendation) -> str:
    """Return what queries that took no part in a choice say of it, in a sentence."""
    if found.systems == 1 and found.check is None:
        return ""
    if found.check is None:
        return f"No held-out check: it takes {2 * FEWEST_CHECKED} questions, and there are {found.queries:,}."
    return check_text(found.check, found.primary)


def check_text(check: HeldOutCheck, metric: Metric) -> str:
    """Return what a held-out check found, in two sentences."""
    decimals = decimals_of(metric)
    return (
        f"Held-out check: chosen on {counted(len(check.selection), 'question')}, {check.system} scores "
        f"{check.mean:.{decimals}f} on {len(check.held_out):,} others; the runner-up, {check.other}, scores "
        f"{check.other_mean:.{decimals}f} there ({difference_text(check.difference, decimals)}, "
        f"{p_equation(check.difference.p)}). {check.verdict.capitalize()}: "
        f"{f'there it is at most {-check.lower:.{decimals}f} below' if check.lower < 0.0 else 'there it is above'} the "
        f"runner-up (one-sided bound)."
    )


def equals_table(found: Recommendation) -> Table:
    """Return the systems that may be the best or are shown to be as good, with their costs, the cheapest first."""
    rows = _first(found)
    more = len(found.equals) - len(rows)
    caption = "Systems that are not significantly worse than another, or shown to be as good, the cheapest first"
    return table_from(_columns(found), rows, f"{caption}; {more} more are not shown" if more else caption)


def _columns(found: Recommendation) -> list[Column[Contender]]:
    decimals = decimals_of(found.primary)
    return [
        Column("system", lambda one: _name(one, found), words=True),
        Column(mean_title(found.primary), lambda one: f"{one.mean:.{decimals}f}", value=lambda one: one.mean),
        Column("gap to best", lambda one: _behind(one, found, decimals), value=_difference),
        Column(
            "at least",
            lambda one: _bound(one, found, decimals),
            value=lambda one: one.lower,
            definition="The least of the one-sided lower bounds of its differences to the other systems; above "
            f"−{found.margin:g} it is shown to be as good. Only of systems that could be recommended",
        ),
        Column("p (corrected)", lambda one: "" if one.system == found.best else p_text(one.p), value=lambda one: one.p),
        *(_cost_column(cost) for cost in _shown_costs(found)),
    ]


def _name(one: Contender, found: Recommendation) -> str:
    arrow = " ←" * (one.system == found.recommended)
    mark = "" if one.truncated_share == 0.0 else f" {truncation_mark(one.truncated_share)}"
    return f"{one.system}{mark}{arrow}"


def _behind(one: Contender, found: Recommendation, decimals: int) -> Cell:
    return Cell("best", "muted") if one.system == found.best else Cell(signed(_difference(one), decimals))


def _bound(one: Contender, found: Recommendation, decimals: int) -> Cell:
    if one.lower is None or found.systems == 1:
        return Cell("–", "muted")
    return Cell(signed(one.lower, decimals), "" if one.is_shown else "muted")


def _difference(one: Contender) -> float:
    return 0.0 if one.difference is None else one.difference.mean


def _cost_column(cost: str) -> Column[Contender]:
    def cell(one: Contender) -> str:
        return cost_figure(cost, one.costs[cost]) if cost in one.costs else "–"

    return Column(cost_name(cost), cell, value=lambda one: one.costs.get(cost), optional=True)


def _first(found: Recommendation) -> list[Contender]:
    """Return the cheapest systems that are near the best, and in any case the recommended and the best."""
    near = [one for one in found.equals if found.best and one.mean >= found.of(found.best).mean - found.margin]
    chosen = {one.system for one in near[:_SHOWN]} | {found.choice, found.best}
    return [one for one in found.equals if one.system in chosen]


def _shown_costs(found: Recommendation) -> list[str]:
    """Return the costs in which the systems that may be the best differ, in the order in which they are looked at."""
    every = dict.fromkeys(cost for one in found.equals for cost in one.costs)
    order = [cost for cost in every if cost not in ORDER] + [cost for cost in ORDER if cost in every]
    return [cost for cost in order if len({one.costs.get(cost) for one in found.equals}) > 1]


_NAMES = {
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
