"""What the parts of a sweep's cells do, in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.analysis.paired_statistics import TOO_SKEWED
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Column, Document, Section, Table, table_from
from raglift.report.cells import change_cell, verdict_cell
from raglift.report.format import (
    MINUS,
    decimals_of,
    difference_text,
    level,
    p_text,
    verdict_emphasis,
)
from raglift.utilities.display import counted, listed

if TYPE_CHECKING:
    from raglift.analysis.factors import (
        FactorEffect,
        FactorEffects,
        LevelDifference,
    )


EFFECTS = "Effect of each setting"
"""The heading."""
_MOST_LEVELS = 10
"""As many levels of a part are shown, those with the largest means."""
_MOST_NAMED = 4
_PLURALS = {"embedding": "embedding models"}


def effects_section(effects: FactorEffects) -> Section:
    """Return what each part does as a section: what is left open, and a table of levels."""
    return Section(
        EFFECTS,
        (_intro(effects), *_open(effects), *effects.notes),
        (_table(effects),),
    )


def effects_view(effects: FactorEffects) -> Document:
    """Return what each part does."""
    section = effects_section(effects)
    return Document(
        EFFECTS,
        " ".join(_capital(f"{effect_sentence(effects, one.factor)}.") for one in effects.factors),
        section.tables[0],
        (),
        warnings=effects.warnings,
        notes=section.paragraphs[1:],
        about=section.paragraphs[:1],
        labels=str(effects.label_sources),
    )


def effect_sentence(effects: FactorEffects, factor: str) -> str:
    """Return what one part does, in a sentence without its full stop.

    For example `the reranker cross-encoder adds +0.131 [+0.102, +0.160]`.
    """
    found, decimals = effects.factor(factor), decimals_of(effects.primary)
    return _among_levels(found, decimals) if found.without is None else _added(found, decimals)


def _intro(effects: FactorEffects) -> str:
    """Return what is compared, and how intervals and p-values are to be read."""
    return (
        f"{mean_title(effects.primary)} of configurations that differ in one setting only, over "
        f"{counted(effects.n, 'question')}. The {level(effects.method)} intervals and p-values of a setting are "
        "corrected for all pairs of its options."
    )


def _table(effects: FactorEffects) -> Table:
    """Return each level of each part minus its reference."""
    rows: list[LevelDifference] = []
    sections = []
    left: list[str] = []
    for factor in effects.factors:
        sections.append(len(rows))
        shown = sorted(factor.shown, key=lambda one: -one.mean)[:_MOST_LEVELS]
        rows += [one for one in factor.shown if one in shown]
        if len(factor.shown) > len(shown):
            left.append(f"{factor.factor}: the {_MOST_LEVELS} best of {len(factor.shown)} options")
    caption = f"{mean_title(effects.primary)} by setting: each option minus the best, or minus none"
    table = table_from(_columns(effects), rows, "; ".join([caption, *left]), confidence=level(effects.method))
    lines = tuple(sections[1:]) if len(rows) > len(sections) else ()
    return replace(table, sections=lines)


def _columns(effects: FactorEffects) -> list[Column[LevelDifference]]:
    decimals = decimals_of(effects.primary)
    return [
        Column("setting", lambda one: one.factor, words=True),
        Column("option", lambda one: f"{one.level} {MINUS} {one.other}{_averaged(one)}", words=True),
        Column("difference", lambda one: change_cell(one, decimals, verdict_emphasis(one.verdict))),
        Column("p", lambda one: p_text(one.p), value=lambda one: one.p),
        Column("verdict", lambda one: verdict_cell(one.verdict), words=True),
        Column(
            "pairs compared",
            lambda one: f"{one.contexts:,}",
            value=lambda one: one.contexts,
            definition="Pairs of configurations that differ in this setting only",
            optional=True,
        ),
    ]


def _averaged(one: LevelDifference) -> str:
    """Return over what a difference is averaged that only one side has: ` (mean of 2 embedding models)`."""
    named = ", ".join(f"{count} {_PLURALS.get(part, f'{part}s')}" for part, count in one.averaged)
    return f" (mean of {named})" if named else ""


def _open(effects: FactorEffects) -> Iterator[str]:
    """Yield which levels cannot be told from the best, and why some differences decide nothing."""
    several = [one for one in effects.factors if len(one.candidates) > 1]
    if several:
        candidates = "; ".join(f"{one.factor}: {listed(one.candidates, _MOST_NAMED)}" for one in several)
        yield f"No clear winner among: {candidates}."
    if any(one.verdict == TOO_SKEWED for factor in effects.factors for one in factor.shown):
        yield (
            f"{TOO_SKEWED}: at most one question differs by much against the mean; more such questions, too rare to be "
            f"among these {counted(effects.n, 'question')}, could outweigh them"
        )


def _added(found: FactorEffect, decimals: int) -> str:
    """Return what a part adds that can be left out."""
    additions = [f"{one.level} {_effect_of(one, decimals)}" for one in found.shown]
    return f"the {found.factor} {listed(additions, _MOST_NAMED)}"


def _effect_of(one: LevelDifference, decimals: int) -> str:
    text = difference_text(one, decimals)
    if one.verdict == "better":
        return f"adds {text}"
    if one.verdict == "worse":
        return f"costs {text}"
    if one.verdict == TOO_SKEWED:
        return f"has {text}, {TOO_SKEWED}"
    return f"has no effect beyond noise ({text})"


def _among_levels(found: FactorEffect, decimals: int) -> str:
    """Return which levels of a part are best."""
    others = [level for level in found.levels if level not in found.candidates]
    if not others:
        return f"none of the {len(found.levels):,} {found.factor}s can be told from the best"
    behind = [one for one in found.shown if one.level in others]
    next_one = max(behind, key=lambda one: one.mean).turned if behind else None
    ahead = "" if next_one is None else f", {difference_text(next_one, decimals)} over {next_one.other}"
    if len(found.candidates) == 1:
        the_next = ", the next" if len(others) > 1 and ahead else ""
        return f"the {found.factor} {found.candidates[0]} is best{ahead}{the_next}"
    return f"of {len(found.levels):,} {found.factor}s, {listed(found.candidates, _MOST_NAMED)} may be the best"


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
