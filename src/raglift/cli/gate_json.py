"""What `raglift gate --json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.cli.json_output import hit_json, labels_json
from raglift.gating import Outcome

if TYPE_CHECKING:
    from raglift.gating import Check, FlippedQuery, GateResult, Regression
    from raglift.gating.undecided import Undecided

__all__ = ["gate_json", "undecided_json"]


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
        "expected": result.expected,
        "missing": result.missing,
        "dropped": result.dropped,
        "failed": [{"query_id": one.query_id, "error": one.error} for one in result.failed],
        "checks": [_check_json(check) for check in result.checks],
        "regressions": [_regression_json(one) for one in result.regressions],
        "method": result.method,
        "warnings": result.warnings,
        "notes": result.notes,
    }


def undecided_json(undecided: Undecided) -> dict[str, Any]:
    """Return why a run that is not measured whole has no result; what a result has is not in it."""
    return {
        "name": undecided.name,
        "outcome": Outcome.INCOMPLETE.name.lower(),
        "exit_code": int(Outcome.INCOMPLETE),
        "reason": undecided.reason,
    }


def _check_json(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "stage": check.stage,
        "found": check.found,
        "bound": check.bound,
        "is_minimum": check.is_minimum,
        "unit": check.unit,
        "passed": check.passed,
        "band": check.band,
        "n": check.n,
        "worst": [{"query_id": query, "value": value} for query, value in check.worst],
        "queries": check.queries,
        "note": check.note,
    }


def _regression_json(one: Regression) -> dict[str, Any]:
    return {
        "metric": str(one.metric),
        "passed": one.passed,
        "before": one.before,
        "after": one.after,
        "difference": one.difference,
        "p_holm": one.p_holm,
        "margin": one.margin,
        "detectable": one.detectable,
        "note": one.note,
        "flipped": [_flip_json(flip) for flip in one.flipped],
    }


def _flip_json(flip: FlippedQuery) -> dict[str, Any]:
    sides = (("before", flip.hits_before, flip.matched_before), ("after", flip.hits_after, flip.matched_after))
    rankings = {
        f"hits_{side}": [{**hit_json(hit), "matches": hit.rank in matched} for hit in hits]
        for side, hits, matched in sides
    }
    return {
        "query_id": flip.query_id,
        "text": flip.text,
        "before": flip.before,
        "after": flip.after,
        "error": flip.error,
        **rankings,
    }
