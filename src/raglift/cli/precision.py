"""`raglift precision`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from raglift.cli.evaluate import numbers_of_hits
from raglift.cli.json_output import print_json
from raglift.cli.model_options import limited, model_and_limits, print_estimate, stoppable
from raglift.cli.saved_runs import load_runs
from raglift.judging.usefulness import context_precision, estimate_context_precision
from raglift.judging.usefulness_records import MEASURES, precision_view, read_answers
from raglift.report.terminal.document import print_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.cli.judging import Precision
    from raglift.judging.usefulness_records import ContextPrecision


def run(request: Precision) -> None:
    """Estimate, ask, print.

    Raises:
        ConfigurationError: an option that cannot be used; nothing was asked.
        DatasetError: the answers cannot be read.
        RunError: a folder that holds no evaluation and no sweep.
    """
    from rich.console import Console

    model, limits = model_and_limits(
        request.model,
        request.temperature,
        request.concurrency,
        request.max_cost,
        request.price,
        to_estimate=request.estimate,
    )
    ks = numbers_of_hits(request.ks) if request.ks else None
    evaluations = load_runs(request.runs)
    answers = None if request.answers is None else read_answers(request.answers)
    about: dict[str, Any] = {"ks": ks, "answers": answers}
    expected = estimate_context_precision(evaluations, model, limits=limits, **about)
    print_estimate(expected, model)
    if request.estimate:
        return
    limits = limited(limits, expected)
    with stoppable():
        found = context_precision(evaluations, model, limits=limits, seed=request.seed, **about)
    if request.as_json:
        print_json(_as_json(found))
    else:
        print_document(precision_view(found), Console())


def _as_json(found: ContextPrecision) -> dict[str, Any]:
    return {
        "dataset": found.pool.name,
        "judge": asdict(found.judge),
        "agreement": asdict(found.agreement),
        "means": list(_means(found)),
        "lifts": [asdict(lift) for lift in found.lifts],
        "without_verdict": len(found.unanswered),
        "asked": found.asked,
        "usage": asdict(found.usage),
        "dollars": found.dollars,
        "notes": found.notes,
        "pairs": [
            {
                "query": each.query.id,
                "doc": each.pooled.chunk.doc_id,
                "start": each.pooled.chunk.start,
                "end": each.pooled.chunk.end,
                "text": each.pooled.chunk.text,
                "ranks": dict(each.pooled.ranks),
                "useful": each.useful,
                "reason": each.reason,
            }
            for each in found.judged
        ],
    }


def _means(found: ContextPrecision) -> Iterator[dict[str, Any]]:
    for system in found.systems:
        for k in found.ks:
            intervals = {measure: found.interval(system, measure, k) for measure in MEASURES}
            yield {
                "system": system,
                "k": k,
                **{measure: found.mean(system, measure, k) for measure in MEASURES},
                **{f"{measure}_interval": None if each is None else list(each) for measure, each in intervals.items()},
                "n": found.n(system, k),
                "left_out": len(found.pool.queries) - found.n(system, k),
            }
