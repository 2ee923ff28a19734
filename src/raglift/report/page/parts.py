"""Tables and sections that pages of one system and of several have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.metrics import MEASURES, mean_title
from raglift.printable import TRUNCATED
from raglift.rendering.document import Cell, Section, Table, row_of
from raglift.report.format import level, outcome_text
from raglift.report.page.cells import difference_cell, mean_cell, p_cell
from raglift.report.terminal.cost import cost_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.diagnosis import LossBreakdownRecord
    from raglift.diagnosis.loss import Loss
    from raglift.records import Metric
    from raglift.rendering.document import Part
    from raglift.result_records import EvaluationRecord, Method, TagSlicesRecord
    from raglift.result_records.slices import TagSlice

__all__ = [
    "cost_section",
    "few_metrics",
    "few_text",
    "has_tags",
    "loss_table",
    "method_section",
    "slices_table",
    "truncation",
]

_HEADLINE = ("ndcg", "recall", "rr", "hit_rate", "precision", "judged")
"""The measures of the first screen, besides the one that decides."""
_FEW = "‡"


def few_metrics(primary: Metric, known: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of the first screen: the one that decides, and usual ones at its depth."""
    beside = [metric for metric in known if metric.depth == primary.depth and not metric.parameters]
    chosen = [metric for name in _HEADLINE for metric in beside if metric.name == name]
    return list(dict.fromkeys([primary, *chosen]))


def truncation(*, marked: bool) -> tuple[str, ...]:
    """Return what † stands for, where it is there."""
    return (f"{TRUNCATED} The metric looks deeper than the stage returned: there is no fair pair.",) if marked else ()


def loss_table(losses: Mapping[str, LossBreakdownRecord]) -> Table:
    """Return what became of the facts: of one system a row an outcome, of several a row a system.

    Args:
        losses: by the systems' names, all at one depth; of one system the name does not show.
    """
    caption = "What became of each fact of the labelled queries"
    if len(losses) == 1:
        (only,) = losses.values()
        rows = tuple(_outcome_row(loss, only) for loss in only.losses if loss.facts or loss.outcome == "found")
        return Table(caption, ("what became of the facts", "facts", "share", "queries"), rows)
    outcomes = _outcomes(losses.values())
    several = tuple(
        row_of([name, *(_counted(words, breakdown) for words in outcomes)]) for name, breakdown in losses.items()
    )
    return Table(caption, ("system", *outcomes), several)


def _outcome_row(loss: Loss, losses: LossBreakdownRecord) -> tuple[Cell, ...]:
    share = loss.facts / losses.facts if losses.facts else 0.0
    bar = Cell(_percent(share), low=0.0, middle=share, high=share)
    return row_of([outcome_text(loss, losses.k), f"{loss.facts:,}", bar, f"{len(loss.query_ids):,}"])


def _outcomes(losses: Iterable[LossBreakdownRecord]) -> list[str]:
    """Return the outcomes that some fact came to, in few words, in the order in which they are tried."""
    order = ("found", "below_k", "dropped", "not_retrieved", "not_attainable", "missed", "failed")
    found = {
        _briefly(loss, breakdown.k): order.index(loss.outcome)
        for breakdown in losses
        for loss in breakdown.losses
        if loss.facts or loss.outcome == "found"
    }
    return sorted(found, key=found.__getitem__)


def _briefly(loss: Loss, k: int) -> str:
    words = {"below_k": f"below rank {k}", "dropped": f"dropped by {loss.stage}", "missed": "not among the candidates"}
    words |= {"not_retrieved": "not retrieved", "not_attainable": "not attainable"}
    return words.get(loss.outcome) or outcome_text(loss, k)


def _counted(words: str, losses: LossBreakdownRecord) -> Cell:
    facts = sum(loss.facts for loss in losses.losses if _briefly(loss, losses.k) == words)
    return Cell(f"{facts:,} ({_percent(facts / max(losses.facts, 1))})")


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def has_tags(slices: TagSlicesRecord) -> bool:
    """Whether some labelled query has a tag."""
    return any(one.tag is not None for one in slices.slices)


