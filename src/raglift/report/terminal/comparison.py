"""Comparisons for a terminal, with their slices by tag and their costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.analysis.tradeoffs import has_costs, tradeoff
from raglift.analysis.truncation import marked
from raglift.analysis.upper_bound import rule_of
from raglift.base.display import TRUNCATED
from raglift.metrics.computing import mean_title
from raglift.metrics.registry import MEASURES
from raglift.rendering.document import Cell, table_of
from raglift.report.fairness import columns_beside, fairness_sentences
from raglift.report.format import (
    cost_text,
    cost_title,
    decimals_of,
    difference_text,
    differing,
    effect_text,
    interval_text,
    labels_line,
    labels_of,
    legend,
    level,
    lifted,
    p_text,
    place_text,
    signed,
    table_metrics,
    verdict_emphasis,
)
from raglift.report.sentences import (
    EXPLORATORY,
    ON_THE_FRONT,
    baseline_sentence,
    best_lines,
    detectable_effect_sentence,
)
from raglift.report.terminal.rendering import WIDTH, as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.analysis.records import ComparisonRecord, ComparisonRow, TagSlice, TagSlicesRecord, TradeoffRecord
    from raglift.records.metric import Metric
    from raglift.rendering.document import Part, Table
    from raglift.stats.paired_tests import PairedDifference


# Slices by tag, and cost against quality, as tables.


_FEW = "‡"
_LONGEST = 15


def slices_text(slices: TagSlicesRecord) -> str:
    """Return one row per tag and system as plain text."""
    return as_text(slices_parts(slices))


def tradeoff_text(tradeoff: TradeoffRecord) -> str:
    """Return quality and costs of each system as plain text, the best quality first."""
    return as_text(tradeoff_parts(tradeoff))


def slices_parts(slices: TagSlicesRecord) -> Iterator[Part]:
    """Yield the lines and the table of slices by tag."""
    name = mean_title(slices.metric)
    if not slices.slices:
        yield f"{name} by tag: no labelled query has a tag."
        return
    beside = f", and the difference to {slices.baseline}" if slices.baseline is not None else ""
    yield f"{name} by tag{beside}. {EXPLORATORY}"
    yield from labels_line(slices.label_sources)
    percent = level(slices.method)
    systems = list(dict.fromkeys(one.system for one in slices.slices))
    several = len(systems) > 1
    labels = labels_of(systems, _LONGEST)
    yield from legend(labels) if several else ()
    columns = ["tag", "n", f"mean [{percent}]"]
    columns[1:1] = ["system"] if several else []
    columns += [f"difference [{percent}]", "p"] if slices.baseline is not None else []
    yield table_of(columns, _slice_rows(slices, labels if several else {}), left=(0, 1) if several else (0,))
    if any(one.few for one in slices.slices):
        yield f"{_FEW} fewer than {slices.slices[0].FEW} queries: these figures say little"


def _slice_rows(slices: TagSlicesRecord, labels: Mapping[str, str]) -> Iterator[tuple[str | Cell, ...]]:
    decimals = decimals_of(slices.metric)
    tag: str | None = ""
    for one in slices.slices:
        is_first = one.tag != tag
        if labels and is_first and tag != "":
            yield ()
        tag = one.tag
        label = "(no tag)" if one.tag is None else one.tag
        cells: list[str | Cell] = [
            label if is_first else "",
            *([labels[one.system]] if labels else []),
            f"{one.n:,}" + _FEW * one.few,
        ]
        cells.append(interval_text(one.mean, one.interval, decimals))
        cells += _slice_difference(one, slices) if slices.baseline is not None else []
        yield tuple(cells)


def _slice_difference(one: TagSlice, slices: TagSlicesRecord) -> list[str | Cell]:
    if one.baseline_mean is None:
        return [Cell("baseline", "muted"), ""]
    p = None if one.difference is None else one.difference.p
    return [differing(one.difference, slices.metric, slices.method.alpha), p_text(p)]


def tradeoff_parts(tradeoff: TradeoffRecord) -> Iterator[Part]:
    """Yield the lines and the table of quality and costs."""
    name = mean_title(tradeoff.quality)
    yield f"{name} beside {' and '.join(map(cost_title, tradeoff.costs))}"
    yield from labels_line(tradeoff.label_sources)
    labels = labels_of([one.system for one in tradeoff.systems])
    yield from legend(labels)
    rows = sorted(tradeoff.systems, key=lambda one: (one.left_out is not None, -one.quality))
    cells = [
        (
            labels[one.system],
            interval_text(one.quality, None),
            *(cost_text(one, cost) for cost in tradeoff.costs),
            place_text(one, labels),
        )
        for one in rows
    ]
    columns = ("system", name, *map(cost_title, tradeoff.costs), "")
    yield table_of(columns, cells, left=(0, len(columns) - 1))
    yield ON_THE_FRONT
    yield from (f"! {note}" for note in tradeoff.notes)


# Comparisons as tables for a terminal, and as plain text when piped.


_MOST_COLUMNS = 6
_MEAN = " (mean)"
_METRIC, _FIGURE, _GAP = 20, 8, 2
"""Columns that a metric's title, a figure and the space between two of them take."""


