"""What is shown of settings that were tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Detail, Document, Section, Table, row_of, table_from
from raglift.report.format import brackets, interval_in_words, number_text, p_equation, percent_text, signed

if TYPE_CHECKING:
    from raglift.analysis.tuning import Tuning

_MOST_ROWS = 10
_CONFIDENCE = "95%"


def tuning_view(found: Tuning) -> Document:
    """Return what is shown of settings that were tuned."""
    return Document(
        f"Tuned: {' and '.join(found.systems)}",
        _lead(found),
        _figures(found),
        (),
        sections=(
            Section("Settings", tables=(_settings(found),)),
            Section("Method", (_method(found),), detail=Detail.DETAILS),
        ),
    )


def _lead(found: Tuning) -> str:
    name, best = mean_title(found.metric), found.settings[found.best]
    gained = f"{signed(found.difference.mean)} ({interval_in_words(found.difference, _CONFIDENCE, signs=True)}"
    said = f"on queries that took no part in the choice, tuning gains {gained}, {p_equation(found.difference.p)})"
    if found.best == 0:
        return f"Keep {found.settings[0]}: no other setting has a higher {name}; {said}."
    return f"Use {best}: {name} {number_text(found.means[found.best])}; {said}."


def _figures(found: Tuning) -> Table:
    rows = (
        ("without tuning", str(found.settings[0]), Cell(number_text(found.means[0]), value=found.means[0])),
        (
            "tuned, on other queries",
            "as chosen",
            Cell(number_text(found.tuned), value=found.tuned, interval=brackets(found.tuned_interval)),
        ),
        (
            "best, on all queries: optimistic",
            str(found.settings[found.best]),
            Cell(number_text(found.means[found.best]), value=found.means[found.best]),
        ),
    )
    columns = ("", "setting", mean_title(found.metric))
    return Table("What tuning gains", columns, tuple(map(row_of, rows)), text_columns=(0, 1), confidence=_CONFIDENCE)


def _settings(found: Tuning) -> Table:
    chosen, total = dict(found.chosen), found.folds * found.repeats
    columns: list[Column[int]] = [
        Column("setting", lambda number: str(found.settings[number]), words=True),
        Column(
            mean_title(found.metric), lambda number: Cell(number_text(found.means[number]), value=found.means[number])
        ),
        Column(
            "chosen",
            lambda number: percent_text(chosen.get(number, 0) / total, 0),
            value=lambda number: chosen.get(number, 0),
            definition="in how many of the folds it was chosen; where many are, they are hardly different",
        ),
    ]
    ordered = sorted(range(len(found.settings)), key=lambda number: -found.means[number])[:_MOST_ROWS]
    caption = f"The best of {len(found.settings):,} settings, on all queries"
    return table_from(columns, ordered, caption, sortable=True)


def _method(found: Tuning) -> str:
    return (
        f"{found.queries:,} queries in {found.folds} folds, {found.repeats} times: for each fold the setting that is "
        "best on the others is measured on it (nested cross-validation). No system was asked."
    )
