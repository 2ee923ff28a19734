"""Comparisons as pandas frames."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from raglift.metrics import MEASURES

if TYPE_CHECKING:
    import pandas as pd

    from raglift.records import Metric
    from raglift.result_records import ComparisonRecord, LiftRecord, TagSlicesRecord, TradeoffRecord
    from raglift.significance import Interval, PairedDifference

__all__ = ["comparison_frame", "lift_frame", "slices_frame", "tradeoff_frame"]


def comparison_frame(comparison: ComparisonRecord) -> pd.DataFrame:
    """Return one row a metric and system, the primary metric first.

    Columns: `metric` (as `ndcg@10`), `system`, `stage`, `n`, `mean`, `mean_low`, `mean_high`, `baseline_mean`,
    `difference`, `low`, `high`, `p`, `p_holm`, `wins`, `ties`, `losses`, `effect_size`, `detectable`, `verdict`,
    `exploratory`, `truncated`. What a row does not have (the baseline a difference, an exploratory metric `p_holm`) is
    missing.
    """
    stages = comparison.stages
    rows = [
        {"metric": str(row.metric), "system": row.system, "stage": stages[row.system], "n": row.n, "mean": row.mean}
        | _bounds("mean_", row.interval)
        | {"baseline_mean": row.baseline_mean}
        | _difference(row.difference, row.metric)
        | {
            "p_holm": _or_nan(row.p_holm),
            "detectable": _or_nan(row.detectable),
            "verdict": row.verdict,
            "exploratory": row.exploratory,
            "truncated": row.truncated,
        }
        for row in comparison.rows
    ]
    return _frame(rows)


def lift_frame(lift: LiftRecord) -> pd.DataFrame:
    """Return one row a metric, the primary one first.

    Columns: `metric`, `n`, `before`, `before_low`, `before_high`, `after`, `after_low`, `after_high`, `difference`,
    `low`, `high`, `p`, `wins`, `ties`, `losses`, `effect_size`, `detectable`, `verdict`, `exploratory`, `truncated`.
    """
    rows = [
        {"metric": str(row.metric), "n": row.n, "before": row.before}
        | _bounds("before_", row.before_interval)
        | {"after": row.after}
        | _bounds("after_", row.after_interval)
        | _difference(row.difference, row.metric)
        | {
            "detectable": _or_nan(row.detectable),
            "verdict": row.verdict,
            "exploratory": row.exploratory,
            "truncated": row.truncated,
        }
        for row in lift.rows
    ]
    return _frame(rows)


def slices_frame(slices: TagSlicesRecord) -> pd.DataFrame:
    """Return one row a tag and system.

    Columns: `tag` (missing for queries without any), `system`, `n`, `few`, `mean`, `mean_low`, `mean_high`,
    `baseline_mean`, `difference`, `low`, `high`, `p`, `wins`, `ties`, `losses`, `effect_size`.
    """
    rows = [
        {"tag": one.tag, "system": one.system, "n": one.n, "few": one.few, "mean": one.mean}
        | _bounds("mean_", one.interval)
        | {"baseline_mean": _or_nan(one.baseline_mean)}
        | _difference(one.difference, slices.metric)
        for one in slices.slices
    ]
    return _frame(rows)


def tradeoff_frame(tradeoff: TradeoffRecord) -> pd.DataFrame:
    """Return one row a system: `system`, `quality`, each cost, `on_front`, `beaten_by`, `left_out` (why)."""
    import pandas as pd

    rows = [
        {"system": one.system, "quality": one.quality}
        | {cost: one.costs.get(cost, math.nan) for cost in tradeoff.costs}
        | {"on_front": one.on_front, "beaten_by": one.beaten_by, "left_out": one.left_out}
        for one in tradeoff.systems
    ]
    return pd.DataFrame(rows)


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows).astype(dict.fromkeys(("wins", "ties", "losses"), "Int64") if rows else {})


def _bounds(prefix: str, interval: Interval | None) -> dict[str, float]:
    low, high = (math.nan, math.nan) if interval is None else interval
    return {f"{prefix}low": low, f"{prefix}high": high}


def _difference(found: PairedDifference | None, metric: Metric) -> dict[str, Any]:
    """Return the columns of a difference; missing values where there is none.

    Wins and losses are missing too where more is no win, as of tokens.
    """
    counted = None if MEASURES[metric.name].is_neutral else found
    return {
        "difference": math.nan if found is None else found.mean,
        "low": math.nan if found is None else found.low,
        "high": math.nan if found is None else found.high,
        "p": math.nan if found is None else found.p,
        "wins": None if counted is None else counted.wins,
        "ties": None if counted is None else counted.ties,
        "losses": None if counted is None else counted.losses,
        "effect_size": math.nan if found is None else found.effect_size,
    }


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
