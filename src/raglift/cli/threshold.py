"""`raglift threshold`."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from raglift.cli.exits import has_width
from raglift.cli.json_output import print_json
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import WIDTH, print_document
from raglift.results.evaluation import load_evaluation

if TYPE_CHECKING:
    from raglift.analysis.answering import Abstention, AtThreshold
    from raglift.cli.reading import Threshold


def run(request: Threshold) -> None:
    """Print from which score of the first hit on a question should be answered.

    Raises:
        ConfigurationError: an option outside its range, or too few unanswerable questions.
    """
    from rich.console import Console

    found = load_evaluation(request.run).abstention(
        risk=request.risk,
        delta=request.delta,
        stage=request.stage,
        k=request.k,
        made=request.made,
        seed=request.seed,
    )
    if request.as_json:
        print_json(_as_json(found))
        return
    console = Console()
    print_document(view_of(found), console, width=console.width if has_width(console) else WIDTH)


def _as_json(found: Abstention) -> dict[str, Any]:
    return {
        "stage": found.stage,
        "system": found.system,
        "k": found.k,
        "risk": found.risk,
        "delta": found.delta,
        "made": found.made,
        "threshold": found.threshold,
        "answers_everything": found.threshold == -math.inf,
        "chosen_on": _side(found.chosen_on),
        "checked_on": _side(found.checked_on),
        "smallest_risk": found.smallest_risk,
        "scores": [asdict(group) for group in found.groups],
        "auroc": {each.stage: None if each.found is None else asdict(each.found) for each in found.stages},
        "area_under_risk_coverage": found.curve.area,
        "left_out": found.left_out,
    }


def _side(side: AtThreshold) -> dict[str, Any]:
    return {**asdict(side), "no_answer_rate": side.no_answer_rate}