def slices_table(slices: TagSlicesRecord) -> Table:
    """Return means and differences on the queries of each tag."""
    several = len({one.system for one in slices.slices}) > 1
    percent = level(slices.method)
    columns = ["tag", *(["system"] if several else []), "queries", f"{mean_title(slices.metric)} [{percent}]"]
    change = "difference" if several else "lift"
    columns += [f"{change} [{percent}]", "p, uncorrected"] if slices.baseline is not None else []
    rows, sections = [], []
    before: str | None = ""
    for number, one in enumerate(slices.slices):
        is_first = one.tag != before
        if several and is_first and number:
            sections.append(number)
        before = one.tag
        rows.append(row_of(_slice_cells(one, slices, is_first=is_first, several=several)))
    words = (0, 1) if several else (0,)
    return Table(f"{mean_title(slices.metric)} by tag", tuple(columns), tuple(rows), words, tuple(sections))


def _slice_cells(one: TagSlice, slices: TagSlicesRecord, *, is_first: bool, several: bool) -> Iterator[Cell | str]:
    tone = "muted" if one.few else ""
    yield ("(no tag)" if one.tag is None else one.tag) if is_first else ""
    if several:
        yield one.system
    yield Cell(f"{one.n:,}" + _FEW * one.few, tone)
    yield mean_cell(slices.metric, one.mean, one.interval)
    if slices.baseline is None:
        return
    if one.baseline_mean is None:
        yield Cell("baseline", "muted")
        yield ""
        return
    yield difference_cell(slices.metric, one.difference, alpha=0.0 if one.few else slices.method.alpha)
    yield p_cell(None if one.difference is None else one.difference.p)


def few_text(slices: TagSlicesRecord) -> str:
    """Return what ‡ stands for, where it is there."""
    few = any(one.few for one in slices.slices)
    return f"{_FEW} fewer than {slices.slices[0].FEW} queries: these figures say little." if few else ""


def cost_section(evaluation: EvaluationRecord) -> Section | None:
    """Return what a run cost, as far as it is known; None where nothing is."""
    return section_of("Cost", cost_parts(evaluation))


def section_of(heading: str, parts: Iterable[Part]) -> Section | None:
    """Return the lines and tables that a terminal shows, as a section; None where there is none."""
    paragraphs: list[str] = []
    tables: list[Table] = []
    for part in parts:
        if isinstance(part, str):
            paragraphs += [part] if part else []
        else:  # the line above a table says what it shows
            caption = part.caption or (paragraphs.pop() if paragraphs else heading)
            tables.append(replace(part, caption=caption))
    return Section(heading, tuple(paragraphs), tuple(tables)) if paragraphs or tables else None


def method_section(method: Method | None, metrics: Sequence[Metric], *, corrected: str) -> Section:
    """Return how figures were computed: tests and intervals by name, and each measure's definition.

    Args:
        method: of the statistics; None where there are none.
        metrics: those on the page.
        corrected: what is said of the metrics that do not decide.
    """
    paragraphs = []
    if method is not None:
        first = f"{method.text[0].upper()}{method.text[1:]}"
        paragraphs = [f"{first}; seed {method.seed}; confidence {level(method)}.", corrected]
    paragraphs.append("Every mean is over the labelled queries; a query that failed counts 0.")
    names = dict.fromkeys(metric.name for metric in metrics)
    rows = tuple(row_of([MEASURES[name].mean_title or MEASURES[name].title, MEASURES[name].formula]) for name in names)
    table = Table("The measures, for one query", ("measure", "definition"), rows, words=(0, 1), rests_on_labels=False)
    return Section("Method", tuple(filter(None, paragraphs)), (table,), folded=True)
