"""Parts of views: cells, tables and sections that several have, and the measurement's settings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from raglift.analysis.costs import CONTEXT, index_bytes, median_latency
from raglift.analysis.fairness import Fairness, tokens_sent
from raglift.analysis.outcomes import OUTCOMES, FailureAnalysis, OutcomeFacts
from raglift.metrics.computing import mean_title, title
from raglift.metrics.registry import MEASURES
from raglift.rendering.document import Cell, Column, RowT, Table, row_of
from raglift.report.cells import bytes_cell, difference_cell, mean_cell, p_cell, seconds_cell, share_cell, tokens_cell
from raglift.report.fairness import beside_of
from raglift.report.format import (
    level,
    outcome_text,
    percent_text,
)
from raglift.report.sentences import BEYOND_CANDIDATES
from raglift.types.metric import Metric
from raglift.utilities.display import BEYOND, TRUNCATED, counted, excerpt

if TYPE_CHECKING:
    from raglift.analysis.records import TagSlice, TagSlices
    from raglift.metrics.measure import Measure
    from raglift.results.evaluation import Evaluation


# What metrics mean, in words.


_IN_WORDS = {
    "hit_rate": "The share of questions with at least one right hit among the first k",
    "precision": "The share of the first k hits that are relevant",
    "recall": "The share of the facts that the first k hits hold",
    "rr": "How early the first right hit comes: 1 at rank 1, 1/2 at rank 2, 1/3 at rank 3",
    "ap": "How early and how completely the facts come, from 0 to 1",
    "ndcg": "How good the order of the first k hits is, from 0 to 1: a fact counts less the lower it ranks",
    "recall_area": "Recall averaged over all prompt sizes from 0 to the budget: a fact that is found early counts more",
    "prompt_recall": "The share of the facts that the first tokens of the prompt hold, up to the budget",
    "context_tokens": "The length of the prompt that the first k hits make, estimated if it was not scored",
}


def definition_of(metric: Metric | Measure) -> str:
    """Return what a metric measures: in plain words where it is a usual one, and in its formula."""
    name = metric.name
    formula = MEASURES[name].formula
    return f"{_IN_WORDS[name]}. Formula: {formula}." if name in _IN_WORDS else formula


# Tables and sections that pages of one system and of several have in common.


_HEADLINE = ("ndcg", "recall", "rr", "hit_rate", "precision", "session_recall")
"""The usual measures of the first screen, besides the one that decides."""
_MOST = 5
"""How many metrics the first screen has."""
_FEW = "‡"
_LONGEST_QUESTION = 120
_EXAMPLES = 3
"""So many queries are named for each outcome."""


def few_metrics(primary: Metric, known: Sequence[Metric], named: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of the first screen: the one that decides, and all that were asked for by name.

    If none was, others at its depth follow, usual ones first; where these are fewer than five, those without a depth.
    """
    if named:
        return list(dict.fromkeys([primary, *(metric for metric in named if metric in known)]))
    beside = [metric for metric in known if metric.depth == primary.depth]
    usual = [metric for name in _HEADLINE for metric in beside if metric.name == name and not metric.parameters]
    without = [metric for metric in known if metric.depth is None]
    of_prompts = [metric for metric in known if MEASURES[metric.name].needs_budget]
    return list(dict.fromkeys([*list(dict.fromkeys([primary, *usual, *beside, *without]))[:_MOST], *of_prompts]))


def named_columns(metrics: Iterable[Metric], cell: Callable[[RowT, Metric], Cell]) -> list[Column[RowT]]:
    """Return a column for each metric that was asked for by name, besides the one that decides."""

    def column(metric: Metric) -> Column[RowT]:
        return Column(
            mean_title(metric), lambda row: cell(row, metric), definition=definition_of(metric), optional=True
        )

    return [column(metric) for metric in metrics]


def beside_columns(
    found: Fairness | None, known: Callable[[Metric], bool], mean_of: Callable[[RowT, Metric], float]
) -> list[Column[RowT]]:
    """Return the columns beside the metric that decides, where chunks differ."""

    def column(metric: Metric) -> Column[RowT]:
        def cell(row: RowT) -> Cell:
            return replace(mean_cell(metric, mean_of(row, metric)), emphasis="muted")

        return Column(mean_title(metric), cell, definition=definition_of(metric), optional=True)

    return [column(metric) for metric in beside_of(found) if known(metric)]


