"""`raglift explain`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from raglift.cli import explain_metrics
from raglift.cli.json_output import hit_json, print_json
from raglift.errors import ConfigurationError
from raglift.results.evaluation import load_evaluation

if TYPE_CHECKING:
    from raglift.analysis.explanation import ExplainedHit
    from raglift.cli.measuring import Explain
    from raglift.results.analyses import Explanation


def run(request: Explain) -> None:
    """Print why one query of a saved evaluation scored what it did.

    Raises:
        ConfigurationError: no query, or options that do not go together.
    """
    from rich.console import Console
    from rich.text import Text

    request = _with_one_query(request)
    if request.conventions:
        explain_metrics.run(request)
        return
    if request.metrics:
        raise ConfigurationError("--metrics: found it without --conventions; expected both, or neither")
    if request.query is None:
        raise ConfigurationError(
            f"explain: found no query; expected the id of one, as raglift explain {request.run} q17"
        )
    explanation = load_evaluation(request.run).explain(request.query, stage=request.stage)
    if request.as_json:
        print_json(_as_json(explanation))
    else:
        Console().print(Text(str(explanation)), soft_wrap=True)


def _with_one_query(request: Explain) -> Explain:
    """Return the request with the query that was named, as an argument or by `--query`, as it was before."""
    if request.query_option is None:
        return request
    if request.query is not None:
        raise ConfigurationError(f"--query: found it with the query {request.query!r}; expected one of the two")
    return replace(request, query=request.query_option)


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
