"""How single figures are written, and what tables have in common."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

from raglift.metrics import MEASURES
from raglift.printable import printable
from raglift.rendering.document import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table as RichTable

    from raglift.records import LabelSources, Metric
    from raglift.result_records import Method
    from raglift.significance import Interval, PairedDifference

__all__ = [
    "WIDTH",
    "Part",
    "as_text",
    "counted",
    "counts_text",
    "decimals_of",
    "difference_text",
    "differing",
    "effect_text",
    "interval_text",
    "labels_line",
    "labels_of",
    "legend",
    "level",
    "lifted",
    "p_text",
    "signed",
    "table_of",
    "write",
]

Part = str | Table
"""What reports consist of: lines, and tables."""

WIDTH = 100
"""The most columns of a table that is not printed on a terminal."""
LONGEST = 24
"""The longest name of a system that has room in a table beside its figures."""
_SMALLEST_P = 0.0001


def labels_line(sources: LabelSources) -> list[str]:
    """Return whose labels figures rest on, as a line beside them; none where people gave all of them."""
    return [str(sources)] if sources.by_model else []


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 query`, `312 queries`, `43 facts`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} " + (f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")


def decimals_of(metric: Metric) -> int:
    """Return how many decimals a metric is shown with: 3, and 1 for a count of tokens."""
    return 1 if MEASURES[metric.name].is_cost else 3


def interval_text(mean: float, interval: Interval | None, decimals: int = 3) -> str:
    """Return a mean with its interval: `0.682 [0.641, 0.721]`."""
    if math.isnan(mean):
        return "–"
    text = f"{mean:,.{decimals}f}"
    return text if interval is None else f"{text} [{interval.low:,.{decimals}f}, {interval.high:,.{decimals}f}]"


def difference_text(difference: PairedDifference | None, decimals: int = 3) -> str:
    """Return a difference with its interval: `+0.192 [+0.147, +0.234]`."""
    if difference is None or math.isnan(difference.mean):
        return "–"
    mean, low, high = (signed(value, decimals) for value in (difference.mean, difference.low, difference.high))
    return mean if math.isnan(difference.low) else f"{mean} [{low}, {high}]"


def signed(value: float, decimals: int = 3) -> str:
    """Return a difference with its sign; what rounds to 0 has none: `+0.192`, `0.000`."""
    text = f"{value:+,.{decimals}f}"
    return text if text.strip("+-0.,") else text[1:]


def p_text(p: float | None) -> str:
    """Return a p-value: `0.0213`."""
    if p is None or math.isnan(p):
        return "–"
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P / 2 else f"{p:.4f}"


def effect_text(effect_size: float) -> str:
    """Return an effect size: `+0.49`."""
    return "–" if math.isnan(effect_size) else f"{effect_size:+.2f}"


def counts_text(metric: Metric, difference: PairedDifference) -> str:
    """Return wins, ties and losses: `129/136/47`; `–` where more is no win, as of tokens."""
    if MEASURES[metric.name].is_neutral:
        return "–"
    return f"{difference.wins:,}/{difference.ties:,}/{difference.losses:,}"


def level(method: Method) -> str:
    """Return the confidence of the intervals: `95 %`."""
    return f"{method.confidence * 100:g} %"


def labels_of(names: Sequence[str], most: int = LONGEST) -> dict[str, str]:
    """Return what to call systems in a table: their names, or numbers where a name is too long for one."""
    if max(map(len, names), default=0) <= most:
        return {name: name for name in names}
    return {name: f"[{number}]" for number, name in enumerate(names, start=1)}


def legend(labels: Mapping[str, str]) -> list[str]:
    """Return a line for each name that has a number, and an empty one after them."""
    lines = [f"{label:>5} {name}" for name, label in labels.items() if label != name]
    return [*lines, ""] if lines else []


def table_of(
    columns: Sequence[str], rows: Iterable[Sequence[str | Cell]], *, left: Sequence[int] = (0,), caption: str = ""
) -> Table:
    """Return a table of texts and cells.

    Args:
        columns: the titles.
        rows: the cells; an empty row stands for a line between sections.
        left: the columns of names and words, which start at the left and break where they must.
        caption: what the table shows, where no title stands above it.
    """
    cells: list[tuple[Cell, ...]] = []
    sections = []
    for row in rows:
        if row:
            cells.append(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row))
        else:
            sections.append(len(cells))
    return Table(caption, tuple(columns), tuple(cells), tuple(left), tuple(sections))


def lifted(text: str, value: float, *, counts: bool = True) -> Cell:
    """Return a signed difference as a cell: toned where it counts, and quiet where it is 0."""
    if not counts or math.isnan(value):
        return Cell(text)
    return Cell(text, "better" if value > 0 else "worse" if value < 0 else "muted")


def differing(difference: PairedDifference | None, metric: Metric, alpha: float) -> Cell:
    """Return a difference with its interval as a cell: toned where its own p-value is at most alpha."""
    text = difference_text(difference, decimals_of(metric))
    if difference is None or not difference.n:
        return Cell(text)
    return lifted(text, difference.mean, counts=difference.p <= alpha and not MEASURES[metric.name].is_neutral)


_STYLES = {"better": "bold color(32)", "worse": "bold color(166)", "muted": "dim"}
"""Blue and orange, which red-green blindness tells apart, on a dark ground and on a light one."""


def write(console: Console, parts: Iterable[Part], *, wrap: bool = True, roomy: bool = False) -> None:
    """Print lines and tables; nothing in them is markup.

    Args:
        console: where.
        parts: what.
        wrap: break long lines at words.
        roomy: leave more room between columns.
    """
    from rich.text import Text

    for part in parts:
        if isinstance(part, str):
            console.print(Text(printable(part)), soft_wrap=not wrap)
        else:
            console.print(_rich(part, roomy=roomy))


def _rich(table: Table, *, roomy: bool) -> RichTable:
    """Return a table as rich prints it; numbers are never broken, names are where they must."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1) if roomy else (0, 1, 0, 0))
    for number, title in enumerate(table.columns):
        is_words = number in table.words
        shown.add_column(
            Text(printable(title)), justify="left" if is_words else "right", no_wrap=not is_words, overflow="fold"
        )
    for number, row in enumerate(table.rows):
        if number in table.sections:
            shown.add_section()
        shown.add_row(*(Text(printable(cell.text), style=_STYLES.get(cell.tone, "")) for cell in row))
    return shown


def as_text(parts: Iterable[Part], *, width: int = WIDTH, wrap: bool = True, roomy: bool = False) -> str:
    """Return lines and tables as plain text."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, force_jupyter=False)
    write(console, parts, wrap=wrap, roomy=roomy)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())
