"""Results of commands as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.report.recommendation import next_sentence, recommendation_sentence
from raglift.types.metric import Metric
from raglift.utilities.display import UNPRINTABLE

if TYPE_CHECKING:
    import pandas as pd

    from raglift.analysis.recommendation import Recommendation
    from raglift.gating.deciding import GateResult
    from raglift.gating.records import Check, RegressedQuery, Regression
    from raglift.types.labels import LabelSources
    from raglift.types.rankings import Hit


# What the commands print with `--json`.


def print_json(found: Any) -> None:
    """Print records, mappings, lists and NumPy's numbers as JSON."""
    sys.stdout.write(json_text(found))


def json_text(found: Any) -> str:
    """Return records, mappings, lists and NumPy's numbers as JSON; what is not a finite number is null.

    Texts are untrusted: what a terminal would act on, and what has no UTF-8, is written as its number.
    """
    text = json.dumps(_plain(found), ensure_ascii=False, indent=2)
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one mapping a row; what is missing is None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def labels_json(sources: LabelSources) -> dict[str, Any]:
    """Return the label provenance as a field `labels`; no field if people made all labels."""
    return {"labels": sources.to_dict()} if sources.by_model else {}


def attributes(record: object, *names: str) -> dict[str, Any]:
    """Return some attributes of a record by their names."""
    return {name: getattr(record, name) for name in names}


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return a hit: its rank and score, and its chunk's id, location and text."""
    chunk = hit.chunk
    location = attributes(chunk, "doc_id", "start", "end", "text")
    return {**attributes(hit, "rank", "score"), "chunk_id": chunk.id, **location}


def recommendation_json(found: Recommendation) -> dict[str, Any]:
    """Return a recommendation with its reasons."""
    return {
        "sentence": recommendation_sentence(found),
        **attributes(found, "recommended", "choice", "is_shown", "best", "best_without_truncation"),
        "difference_to_best_without_truncation": found.to_untruncated,
        **attributes(found, "truncation", "primary", "queries", "queries_needed", "margin", "decided_by"),
        "next": next_sentence(found),
        "held_out_check": found.check,
        "systems": records(found.to_frame()),
        "left_out": found.left_out,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (Metric, Path)):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


# What `raglift gate --json` prints.


def gate_json(result: GateResult) -> dict[str, Any]:
    """Return a gate's result, with every query that did worse."""
    evaluation = result.evaluation
    return {
        "name": result.name,
        "outcome": result.outcome.name.lower(),
        "exit_code": int(result.outcome),
        "dataset": evaluation.dataset.name,
        **labels_json(evaluation.label_sources),
        "queries": len(evaluation.dataset),
        **attributes(result, "expected", "missing"),
        "failed": [attributes(one, "query_id", "error") for one in result.failed],
        "checks": [_check_json(check) for check in result.checks],
        "regressions": [_regression_json(one) for one in result.regressions],
        **attributes(result, "method", "warnings", "notes"),
    }


def _check_json(check: Check) -> dict[str, Any]:
    return {
        **attributes(check, "name", "stage", "found", "bound", "is_minimum", "unit", "passed", "n"),
        "worst": [{"query_id": query, "value": value} for query, value in check.worst],
        **attributes(check, "queries", "note"),
    }


def _regression_json(one: Regression) -> dict[str, Any]:
    figures = attributes(one, "metric", "passed", "before", "after", "difference", "p_holm", "margin")
    more = attributes(one, "minimum_detectable_effect", "too_skewed", "note")
    return {**figures, **more, "regressed": [_flip_json(flip) for flip in one.regressed]}


def _flip_json(flip: RegressedQuery) -> dict[str, Any]:
    sides = (("before", flip.hits_before, flip.matched_before), ("after", flip.hits_after, flip.matched_after))
    rankings = {
        f"hits_{side}": [{**hit_json(hit), "matches": hit.rank in matched} for hit in hits]
        for side, hits, matched in sides
    }
    return {**attributes(flip, "query_id", "text", "before", "after", "error"), **rankings}
