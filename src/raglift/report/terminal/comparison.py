"""Comparisons as tables for a terminal, and as plain text when piped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.comparison import has_costs, tradeoff
from raglift.diagnosis.rejudged import rule_of
from raglift.metrics import MEASURES, mean_title
from raglift.printable import TRUNCATED
from raglift.rendering.document import Cell, table_of
from raglift.report.format import (
    decimals_of,
    difference_text,
    effect_text,
    interval_text,
    labels_line,
    labels_of,
    legend,
    level,
    lifted,
    p_text,
    signed,
    verdict_tone,
)
from raglift.report.terminal.rendering import WIDTH, as_text
from raglift.report.terminal.slices import tradeoff_parts
from raglift.report.words import detectable_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.records import Metric
    from raglift.rendering.document import Part, Table
    from raglift.result_records import Compared, ComparisonRecord
    from raglift.significance import PairedDifference

__all__ = ["comparison_parts", "comparison_text", "exploratory_parts"]

_MOST_COLUMNS = 6
_METRIC, _FIGURE, _GAP = 20, 8, 2
"""Columns that a metric's title, a figure and the space between two of them take."""


def comparison_text(comparison: ComparisonRecord) -> str:
    """Return a comparison as plain text: the primary metric, the exploratory ones, and what to beware of."""
    return as_text(comparison_parts(comparison))


def comparison_parts(comparison: ComparisonRecord) -> Iterator[Part]:
    """Yield the lines and tables of a comparison."""
    labels = labels_of(comparison.names)
    yield _head(comparison)
    yield from labels_line(comparison.label_sources)
    yield ""
    yield from legend(labels)
    yield _primary_table(comparison, labels)
    yield ""
    if any(row.difference is not None and row.difference.n for row in comparison.of(comparison.primary)):
        yield _detail_table(comparison, labels)
        yield ""
    yield from _sentences(comparison)
    if len(comparison.metrics) > 1:
        yield ""
        yield from exploratory_parts(comparison, labels)
    if has_costs(comparison):
        yield ""
        yield from tradeoff_parts(tradeoff(comparison))
    yield ""
    yield from (f"! {warning}" for warning in comparison.warnings)
    yield from (f"· {note}" for note in comparison.notes)
    yield f"Method: {comparison.method.text}; seed {comparison.method.seed}."


def _head(comparison: ComparisonRecord) -> str:
    baseline = comparison.evaluation(comparison.baseline)
    counted = max((row.n for row in comparison.of(comparison.primary)), default=0)
    shared = len(comparison.query_ids)
    queries = f"{shared:,} queries" if counted == shared else f"{shared:,} queries, {counted:,} of them scored"
    profile = "" if baseline.profile == "default" else f", {baseline.profile} conventions"
    return f"{baseline.dataset.name}: {queries}, match by {rule_of(baseline)}{profile}"


def _sorted(comparison: ComparisonRecord) -> list[Compared]:
    """Return the primary metric's rows: the baseline, then the best first."""
    rows = comparison.of(comparison.primary)
    return sorted(rows, key=lambda row: (row.system != comparison.baseline, -_or_least(row.mean)))


def _or_least(mean: float) -> float:
    return -1.0 if math.isnan(mean) else mean


def _primary_table(comparison: ComparisonRecord, labels: Mapping[str, str]) -> Table:
    several = len(comparison.others) > 1
    percent = level(comparison.method)
    title = mean_title(comparison.primary)
    rows = []
    for row in _sorted(comparison):
        mark = TRUNCATED if row.truncated else ""
        is_baseline = row.system == comparison.baseline
        rows.append(
            (
                labels[row.system],
                interval_text(row.mean, row.interval) + mark,
                Cell("baseline", "muted") if is_baseline else _told(row),
                "" if is_baseline else p_text(row.p_holm),
                Cell(row.verdict or "", verdict_tone(row.verdict)),
            )
        )
    columns = ("system", f"{title} [{percent}]", f"difference [{percent}]", "p (Holm)" if several else "p", "")
    return table_of(columns, rows, left=(0, 4))


def _told(row: Compared) -> Cell:
    """Return the difference, toned as its verdict is."""
    return Cell(difference_text(row.difference), tone if (tone := verdict_tone(row.verdict)) != "muted" else "")