def cost_columns(
    rows: Iterable[RowT],
    decides: Metric,
    mean: Callable[[RowT, Metric], float],
    evaluation: Callable[[RowT], Evaluation],
    *,
    beside_budget: bool = False,
) -> list[Column[RowT]]:
    """Return the columns of the prompt's size, the latency and the index's size, where they are known of some row.

    Beside recall up to a budget of tokens, the prompt's size has its depth in its title.
    """
    context, found = Metric(CONTEXT, decides.depth), list(rows)

    def tokens_of(row: RowT) -> Cell:
        count = mean(row, context)
        estimate = math.isnan(count) and decides.k is not None
        return tokens_cell(tokens_sent(evaluation(row), decides.k) if estimate else count)

    name = f"tokens in {counted(decides.k, 'hit')}" if beside_budget and decides.k is not None else "tokens"
    tokens = Column[RowT](name, tokens_of, definition=definition_of(context), optional=True)
    latency = Column[RowT](
        "latency",
        lambda row: seconds_cell(median_latency(evaluation(row))),
        definition="The median time of one question through all stages",
        optional=True,
    )
    index = Column[RowT](
        "index", lambda row: bytes_cell(index_bytes(evaluation(row))), definition="The size of the index", optional=True
    )
    return [one for one in (tokens, latency, index) if any(one.cell_of(row).value is not None for row in found)]


_USUAL_UNIT = ":characters"
_SETTINGS = ("system", "chunker", "embedding", "retriever", "reranker")


def setting_columns(rows: Iterable[RowT], settings: Callable[[RowT], Mapping[str, str]]) -> list[Column[RowT]]:
    """Return a column for each part in which systems differ, where the parts of all are known; else nothing.

    What all values of a part begin with up to a colon is in its definition: `recursive:`.
    """
    known = [settings(row) for row in rows]
    if not known or not all(known):
        return []
    columns = []
    for part in _SETTINGS:
        values = {one.get(part, "") for one in known}
        if len(values) == 1:
            continue
        alike = begins_alike(values - {""})

        def cell(row: RowT, part: str = part, cut: int = len(alike)) -> Cell:
            value = settings(row).get(part, "")[cut:].removesuffix(_USUAL_UNIT)
            return Cell(value) if value and value != "none" else Cell("–", "muted")

        definition = f"Each begins with {alike}" if alike else ""
        columns.append(Column(part, cell, words=True, definition=definition))
    return columns


def begins_alike(names: Iterable[str]) -> str:
    """Return what all of several names begin with, up to a colon: `recursive:`; empty if there is nothing."""
    first, *others = dict.fromkeys(names)
    starts = [first[: colon.end()] for colon in re.finditer(":", first)]
    return next((one for one in reversed(starts) if others and all(name.startswith(one) for name in others)), "")


def mean_after(evaluation: Evaluation, metric: Metric) -> float:
    """Return the mean of a metric after the last stage; NaN if it was not scored."""
    scores = evaluation.scores
    return scores.mean(evaluation.after, metric) if metric in scores.metrics else math.nan


def truncation(*, marked: bool) -> tuple[str, ...]:
    """Return the explanation of †, if it is used."""
    return (
        (f"{TRUNCATED} The metric looks deeper than the stage returned, so it cannot be compared.",) if marked else ()
    )


def marks_explained(*, truncated: bool, beyond: bool) -> tuple[str, ...]:
    """Return an explanation of each of the marks † and § that is used."""
    of_truncated = [
        f"{TRUNCATED} deeper than what the stage returned, in hits or in tokens, so it cannot be compared"
    ] * truncated
    return (*of_truncated, *([f"{BEYOND} {BEYOND_CANDIDATES}"] * beyond))


def failure_table(losses: Mapping[str, FailureAnalysis]) -> Table:
    """Return the outcome of the facts: of one system a row per outcome, of several a row per system."""
    caption = "Outcome of each fact"
    if len(losses) == 1:
        (only,) = losses.values()
        return outcome_table(caption, only.losses, only.facts, lambda loss: outcome_text(loss, only.k))
    outcomes = _outcomes(losses.values())
    several = tuple(
        row_of([name, *(_counted(words, breakdown) for words in outcomes)]) for name, breakdown in losses.items()
    )
    return Table(caption, ("system", *outcomes), several)


def causes_in_words(losses: FailureAnalysis) -> tuple[str, ...]:
    """Return what facts are lost by, in one sentence; nothing if it was not found out."""
    causes = ", ".join(f"{cause} {facts:,}" for cause, facts in losses.causes)
    return (f"Causes that raglift fix found: {causes}.",) if causes else ()


