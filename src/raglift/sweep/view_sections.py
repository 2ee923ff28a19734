"""Parts of a sweep's view: what each part of the cells does, and what limited effort left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from raglift.analysis.lift import reranker_lift
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Detail, Section, Table, table_from
from raglift.report.factors import effect_sentence, effects_section
from raglift.report.format import decimals_of, difference_text, number_text, p_equation, p_text, percent_text
from raglift.report.recommendation import check_text
from raglift.report.sentences import short_name
from raglift.stats.racing import RACE_METHOD
from raglift.sweep.race import ALPHA, RungRecord
from raglift.sweep.specification.cells import NO_RERANKER
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.analysis.factors import FactorEffects
    from raglift.sweep.race_file import RaceRecord
    from raglift.sweep.records import CellResult
    from raglift.sweep.result import SweepResult


def about_race(race: RaceRecord) -> str:
    """Return how much of a whole sweep was done."""
    share = percent_text(race.questions / race.full, 0)
    return f"{race.questions:,} questions asked, {share} of a whole sweep; effort: {race.effort}"


def race_lead(result: SweepResult) -> Iterator[str]:
    """Yield what became of the configurations of a sweep with limited effort; nothing of a whole one."""
    if result.race is None:
        return
    eliminated, early = _eliminated_and_early(result)
    yield (
        f"Of {counted(len(result.results), 'configuration')}, {eliminated:,} "
        f"{'was' if eliminated == 1 else 'were'} eliminated as significantly worse and {early:,} stopped early to save "
        f"effort; {_remaining(result)}."
    )


def _remaining(result: SweepResult) -> str:
    names = [short_name(one.cell.name) for one in result.finished]
    return f"{names[0]} remains" if len(names) == 1 else f"{len(names):,} remain"


def _eliminated_and_early(result: SweepResult) -> tuple[int, int]:
    eliminated = sum(one.eliminated is not None and one.eliminated.is_dropped for one in result.results)
    return eliminated, len(result.eliminated) - eliminated


def race_warnings(result: SweepResult) -> Iterator[str]:
    """Yield that an effort ended before all queries were asked, and that cells cannot be excluded."""
    race = result.race
    if race is None:
        return
    last, (_, early) = race.rungs[-1], _eliminated_and_early(result)
    if last.left > 1 and last.queries < race.queries:
        yield (
            f"the effort ended after {last.queries:,} of {race.queries:,} questions, with "
            f"{counted(last.left, 'configuration')} remaining; a larger one with --resume continues"
        )
    if early:
        yield (
            f"{counted(early, 'configuration')} {'was' if early == 1 else 'were'} stopped early to save effort. They "
            "looked worse, but were not shown to be"
        )


def race_sections(result: SweepResult, detail: Detail) -> Iterator[Section]:
    """Yield the rounds of a sweep with limited effort, and the cells that it eliminated; nothing of a whole sweep."""
    race = result.race
    if race is None:
        return
    if len(result.finished) == 1 and result.check is not None:
        yield Section("Held-out check", (check_text(result.check, result.primary),))
    eliminated, _ = _eliminated_and_early(result)
    said = (
        f"{counted(eliminated, 'configuration')} eliminated as significantly worse (at most a {percent_text(ALPHA, 0)} "
        "risk of eliminating a best one, at any stopping time)."
    )
    yield Section("Rounds", (said,), (_rounds(race),))
    if detail < Detail.DETAILS:
        return
    if result.eliminated:
        yield Section("Eliminated or stopped early", tables=(_eliminated(result),), detail=Detail.DETAILS)
    method = (
        "In the first round every configuration is asked the same few questions, each tag in its share. From round to "
        "round the questions grow by half, and as many configurations continue as the effort allows until all "
        "questions "
        f"are asked (successive halving). Eliminated by {RACE_METHOD}, at alpha {ALPHA:g}, for the mean over these "
        "questions."
    )
    yield Section("How the effort is spent", (method,), detail=Detail.DETAILS)


def _rounds(race: RaceRecord) -> Table:
    columns: list[Column[RungRecord]] = [
        Column("questions asked", lambda rung: f"{rung.queries:,}", definition="each configuration, in all so far"),
        Column("configurations", lambda rung: f"{rung.cells:,}", definition="how many were asked"),
        Column("stopped early", lambda rung: f"{rung.set_aside:,}", definition="before the round, to save effort"),
        Column("eliminated", lambda rung: f"{rung.dropped:,}", definition="after it, as significantly worse"),
        Column("remaining", lambda rung: f"{rung.left:,}"),
    ]
    return table_from(columns, race.rungs, "The rounds, in order")


def _eliminated(result: SweepResult) -> Table:
    columns: list[Column[CellResult]] = [
        Column("configuration", lambda one: one.cell.name, words=True),
        Column("outcome", lambda one: one.eliminated.reason if one.eliminated else "", words=True),
        Column("questions asked", lambda one: _number(one, "asked", 0)),
        Column(mean_title(result.primary), lambda one: _number(one, "mean", 3)),
        Column(
            "p of being among the best",
            lambda one: p_text(one.eliminated.p) if one.eliminated else "",
            definition="valid at any stopping time; a configuration is eliminated if it is small, corrected by Holm",
        ),
    ]
    return table_from(
        columns, result.eliminated, "Configurations that do not remain, the furthest first", sortable=True
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
    """Return what each part does as a section, and what the reranker does in the recommended cell."""
    section = effects_section(effects)
    said = reranker_sentence(result, effects, recommended)
    return replace(section, paragraphs=(*section.paragraphs, said)) if said else section


def reranker_sentence(result: SweepResult, effects: FactorEffects, recommended: str | None) -> str:
    """Return what a reranker does in the recommended cell, or would do; empty where none matters on average."""
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
    where = f"{'In' if found is entry else 'Added to'} {short_name(entry.cell.name)}"
    decimals = decimals_of(result.primary)
    means = f"{mean_title(result.primary)} {number_text(row.before, decimals)} → {number_text(row.after, decimals)}"
    told = f"{difference_text(row.difference, decimals)}, {p_equation(row.difference.p)} (unadjusted)"
    return f"{where}, the reranker {found.cell.reranker} changes {means}: {told}."


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
