"""What is shown of a search: which cell to use, how the race went, and what became of every cell."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.base.display import counted
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Detail, Document, Figure, Section, table_from
from raglift.report.factors import EFFECTS, effects_section
from raglift.report.format import number_text, p_text, percent_text, seconds_text
from raglift.report.recommendation import check_text, contradiction
from raglift.search.charts import race_chart
from raglift.search.records import DROPPED, FAILED, FATES, FINALIST, NOT_TRIED, SET_ASIDE
from raglift.stats.racing import RACE_METHOD
from raglift.sweep.effects import effects_of
from raglift.sweep.view import WHY, failures, sweep_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.analysis.factor_records import FactorEffects
    from raglift.rendering.document import Table
    from raglift.search.records import Entrant, Fate, RungRecord, SearchRecord

_WORDS = {
    FINALIST: "left at the end",
    DROPPED: "dropped: significantly worse",
    SET_ASIDE: "set aside: unlikely to win, not excluded",
    NOT_TRIED: "not tried",
    FAILED: "failed",
}
_MOST_ROWS = 12
_LEFT = "The cells that are left, the best first"


def search_view(found: SearchRecord, *, detail: Detail = Detail.REFERENCE) -> Document:
    """Return what is shown of a search."""
    finalists = sweep_view(found.finalists, detail=Detail.SUMMARY)
    effects = None if found.began is None else effects_of(found.began)
    sections = (
        *_reasons(finalists, found),
        *_effects(effects, found),
        Section("The race", _race_text(found), (_rungs(found),), _chart(found)),
        Section("What became of each cell", tables=(_fates(found),)),
        Section("Every cell", tables=(_every(found),), detail=Detail.DETAILS),
        *_finalist_sections(found, detail),
        Section("Method", (_method(found),), detail=Detail.DETAILS),
    )
    return Document(
        title=f"{found.title}: best of {counted(len(found.entrants), 'cell')}",
        lead=finalists.lead or _only(found),
        headline=None if finalists.headline is None else replace(finalists.headline, caption=_LEFT),
        measured=(),
        warnings=(*_warnings(found), *finalists.warnings),
        notes=finalists.notes,
        sections=tuple(section for section in sections if section.detail <= detail),
        about=(_about(found),),
        labels=finalists.labels,
    )


def _only(found: SearchRecord) -> str:
    if not found.finalists.finished:
        return "Every cell failed."
    name, check = found.finalists.finished[0].cell.name, found.finalists.check
    if check is None:
        return f"Use {name}: the only cell that is left."
    if check.verdict == "contradicted":
        return contradiction(check, found.primary)
    return f"Use {name}: the only cell that is left; held-out check: {check.verdict}."


def _about(found: SearchRecord) -> str:
    share = percent_text(found.questions / found.full, 0) if found.full else "–"
    used = f", of which the race took {seconds_text(found.spent.seconds)}" if found.budget.is_measured else ""
    return (
        f"by {mean_title(found.primary)}; {found.questions:,} questions asked, {share} of a full sweep; budget: "
        f"{found.budget}{used}"
    )


def _warnings(found: SearchRecord) -> Iterator[str]:
    left = found.of_fate(FINALIST)
    if len(left) > 1 and left[0].asked < found.queries:
        yield (
            f"the budget ended after {left[0].asked:,} of {found.queries:,} queries, with {counted(len(left), 'cell')} "
            "left; --resume with a larger budget goes on"
        )
    yield from failures((one.cell.name, str(one.error)) for one in found.of_fate(FAILED))
    aside = len(found.of_fate(SET_ASIDE))
    if aside:
        yield (
            f"{counted(aside, 'cell')} set aside so that the budget would last: they look worse, and cannot be excluded"
        )


def _race_text(found: SearchRecord) -> tuple[str, ...]:
    return (
        (
            f"{counted(len(found.of_fate(DROPPED)), 'cell')} dropped as significantly worse: any of the best is among "
            f"them in at most {percent_text(found.alpha, 0)} of races, however often one looks."
        ),
    )


def _rungs(found: SearchRecord) -> Table:
    columns: list[Column[RungRecord]] = [
        Column("queries asked", lambda rung: f"{rung.queries:,}"),
        Column("cells", lambda rung: f"{rung.systems:,}", definition="how many were asked"),
        Column("joined", lambda rung: f"{rung.joined:,}", definition="cells with rerankers that began here"),
        Column("set aside before", lambda rung: f"{rung.set_aside:,}", definition="so that the budget lasts"),
        Column("dropped after", lambda rung: f"{rung.dropped:,}", definition="significantly worse than another"),
        Column("left", lambda rung: f"{rung.left:,}"),
        Column("time", lambda rung: seconds_text(rung.seconds)),
    ]
    return table_from(columns, found.rungs, "Rung by rung")


def _chart(found: SearchRecord) -> tuple[Figure, ...]:
    said = (
        f"{mean_title(found.primary)} of each cell over the queries that it had been asked after each rung: lines end"
        " where a cell was dropped or set aside."
    )
    return (Figure("The race", said, lambda: race_chart(found), said),)


def _fates(found: SearchRecord) -> Table:
    columns: list[Column[Fate]] = [
        Column("what became of it", lambda fate: _WORDS[fate], words=True),
        Column("cells", lambda fate: f"{len(found.of_fate(fate)):,}"),
    ]
    fates = [fate for fate in FATES if found.of_fate(fate)]
    return table_from(columns, fates, "What became of each cell")


def _every(found: SearchRecord) -> Table:
    columns: list[Column[Entrant]] = [
        Column("cell", lambda one: one.cell.name, words=True),
        Column("what became of it", lambda one: one.error or one.fate, words=True),
        Column("queries asked", lambda one: f"{one.asked:,}", value=lambda one: one.asked),
        Column(mean_title(found.primary), _mean_cell),
        Column(
            "p of being among the best",
            lambda one: p_text(one.p) if one.asked else "–",
            definition="valid whenever one looks; a cell is dropped where it is small, corrected by Holm",
        ),
    ]
    ordered = sorted(found.entrants, key=lambda one: (-one.asked, -one.mean if one.asked else 0.0))
    return table_from(columns, ordered, "Every cell, the furthest first", sortable=True)


def _mean_cell(one: Entrant) -> Cell:
    return Cell("–", "muted") if math.isnan(one.mean) else Cell(number_text(one.mean), value=one.mean)


def _reasons(finalists: Document, found: SearchRecord) -> Iterator[Section]:
    """Yield why a cell is recommended, and what queries that took no part say of it."""
    if len(found.finalists.finished) > 1:
        yield from (section for section in finalists.sections if section.heading == WHY)
    elif found.finalists.check is not None:
        yield Section("Held-out check", (check_text(found.finalists.check, found.primary),))


def _effects(effects: FactorEffects | None, found: SearchRecord) -> Iterator[Section]:
    """Yield what the parts of the cells do, from the first queries, which all were asked."""
    if effects is None or found.began is None:
        return
    section = effects_section(effects)
    said = (
        f"From the first {counted(effects.n, 'query')}, which all {counted(len(found.began.finished), 'cell')} that "
        "began were asked: the finalists alone would say how good cells differ, not what a part does."
    )
    yield replace(section, paragraphs=(said, *section.paragraphs), detail=Detail.DETAILS)


def _finalist_sections(found: SearchRecord, detail: Detail) -> Iterator[Section]:
    """Yield what a sweep of the finalists says of them, but for effects of their parts: cost against quality, pairs."""
    if detail >= Detail.DETAILS and len(found.finalists.finished) > 1:
        sections = sweep_view(found.finalists, detail=detail).sections
        yield from (section for section in sections if section.heading not in (EFFECTS, WHY))


def _method(found: SearchRecord) -> str:
    return (
        "All cells that begin are asked the first queries, in batches with each tag in its share; from rung to "
        "rung the queries grow by half, and so many cells go on that the budget lasts until all queries are asked "
        f"(successive halving). Dropped by {RACE_METHOD}, at alpha {found.alpha:g}, for the mean over these queries."
    )