def outcome_table(
    caption: str, losses: Iterable[OutcomeFacts], facts: int, in_words: Callable[[OutcomeFacts], str]
) -> Table:
    """Return a row for each outcome that some fact came to: its facts and queries, and a few of these."""
    rows = []
    for loss in losses:
        if loss.facts or loss.outcome == "found":
            share = share_cell(loss.facts / facts if facts else 0.0)
            examples = "" if loss.outcome == "found" else ", ".join(loss.query_ids[:_EXAMPLES])
            rows.append(row_of((in_words(loss), f"{loss.facts:,}", share, f"{len(loss.query_ids):,}", examples)))
    return Table(caption, ("outcome", "facts", "share", "questions", "for example"), tuple(rows), text_columns=(0, 4))


def _outcomes(losses: Iterable[FailureAnalysis]) -> list[str]:
    """Return the outcomes that some fact came to, in few words, in the order in which they are tried."""
    order = OUTCOMES
    found = {
        _briefly(loss, breakdown.k): order.index(loss.outcome)
        for breakdown in losses
        for loss in breakdown.losses
        if loss.facts or loss.outcome == "found"
    }
    return sorted(found, key=found.__getitem__)


def _briefly(loss: OutcomeFacts, k: int) -> str:
    words = {"below_k": "ranked too low", "missed": "not retrieved, or lost"}
    return words.get(loss.outcome) or outcome_text(loss, k)


def _counted(words: str, losses: FailureAnalysis) -> Cell:
    facts = sum(loss.facts for loss in losses.losses if _briefly(loss, losses.k) == words)
    return Cell(f"{facts:,} ({percent_text(facts / max(losses.facts, 1))})")


def moved_table(caption: str, metric: Metric, moved: Iterable[tuple[Any, ...]], *more: str) -> Table:
    """Return queries that moved: each with its id, question, value before and after, and cells under `more` titles."""
    rows = tuple(
        row_of((query_id, excerpt(question, _LONGEST_QUESTION), f"{before:.3f} → {after:.3f}", *others))
        for query_id, question, before, after, *others in moved
    )
    return Table(caption, ("id", "question", title(metric), *more), rows, text_columns=(0, 1))


def has_tags(slices: TagSlices) -> bool:
    """Whether some labelled query has a tag."""
    return any(one.tag is not None for one in slices.slices)


def slices_table(slices: TagSlices) -> Table:
    """Return means and differences on the queries of each tag."""
    several = len({one.system for one in slices.slices}) > 1
    columns = ["tag", *(["system"] if several else []), "questions", mean_title(slices.metric)]
    columns += ["difference" if several else "lift", "p (unadjusted)"] if slices.baseline is not None else []
    rows, sections = [], []
    before: str | None = ""
    for number, one in enumerate(slices.slices):
        is_first = one.tag != before
        if several and is_first and number:
            sections.append(number)
        before = one.tag
        rows.append(row_of(_slice_cells(one, slices, is_first=is_first, several=several)))
    words = (0, 1) if several else (0,)
    optional = (len(columns) - 1,) if slices.baseline is not None else ()
    caption = f"{mean_title(slices.metric)} by tag"
    return Table(
        caption,
        tuple(columns),
        tuple(rows),
        words,
        tuple(sections),
        optional=optional,
        confidence=level(slices.method),
    )


def _slice_cells(one: TagSlice, slices: TagSlices, *, is_first: bool, several: bool) -> Iterator[Cell | str]:
    emphasis = "muted" if one.few else ""
    yield ("(no tag)" if one.tag is None else one.tag) if is_first else ""
    if several:
        yield one.system
    yield Cell(f"{one.n:,}" + _FEW * one.few, emphasis)
    yield mean_cell(slices.metric, one.mean, one.interval)
    if slices.baseline is None:
        return
    if one.baseline_mean is None:
        yield Cell("baseline", "muted")
        yield ""
        return
    yield difference_cell(slices.metric, one.difference, alpha=0.0 if one.few else slices.method.alpha)
    yield p_cell(None if one.difference is None else one.difference.p)


def few_text(slices: TagSlices) -> str:
    """Return the explanation of ‡, if it is used."""
    few = any(one.few for one in slices.slices)
    return f"{_FEW} fewer than {slices.slices[0].FEW} questions: these figures are unreliable." if few else ""


def primary_sentence(primary: Metric) -> str:
    """Return which metric decides, and what that makes of the others."""
    return f"Primary metric: {mean_title(primary)}. The others are exploratory, with unadjusted p-values."


def lines_between(metrics: Sequence[Metric]) -> tuple[int, ...]:
    """Return the rows of a table of metrics above which a line is drawn: the first of each measure but the first."""
    return tuple(place for place, (one, two) in enumerate(pairwise(metrics), start=1) if one.name != two.name)
