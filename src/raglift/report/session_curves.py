"""Recall of sessions after each call and after so many tokens: as small charts, and as tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.rendering.document import Cell, Curve, Steps, Table, row_of
from raglift.report.format import number_text, percent_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.analysis.sessions import SessionAnalysisRecord

    Analyses = Mapping[str, SessionAnalysisRecord]
    """What was found of each agent, by name; of one alone the name is empty."""


_CALLS_SHOWN = 10
_TOKENS_SHOWN = 6
_MOST_STEPS = 120
_FEW_TICKS = 8
_TOLD = 8


def session_curves(analyses: Analyses, baseline: str = "") -> tuple[Curve, ...]:
    """Return both curves as charts; none where no agent made a call.

    Args:
        analyses: what was found of each agent, by name.
        baseline: the one that the others are compared with, if there are others.
    """
    longest = max((len(one.recall_after) for one in analyses.values()), default=0)
    if not longest or all(not one.facts for one in analyses.values()):
        return ()
    ticks = range(1, longest + 1) if longest <= _FEW_TICKS else _round_steps(longest)
    by_call = {name: [(float(n), recall) for n, recall in _calls(one)] for name, one in analyses.items()}
    curves = [_chart("Recall after each call", by_call, longest, tuple(ticks), "after call", baseline)]
    most = max((one.recall_after_tokens[-1][0] for one in analyses.values() if one.recall_after_tokens), default=0)
    if most:
        # Sessions of few queries have few steps; those of thousands as many as a line can show
        by_tokens = {name: _thinned(one.recall_after_tokens) for name, one in analyses.items()}
        estimated = any(one.tokens_estimated for one in analyses.values())
        title = f"Recall after so many tokens{' (about four characters each)' if estimated else ''}"
        curves.append(_chart(title, by_tokens, most, (0, *_round_steps(most)), "after tokens", baseline))
    return tuple(curves)


def _calls(found: SessionAnalysisRecord) -> list[tuple[int, float]]:
    return list(enumerate(found.recall_after, start=1))


def _chart(
    title: str,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    last: float,
    ticks: tuple[float, ...],
    axis: str,
    baseline: str,
) -> Curve:
    told = []
    for name, points in lines.items():
        some = points if len(points) <= _TOLD else [*points[:: math.ceil(len(points) / _TOLD)], points[-1]]
        values = ", ".join(f"{percent_text(share, 0)} {axis} {place:,.0f}" for place, share in some) or "nothing found"
        told.append(f"{name}: {values}" if name else values)
    drawn = tuple(Steps(name, tuple(points), bool(name) and name == baseline) for name, points in lines.items())
    return Curve(title, f"{title}. {'; '.join(told)}.", drawn, float(last), ticks)


def _thinned(points: Sequence[tuple[int, float]]) -> list[tuple[float, float]]:
    """Return at most so many of the steps of a curve, the last of them too."""
    every = max(1, math.ceil(len(points) / _MOST_STEPS))
    some = list(points[every - 1 :: every])
    if points and some[-1:] != [points[-1]]:
        some.append(points[-1])
    return [(float(place), share) for place, share in some]


def _round_steps(most: int, wanted: int = 4) -> tuple[int, ...]:
    """Return a few round numbers up to the largest."""
    magnitude = 10 ** max(0, math.floor(math.log10(max(most, 1))) - 1)
    step = next(
        factor * magnitude for factor in (1, 2, 5, 10, 20, 25, 50, 100) if most / (factor * magnitude) <= wanted + 1
    )
    return tuple(range(step, most + 1, step))


def calls_table(analyses: Analyses) -> Table:
    """Return recall after each call: a row for each number of calls, the last one too where there are many."""
    longest = max((len(one.recall_after) for one in analyses.values()), default=0)
    numbers = list(range(1, longest + 1))
    if longest > _CALLS_SHOWN:
        numbers = [*numbers[: _CALLS_SHOWN - 1], longest]
    alone = analyses.get("")
    rows = []
    for number in numbers:
        cells = [_share_cell(one.recall_after[min(number, len(one.recall_after)) - 1]) for one in analyses.values()]
        sessions = [f"{alone.still_searching[number - 1]:,}"] if alone is not None else []
        rows.append(row_of((str(number), *cells, *sessions)))
    columns = ("recall", "sessions with so many calls") if alone is not None else tuple(analyses)
    return Table("Recall after each call", ("after call", *columns), tuple(rows))


def tokens_table(analyses: Analyses) -> Table | None:
    """Return recall after a few round numbers of tokens, the same for all agents; None where nothing was found."""
    most = max((one.recall_after_tokens[-1][0] for one in analyses.values() if one.recall_after_tokens), default=0)
    if not most:
        return None
    numbers = list(dict.fromkeys([*_early(most), most]))
    rows = tuple(
        row_of((f"{number:,}", *(_share_cell(one.recall_within(number)) for one in analyses.values())))
        for number in numbers
    )
    names = ("recall",) if "" in analyses else tuple(analyses)
    return Table("Recall after so many tokens", ("after tokens", *names), rows)


def _early(most: int) -> list[int]:
    """Return round numbers below the largest, each about twice the one before: early tokens find most."""
    found = [factor * 10**power for power in range(len(str(most))) for factor in (1, 2, 5) if factor * 10**power < most]
    return found[-(_TOKENS_SHOWN - 1) :]


def _share_cell(recall: float) -> Cell:
    if math.isnan(recall):
        return Cell(number_text(recall))
    return Cell(number_text(recall), low=0.0, middle=recall, high=recall, value=recall)
