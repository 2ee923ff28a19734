"""Failures by cause, as tables and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.diagnosis.failures import failures_of
from raglift.rendering.document import Cell, Table

if TYPE_CHECKING:
    from raglift.result_records import EvaluationRecord

__all__ = ["failures_lines", "failures_table"]

_CAUSES_SHOWN = 8
_QUERIES_NAMED = 3


def failures_table(evaluation: EvaluationRecord, *, most: int | None = None) -> Table | None:
    """Return causes, how many queries each took, and which; None where no query failed.

    Args:
        evaluation: what was measured.
        most: how many queries are named a cause; None for all.
    """
    found = failures_of(evaluation.run)
    if not found:
        return None
    rows = tuple(
        (
            Cell(failure.cause),
            Cell(f"{len(failure.query_ids):,}"),
            Cell(failure.first),
            Cell(_named(failure.query_ids, most)),
        )
        for failure in found
    )
    caption = "Why queries failed"
    return Table(
        caption, ("cause", "queries", "the first error", "which"), rows, words=(0, 2, 3), rests_on_labels=False
    )


def failures_lines(evaluation: EvaluationRecord) -> list[str]:
    """Return a line a cause, the commonest first; none where all queries failed of one cause, or none failed."""
    found = failures_of(evaluation.run)
    if len(found) < 2:
        return []
    width = len(f"{len(found[0].query_ids):,}")
    lines = [
        f"  {len(failure.query_ids):>{width},}  {failure.cause}: {_named(failure.query_ids, _QUERIES_NAMED)}"
        for failure in found[:_CAUSES_SHOWN]
    ]
    rest = sum(len(failure.query_ids) for failure in found[_CAUSES_SHOWN:])
    more = [f"  {rest:>{width},}  of {len(found) - _CAUSES_SHOWN:,} other causes"] if rest else []
    return ["Why queries failed:", *lines, *more]


def _named(ids: tuple[str, ...], most: int | None) -> str:
    shown = ids if most is None else ids[:most]
    more = f" and {len(ids) - len(shown):,} more" if len(ids) > len(shown) else ""
    return ", ".join(shown) + more
