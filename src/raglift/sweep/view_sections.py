"""Parts of a sweep's view: what each part of the cells does, and the rungs and eliminated cells of a race."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from raglift.analysis.lift import reranker_lift
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Detail, Section, table_from
from raglift.report.factors import effect_sentence, effects_section
from raglift.report.format import decimals_of, difference_text, number_text, p_equation, p_text, percent_text
from raglift.report.recommendation import check_text
from raglift.stats.racing import RACE_METHOD
from raglift.sweep.race import ALPHA, RungRecord
from raglift.sweep.specification.cells import NO_RERANKER
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.analysis.factors import FactorEffects
    from raglift.rendering.document import Table
    from raglift.sweep.race_file import RaceRecord
    from raglift.sweep.records import CellResult
    from raglift.sweep.result import SweepResult


def about_race(race: RaceRecord) -> str:
    """Return how much of a whole sweep was done."""
    share = percent_text(race.questions / race.full, 0)
    return f"{race.questions:,} questions asked, {share} of a whole sweep; effort: {race.effort}"


def race_warnings(result: SweepResult) -> Iterator[str]:
    """Yield that an effort ended before all queries were asked, and that cells cannot be excluded."""
    race = result.race
    if race is None:
        return
    last, aside = race.rungs[-1], [one for one in result.eliminated if one.eliminated and not one.eliminated.is_dropped]
    if last.left > 1 and last.queries < race.queries:
        yield (
            f"the effort ended after {last.queries:,} of {race.queries:,} questions, with {counted(last.left, 'configuration')} "
            "left; a larger one with --resume goes on"
        )
    if aside:
        yield (
            f"{counted(len(aside), 'configuration')} set aside so that the effort would last: they look worse, and cannot be "
            "excluded"
        )


def race_sections(result: SweepResult, detail: Detail) -> Iterator[Section]:
    """Yield the rungs of a race, and the cells that it eliminated; nothing of a whole sweep."""
    race = result.race
    if race is None:
        return
    if len(result.finished) == 1 and result.check is not None:
        yield Section("Held-out check", (check_text(result.check, result.primary),))
    dropped = sum(one.eliminated is not None and one.eliminated.is_dropped for one in result.results)
    said = (
        f"{counted(dropped, 'configuration')} dropped as significantly worse: any of the best is among them in at most "
        f"{percent_text(ALPHA, 0)} of races, however often one looks."
    )
    yield Section("The race", (said,), (_rungs(race),))
    if detail < Detail.DETAILS:
        return
    if result.eliminated:
        yield Section("Eliminated configurations", tables=(_eliminated(result),), detail=Detail.DETAILS)
    method = (
        "All configurations are asked the first questions, in batches with each tag in its share; from rung to rung the questions "
        "grow by half, and so many configurations go on that the effort lasts until all questions are asked (successive halving). "
        f"Dropped by {RACE_METHOD}, at alpha {ALPHA:g}, for the mean over these queries."
    )
    yield Section("How configurations are raced", (method,), detail=Detail.DETAILS)


def _rungs(race: RaceRecord) -> Table:
    columns: list[Column[RungRecord]] = [
        Column("questions asked", lambda rung: f"{rung.queries:,}"),
        Column("configurations", lambda rung: f"{rung.cells:,}", definition="how many were asked"),
        Column("set aside before", lambda rung: f"{rung.set_aside:,}", definition="so that the effort lasts"),
        Column("dropped after", lambda rung: f"{rung.dropped:,}", definition="significantly worse than another"),
        Column("left", lambda rung: f"{rung.left:,}"),
    ]
    return table_from(columns, race.rungs, "Rung by rung")


def _eliminated(result: SweepResult) -> Table:
    columns: list[Column[CellResult]] = [
        Column("configuration", lambda one: one.cell.name, words=True),
        Column("what became of it", lambda one: one.eliminated.reason if one.eliminated else "", words=True),
        Column("questions asked", lambda one: _number(one, "asked", 0)),
        Column(mean_title(result.primary), lambda one: _number(one, "mean", 3)),
        Column(
            "p of being among the best",
            lambda one: p_text(one.eliminated.p) if one.eliminated else "",
            definition="valid whenever one looks; a configuration is dropped if it is small, corrected by Holm",
        ),
    ]
    return table_from(
        columns, result.eliminated, "Configurations that the race eliminated, the furthest first", sortable=True
    )


def _number(one: CellResult, name: str, decimals: int) -> Cell:
    value = float(getattr(one.eliminated, name))
    return Cell(number_text(value, decimals) if decimals else f"{value:,.0f}", value=value)


def effects_of(result: SweepResult) -> FactorEffects | None:
    """Return what each part does; None where no two cells differ in one part alone, or too few queries count."""
    try:
        return result.effects()
    except ConfigurationError:
        return None


def effects_section_of(result: SweepResult, effects: FactorEffects, recommended: str | None) -> Section:
    """Return what each part does as a section, and what the reranker does in the recommended cell.

    Args:
        result: what a sweep found.
        effects: what each part does.
        recommended: the name of the cell that is recommended.
    """
    section = effects_section(effects)
    said = reranker_sentence(result, effects, recommended)
    return replace(section, paragraphs=(*section.paragraphs, said)) if said else section


def reranker_sentence(result: SweepResult, effects: FactorEffects, recommended: str | None) -> str:
    """Return what a reranker does in the recommended cell, or would do; empty where none matters on average.

    Args:
        result: what a sweep found.
        effects: what each part does.
        recommended: the name of the cell that is recommended.
    """
    helpful = [
        one.level
        for factor in effects.factors
        if factor.factor == "reranker"
        for one in factor.shown
        if one.other == NO_RERANKER and one.verdict == "better"
    ]
    entry = next((one for one in result.finished if one.cell.name == recommended), None)
    if not helpful or entry is None:
        return ""
    cells = [replace(entry.cell, reranker=name) for name in dict.fromkeys([entry.cell.reranker, *helpful])]
    names = [cell.name for cell in cells if cell.reranker != NO_RERANKER]
    found = next((one for name in names for one in result.finished if one.cell.name == name), None)
    if found is None or found.evaluation is None or len(found.evaluation.scores.stages) == 1:
        return ""
    row = reranker_lift(found.evaluation, primary=result.primary, seed=result.seed, moved=0).row()
    if row.difference is None or not row.difference.n:
        return ""
    where = "In the recommended configuration" if found is entry else "Added to the recommended configuration"
    decimals = decimals_of(result.primary)
    means = f"{mean_title(result.primary)} {number_text(row.before, decimals)} → {number_text(row.after, decimals)}"
    told = difference_text(row.difference, decimals)
    return f"{where}, the reranker {found.cell.reranker} changes {means}: {told}, {p_equation(row.difference.p)}."


def effects_json(result: SweepResult) -> dict[str, Any] | None:
    """Return what each part does as plain data; None where that cannot be said."""
    found = effects_of(result)
    if found is None:
        return None
    return {
        "n": found.n,
        "cells": found.cells,
        "factors": [
            asdict(one)
            | {"reference": one.reference, "candidates": one.candidates, "sentence": effect_sentence(found, one.factor)}
            for one in found.factors
        ],
        "method": found.method.text,
        "warnings": found.warnings,
        "notes": found.notes,
    }
