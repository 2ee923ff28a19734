"""What a run cost, as `run.json` holds it; runs that were saved before cost was measured have none."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from raglift.records import Cost, IndexCost, StageLatency
from raglift.store.fields import COST, INDEX_COST, LATENCY
from raglift.store.kinds import check_record

__all__ = ["cost_line", "read_cost"]


def cost_line(cost: Cost | None) -> dict[str, Any] | None:
    """Return a cost as it is saved."""
    if cost is None:
        return None
    return {
        "latencies": [_fields(latency) for latency in cost.latencies],
        "whole": None if cost.whole is None else _fields(cost.whole),
        "index": None if cost.index is None else _fields(cost.index),
        "throughput": dict(cost.throughput),
        "tokens_billed": cost.tokens_billed,
        "dollars": cost.dollars,
    }


def read_cost(saved: dict[str, Any] | None) -> Cost | None:
    """Return a cost from what was saved.

    Args:
        saved: from `cost_line`; None for a run without a cost.

    Raises:
        WrongKind: it is not what `cost_line` writes.
    """
    if saved is None:
        return None
    check_record(saved, COST, "cost")
    whole, index = saved["whole"], saved["index"]
    if index is not None:
        check_record(index, INDEX_COST, "cost.index")
    return Cost(
        latencies=tuple(_latency(latency) for latency in saved["latencies"]),
        whole=None if whole is None else _latency(whole),
        index=None if index is None else IndexCost(**{**index, "seconds": _number(index["seconds"])}),
        throughput={stage: _number(rate) for stage, rate in saved["throughput"].items()},
        tokens_billed=saved["tokens_billed"],
        dollars=_number(saved["dollars"]),
    )


def _fields(record: StageLatency | IndexCost) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _latency(saved: dict[str, Any]) -> StageLatency:
    check_record(saved, LATENCY, "cost.latencies")
    return StageLatency(**{**saved, "p50": float(saved["p50"]), "p95": float(saved["p95"])})


def _number(saved: float | str | None) -> float | None:
    """Return a number; NaN and infinities were saved as text."""
    return None if saved is None else float(saved)
