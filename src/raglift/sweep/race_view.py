"""What is shown of a race: its rungs, the cells that it eliminated, and the check of its choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Detail, Section, table_from
from raglift.report.format import number_text, p_text, percent_text
from raglift.report.recommendation import check_text
from raglift.stats.racing import RACE_METHOD
from raglift.sweep.race import ALPHA, RungRecord
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

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
            f"the effort ended after {last.queries:,} of {race.queries:,} queries, with {counted(last.left, 'cell')} "
            "left; a larger one with --resume goes on"
        )
    if aside:
        yield (
            f"{counted(len(aside), 'cell')} set aside so that the effort would last: they look worse, and cannot be "
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
        f"{counted(dropped, 'cell')} dropped as significantly worse: any of the best is among them in at most "
        f"{percent_text(ALPHA, 0)} of races, however often one looks."
    )
    yield Section("The race", (said,), (_rungs(race),))
    if detail < Detail.DETAILS:
        return
    if result.eliminated:
        yield Section("Eliminated cells", tables=(_eliminated(result),), detail=Detail.DETAILS)
    method = (
        "All cells are asked the first queries, in batches with each tag in its share; from rung to rung the queries "
        "grow by half, and so many cells go on that the effort lasts until all queries are asked (successive halving). "
        f"Dropped by {RACE_METHOD}, at alpha {ALPHA:g}, for the mean over these queries."
    )
    yield Section("How cells are raced", (method,), detail=Detail.DETAILS)


def _rungs(race: RaceRecord) -> Table:
    columns: list[Column[RungRecord]] = [
        Column("queries asked", lambda rung: f"{rung.queries:,}"),
        Column("cells", lambda rung: f"{rung.cells:,}", definition="how many were asked"),
        Column("set aside before", lambda rung: f"{rung.set_aside:,}", definition="so that the effort lasts"),
        Column("dropped after", lambda rung: f"{rung.dropped:,}", definition="significantly worse than another"),
        Column("left", lambda rung: f"{rung.left:,}"),
    ]
    return table_from(columns, race.rungs, "Rung by rung")


def _eliminated(result: SweepResult) -> Table:
    columns: list[Column[CellResult]] = [
        Column("cell", lambda one: one.cell.name, words=True),
        Column("what became of it", lambda one: one.eliminated.reason if one.eliminated else "", words=True),
        Column("queries asked", lambda one: _number(one, "asked", 0)),
        Column(mean_title(result.primary), lambda one: _number(one, "mean", 3)),
        Column(
            "p of being among the best",
            lambda one: p_text(one.eliminated.p) if one.eliminated else "",
            definition="valid whenever one looks; a cell is dropped if it is small, corrected by Holm",
        ),
    ]
    return table_from(columns, result.eliminated, "Cells that the race eliminated, the furthest first", sortable=True)


def _number(one: CellResult, name: str, decimals: int) -> Cell:
    value = float(getattr(one.eliminated, name))
    return Cell(number_text(value, decimals) if decimals else f"{value:,.0f}", value=value)