def _detail_table(comparison: ComparisonRecord, labels: Mapping[str, str]) -> Table:
    several = len(comparison.others) > 1
    rows = []
    for row in _sorted(comparison):
        found = row.difference
        if found is None or not found.n:
            continue
        cells = [
            labels[row.system],
            f"{found.wins:,}",
            f"{found.ties:,}",
            f"{found.losses:,}",
            effect_text(found.effect_size),
        ]
        rows.append([*cells, *([p_text(found.p)] if several else [])])
    columns = ["query by query", "wins", "ties", "losses", "effect size", *(["p uncorrected"] if several else [])]
    return table_of(columns, rows)


def _sentences(comparison: ComparisonRecord) -> Iterator[str]:
    """Say what the queries can show, and what was found on the half that had no part in the choice."""
    title = mean_title(comparison.primary)
    sizes = [row.detectable for row in comparison.of(comparison.primary) if row.detectable is not None]
    if sizes:
        least, most = f"{min(sizes):.3f}", f"{max(sizes):.3f}"
        about = least if least == most else f"{least} to {most}"
        yield detectable_sentence(about, f"a true difference in {title}")
    held = comparison.held_out
    if held is not None:
        yield (
            f"Held out: {held.system} was best on {len(held.selection):,} queries ({signed(held.selection_difference)} "
            f"there). On the {len(held.held_out):,} others it has {held.mean:.3f}, {comparison.baseline} "
            f"{held.baseline_mean:.3f}: {difference_text(held.difference)}, p {p_text(held.difference.p)}: "
            f"{held.verdict}."
        )


def exploratory_parts(comparison: ComparisonRecord, labels: Mapping[str, str]) -> Iterator[Part]:
    """Show the differences in every other metric, of as many systems as fit."""
    others = [row.system for row in _sorted(comparison) if row.system != comparison.baseline]
    shown = _fitting(labels, comparison.baseline, others)
    alpha = f"{comparison.method.alpha:g}"
    yield (
        f"Exploratory: differences to {comparison.baseline} in the other metrics. * is p ≤ {alpha}, uncorrected: one "
        f"such mark in {1 / comparison.method.alpha:.0f} comes by chance where nothing differs."
    )
    rows: list[tuple[str | Cell, ...]] = []
    family = None
    for metric in comparison.metrics[1:]:
        if family is not None and metric.name != family:
            rows.append(())
        family = metric.name
        rows.append(_exploratory_row(comparison, metric, shown))
    yield table_of(("metric", *(labels[name] for name in (comparison.baseline, *shown))), rows)
    if len(shown) < len(others):
        yield f"The {len(shown)} best in {mean_title(comparison.primary)}; the others are in to_frame() and --json."


def _fitting(labels: Mapping[str, str], baseline: str, others: Sequence[str]) -> list[str]:
    """Return the first systems, as many as fit beside the metric and the baseline: one in any case."""
    room = WIDTH - _METRIC - max(len(labels[baseline]), _FIGURE) - _GAP
    shown: list[str] = []
    for name in others:
        room -= max(len(labels[name]), _FIGURE) + _GAP
        if shown and (room < 0 or len(shown) == _MOST_COLUMNS):
            break
        shown.append(name)
    return shown


def _exploratory_row(comparison: ComparisonRecord, metric: Metric, systems: list[str]) -> tuple[str | Cell, ...]:
    decimals = decimals_of(metric)
    cells: list[str | Cell] = []
    for name in systems:
        row = comparison.row(name, metric)
        if row.difference is None or not row.difference.n:
            cells.append(TRUNCATED if row.truncated else "–")
        else:
            cells.append(_hint(row.difference, metric, comparison.method.alpha))
    baseline = comparison.row(comparison.baseline, metric)
    mean = "–" if baseline.n == 0 else f"{baseline.mean:,.{decimals}f}"
    return (mean_title(metric), mean + (TRUNCATED if baseline.truncated else ""), *cells)


def _hint(difference: PairedDifference, metric: Metric, alpha: float) -> Cell:
    """Return a difference with the mark, and the tone, of one whose own p-value is at most alpha."""
    seen = difference.p <= alpha
    text = signed(difference.mean, decimals_of(metric)) + ("*" if seen else " ")
    return lifted(text, difference.mean, counts=seen and not MEASURES[metric.name].is_neutral)
