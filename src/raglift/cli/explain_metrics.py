"""`raglift explain --conventions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.cli.json_output import hit_json, labels_json, print_json
from raglift.report.presenting import view_of
from raglift.report.terminal.document import print_document
from raglift.results.evaluation import load_evaluation

if TYPE_CHECKING:
    from raglift.analysis.conventions.records import Choice, MetricUnderProfiles, RankedHit
    from raglift.cli.reading import Explain
    from raglift.results.analyses import MetricsExplanation


def run(request: Explain) -> None:
    """Print one query's metrics under every profile, and why they differ."""
    from rich.console import Console

    evaluation = load_evaluation(request.run)
    found = evaluation.explain_metrics(request.query, metrics=request.metrics or None, stage=request.stage)
    if request.as_json:
        print_json(_as_json(found))
    else:
        print_document(view_of(found), Console())


def _as_json(found: MetricsExplanation) -> dict[str, Any]:
    return {
        "query": found.query,
        "stage": found.stage,
        "match": found.match,
        "profile": found.profile,
        "error": found.error,
        "chosen": None if found.choice is None else _choice(found.choice),
        "queries": found.queries,
        "metrics": {str(each.metric): _metric(each) for each in found.metrics},
        "hits": [_hit(each) for each in found.hits],
        "notes": found.notes,
        **labels_json(found.label_sources),
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "metric": None if choice.metric is None else str(choice.metric),
        "lowest": {"profile": choice.low, "value": choice.lowest},
        "highest": {"profile": choice.high, "value": choice.highest},
        "next": choice.others,
        "differing": choice.differing,
    }


def _metric(each: MetricUnderProfiles) -> dict[str, Any]:
    return {
        one.profile: {
            "value": one.value,
            "mean": one.mean,
            "n": one.n,
            "agrees": one.agrees,
            "why": one.why,
            "numbers": one.numbers,
        }
        for one in each.values
    }


def _hit(each: RankedHit) -> dict[str, Any]:
    return {
        **hit_json(each.hit),
        "facts": [{"fact": fact, "match": state} for fact, state in each.facts],
        "only_under": each.only_under,
    }
