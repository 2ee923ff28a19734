"""`raglift explain`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from raglift.analysis.paired_statistics import primary_of
from raglift.cli.exits import has_width
from raglift.cli.json_output import hit_json, print_json
from raglift.errors import ConfigurationError
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import WIDTH, print_document
from raglift.results.evaluation import load_evaluation

if TYPE_CHECKING:
    from raglift.analysis.explanation import ExplainedHit, Explanation
    from raglift.cli.comparing import Explain
    from raglift.results.evaluation import Evaluation


def run(request: Explain) -> None:
    """Print why one query of a saved evaluation scored what it did.

    Raises:
        ConfigurationError: no query, or options that do not go together.
    """
    from rich.console import Console

    if request.query is None:
        raise ConfigurationError(
            f"explain: found no query; expected the id of one, as raglift explain {request.run} q17"
        )
    evaluation = load_evaluation(request.run)
    explanation = evaluation.explain(request.query, stage=request.stage)
    if request.as_json:
        print_json(_as_json(explanation))
        return
    selected = explanation if request.every else _at_one_depth(explanation, evaluation)
    console = Console()
    print_document(view_of(selected), console, width=console.width if has_width(console) else WIDTH)
    if len(selected.metrics) < len(explanation.metrics):
        console.print(f"\n--all shows all {len(explanation.metrics)} metrics")


def _at_one_depth(explanation: Explanation, evaluation: Evaluation) -> Explanation:
    """Return an explanation by the metrics at the depth of the primary one, and those that have no depth."""
    try:
        primary = primary_of(None, evaluation.scores.metrics, evaluation.depth_limit)
    except ConfigurationError:  # no metric says how good it is
        return explanation
    places = [place for place, metric in enumerate(explanation.metrics) if metric.depth in (primary.depth, None)]
    if not places:
        return explanation
    return replace(
        explanation,
        metrics=tuple(explanation.metrics[place] for place in places),
        values=tuple(explanation.values[place] for place in places),
        hits=tuple(replace(hit, earned=tuple(hit.earned[place] for place in places)) for hit in explanation.hits),
    )


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
