"""`raglift explain`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from raglift.cli.json_output import hit_json, print_json
from raglift.results.evaluation import load_evaluation

if TYPE_CHECKING:
    from raglift.analysis.explanation import ExplainedHit
    from raglift.cli.measuring import Explain
    from raglift.results.analyses import Explanation


def run(request: Explain) -> None:
    """Print why one query of a saved evaluation scored what it did."""
    from rich.console import Console
    from rich.text import Text

    explanation = load_evaluation(request.run).explain(request.query, stage=request.stage)
    if request.as_json:
        print_json(_as_json(explanation))
    else:
        Console().print(Text(str(explanation)), soft_wrap=True)


def _as_json(explanation: Explanation) -> dict[str, Any]:
    metrics = [str(metric) for metric in explanation.metrics]
    return {
        "query": explanation.query,
        "stage": explanation.stage,
        "match": explanation.match,
        "error": explanation.error,
        "metrics": dict(zip(metrics, explanation.values, strict=True)),
        "hits": [_hit(each, metrics) for each in explanation.hits],
    }


def _hit(each: ExplainedHit, metrics: list[str]) -> dict[str, Any]:
    return {
        **hit_json(each.hit),
        "overlaps": [asdict(overlap) for overlap in each.overlaps],
        "earned": dict(zip(metrics, each.earned, strict=True)),
    }
