"""Reranker lift as a table, with the queries that moved most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.diagnosis.rejudged import rule_of
from raglift.metrics import mean_title, title
from raglift.printable import TRUNCATED, counted, excerpt
from raglift.rendering.document import table_of
from raglift.report.format import (
    counts_text,
    decimals_of,
    difference_text,
    differing,
    effect_text,
    interval_text,
    labels_line,
    level,
    p_text,
)
from raglift.report.terminal.rendering import WIDTH, as_text
from raglift.report.words import detectable_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.rendering.document import Cell, Part
    from raglift.result_records import Lifted, LiftRecord, Moved

__all__ = ["lift_parts", "lift_text"]

_BESIDE = 30
"""Columns that the figures and gaps take beside a query's id and question."""
_LEAST = 20


def lift_text(lift: LiftRecord) -> str:
    """Return what reranking changed, as plain text."""
    return as_text(lift_parts(lift))


def lift_parts(lift: LiftRecord) -> Iterator[Part]:
    """Yield the lines and tables of a reranker lift: the primary metric, the others, and the queries that moved."""
    evaluation = lift.evaluation
    scored = f", {lift.row().n:,} of them scored" if lift.row().n < len(evaluation.dataset) else ""
    queries = f"{counted(len(evaluation.dataset), 'query')}{scored}"
    yield f"{evaluation.dataset.name}: {queries}, match by {rule_of(evaluation)}"
    yield from (f"  {stage.name}: {stage.system}" for stage in evaluation.run.stages)
    yield from labels_line(lift.label_sources)
    yield ""
    yield from _sentences(lift)
    yield ""
    percent = level(lift.method)
    columns = ("metric", "before", "after", f"lift [{percent}]", "p", "win/tie/loss")
    yield table_of(columns, lift_rows(lift))
    yield f"{mean_title(lift.primary)} decides; the other metrics are exploratory, and their p-values not corrected."
    if any(row.truncated for row in lift.rows):
        yield f"{TRUNCATED} k is deeper than the reranker returned: there is no fair pair"
    yield ""
    found = lift.row().difference
    if found is not None:
        yield from _moved(lift, "up", lift.up, found.wins)
        yield from _moved(lift, "down", lift.down, found.losses)
    yield from (f"! {warning}" for warning in lift.warnings)
    yield f"Method: {lift.method.text}; seed {lift.method.seed}."


def _sentences(lift: LiftRecord) -> Iterator[str]:
    """Say what was found on the primary metric."""
    row, evaluation = lift.row(), lift.evaluation
    name = mean_title(lift.primary)
    if row.difference is None or not row.difference.n:
        yield f"{name}: no fair pair, so nothing is said about the lift."
        return
    yield (
        f"{name} is {interval_text(row.before, row.before_interval)} before ({evaluation.before}) and "
        f"{interval_text(row.after, row.after_interval)} after ({evaluation.after})."
    )
    yield (
        f"Lift {difference_text(row.difference)} at {level(lift.method)}, p {p_text(row.difference.p)}: {row.verdict}."
    )
    found = row.difference
    yield (
        f"{counted(found.wins, 'query')} won, {found.ties:,} tied, {found.losses:,} lost; effect size "
        f"{effect_text(found.effect_size)}."
    )
    if row.detectable is not None:
        yield detectable_sentence(f"{row.detectable:.3f}", "a true lift")


def lift_rows(lift: LiftRecord) -> list[tuple[str | Cell, ...]]:
    """Return a row a metric, and an empty one between families; the primary metric stands first."""
    rows: list[tuple[str | Cell, ...]] = [_row(lift.rows[0], lift.method.alpha)]
    family = None
    for row in lift.rows[1:]:
        if row.metric.name != family:
            rows.append(())
        family = row.metric.name
        rows.append(_row(row, lift.method.alpha))
    return rows


def _row(row: Lifted, alpha: float) -> tuple[str | Cell, ...]:
    mark = TRUNCATED if row.truncated else ""
    decimals = decimals_of(row.metric)
    means = (interval_text(row.before, None, decimals), interval_text(row.after, None, decimals) + mark)
    found = row.difference
    if found is None or not found.n:
        return (mean_title(row.metric), *means, "–", "–", "–")
    return (
        mean_title(row.metric),
        *means,
        differing(found, row.metric, alpha),
        p_text(found.p),
        counts_text(row.metric, found),
    )


def _moved(lift: LiftRecord, where: str, queries: tuple[Moved, ...], moved: int) -> Iterator[Part]:
    """Yield the queries that moved most in one direction, of so many that did."""
    if not moved:
        yield f"No query moved {where} in {title(lift.primary)}."
    if not queries:
        return
    rows = [
        (
            one.query_id,
            f"{one.before:.3f} → {one.after:.3f}",
            f"{_rank(one.rank_before)} → {_rank(one.rank_after)}",
            _short(one.text, WIDTH - _BESIDE - max(len(other.query_id) for other in queries)),
        )
        for one in queries
    ]
    yield table_of((f"moved {where} most", title(lift.primary), "first fact", "question"), rows, left=(0, 3))
    yield ""


def _rank(rank: int | None) -> str:
    return "none" if rank is None else str(rank)


def _short(text: str, room: int) -> str:
    """Return as much of a question as fits in one line, and some of it in any case."""
    return excerpt(text, max(room, _LEAST))
