"""What each part of a sweep's cells does, and what the reranker does in the recommended one."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from raglift.analysis.lift import reranker_lift
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.report.factors import effect_sentence, effects_section
from raglift.report.format import decimals_of, difference_text, number_text, p_equation
from raglift.sweep.specification.cells import NO_RERANKER

if TYPE_CHECKING:
    from raglift.analysis.factors import FactorEffects
    from raglift.rendering.document import Section
    from raglift.sweep.result import SweepResult


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
    where = "In the recommended cell" if found is entry else "Added to the recommended cell"
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