def comparison_text(comparison: ComparisonRecord) -> str:
    """Return a comparison as plain text: the primary metric, the exploratory ones, and warnings."""
    return as_text(comparison_parts(comparison))


def comparison_parts(comparison: ComparisonRecord) -> Iterator[Part]:
    """Yield the lines and tables of a comparison."""
    labels = labels_of(comparison.names)
    yield _head(comparison)
    yield from labels_line(comparison.label_sources)
    yield from fairness_sentences(comparison)
    yield ""
    yield from legend(labels)
    yield _primary_table(comparison, labels)
    yield from _beside(comparison, labels)
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


def _sorted(comparison: ComparisonRecord) -> list[ComparisonRow]:
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
                marked(labels[row.system], comparison.evaluation(row.system)),
                interval_text(row.mean, row.interval) + mark,
                Cell("baseline", "muted") if is_baseline else _told(row),
                "" if is_baseline else p_text(row.p_holm),
                Cell(row.verdict or "", verdict_emphasis(row.verdict)),
            )
        )
    columns = ("system", f"{title} [{percent}]", f"difference [{percent}]", "p (Holm)" if several else "p", "")
    return table_of(columns, rows, left=(0, 4))


def _beside(comparison: ComparisonRecord, labels: Mapping[str, str]) -> Iterator[Part]:
    """Yield the means that do not decide, where chunks differ: a table of its own, since both would be too wide."""
    columns = columns_beside(comparison)
    if columns:
        yield ""
        rows = [
            (labels[row.system], *(means.get(row.system, "–") for means in columns.values()))
            for row in _sorted(comparison)
        ]
        yield table_of((f"beside {mean_title(comparison.primary)}", *columns), rows)


def _told(row: ComparisonRow) -> Cell:
    """Return the difference, toned as its verdict is."""
    return Cell(
        difference_text(row.difference), emphasis if (emphasis := verdict_emphasis(row.verdict)) != "muted" else ""
    )


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
    """Name the baseline and the best, and say what the queries can show, and what was found on the half held out."""
    title = mean_title(comparison.primary)
    yield baseline_sentence(comparison)
    yield from best_lines(comparison)
    sizes = [
        row.minimum_detectable_effect
        for row in comparison.of(comparison.primary)
        if row.minimum_detectable_effect is not None
    ]
    if sizes:
        least, most = f"{min(sizes):.3f}", f"{max(sizes):.3f}"
        about = least if least == most else f"{least} to {most}"
        yield detectable_effect_sentence(about, title)
    held = comparison.held_out
    if held is not None:
        second = f" over {held.baseline}, the second best" if held.of_all else ""
        yield (
            f"Held out: {held.system} was best on {len(held.selection):,} queries ({signed(held.selection_difference)} "
            f"there{second}). On the {len(held.held_out):,} others it has {held.mean:.3f}, {held.baseline} "
            f"{held.baseline_mean:.3f}: {difference_text(held.difference)}, p {p_text(held.difference.p)}: "
            f"{held.verdict}."
        )


def exploratory_parts(comparison: ComparisonRecord, labels: Mapping[str, str]) -> Iterator[Part]:
    """Show the differences in every other metric, of as many systems as fit."""
    others = [row.system for row in _sorted(comparison) if row.system != comparison.baseline]
    shown = _fitting(labels, comparison.baseline, others)
    alpha = f"{comparison.method.alpha:g}"
    yield (
        f"Exploratory: differences to {comparison.baseline} in the other metrics (Δ), beside its means. * is "
        f"p ≤ {alpha}, uncorrected: one such mark in {1 / comparison.method.alpha:.0f} comes by chance where nothing "
        "differs."
    )
    rows: list[tuple[str | Cell, ...]] = []
    family = None
    for metric in table_metrics(comparison.metrics)[1:]:
        if family is not None and metric.name != family:
            rows.append(())
        family = metric.name
        rows.append(_exploratory_row(comparison, metric, shown))
    yield table_of(("metric", f"{labels[comparison.baseline]}{_MEAN}", *(f"Δ {labels[name]}" for name in shown)), rows)
    if len(shown) < len(others):
        yield f"The {len(shown)} best in {mean_title(comparison.primary)}; the others are in to_frame() and --json."


def _fitting(labels: Mapping[str, str], baseline: str, others: Sequence[str]) -> list[str]:
    """Return the first systems, as many as fit next to the metric and the baseline: one in any case."""
    room = WIDTH - _METRIC - max(len(labels[baseline]) + len(_MEAN), _FIGURE) - _GAP
    shown: list[str] = []
    for name in others:
        room -= max(len(labels[name]) + len("Δ "), _FIGURE) + _GAP
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
    """Return a difference with the mark and the emphasis of one whose own p-value is at most alpha."""
    seen = difference.p <= alpha
    text = signed(difference.mean, decimals_of(metric)) + ("*" if seen else " ")
    return lifted(text, difference.mean, counts=seen and not MEASURES[metric.name].is_neutral)
