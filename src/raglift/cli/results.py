"""What commands print of an evaluation, as text and as JSON."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from raglift.cli.json_output import attributes, labels_json, print_json, records
from raglift.rendering.document import Detail
from raglift.rendering.terminal import print_document
from raglift.report.views.evaluation import evaluation_view
from raglift.results.evaluation import Evaluation
from raglift.types.rankings import StageInfo
from raglift.utilities.display import printable


def print_result(evaluation: Evaluation, *, json: bool, details: bool = False, following: str = "") -> None:
    """Print an evaluation: its summary, with every metric and more where details are asked for, or JSON."""
    if json:
        print_json(as_json(evaluation))
    else:
        detail = Detail.DETAILS if details else Detail.SUMMARY
        print_document(evaluation_view(evaluation, detail=detail), detail)
        sys.stdout.write(f"\n{printable(following)}\n" if following else "")


def next_line(output: Path | None, evaluation: Evaluation) -> str:
    """Return what to type next: after an evaluation in a folder, also on a question that lost a fact."""
    if output is None:
        return "Next: -o FOLDER keeps the run, for raglift report, explain and compare; --all prints every metric."
    run = shlex.quote(str(output))
    losses = evaluation.failure_analysis().losses
    lost = [query for loss in losses if loss.outcome not in ("found", "failed") for query in loss.query_ids]
    query = shlex.quote((lost or [evaluation.dataset.queries[0].id])[0])
    return f"Next: raglift report {run}, or raglift explain {run} {query}"


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return what `--json` prints of an evaluation."""
    analysis, headroom = evaluation.failure_analysis(), evaluation.headroom()
    return {
        "dataset": evaluation.dataset.name,
        "queries": len(evaluation.dataset),
        **labels_json(evaluation.label_sources),
        "stages": [_stage_as_json(stage) for stage in evaluation.run.stages],
        "spec": evaluation.run.spec,
        "metrics": records(evaluation.to_frame()),
        "failure_analysis": {
            **attributes(analysis, "k", "facts", "chunks_known", "made_findable"),
            "outcomes": analysis.losses,
        },
        "headroom": {
            "k": headroom.k,
            "recall": headroom.mean_recall,
            "ndcg": headroom.mean_ndcg,
            "exact": headroom.is_exact,
        },
        "failures": evaluation.failures(),
        "cost": evaluation.run.cost,
        "notes": evaluation.notes,
    }


def _stage_as_json(stage: StageInfo) -> dict[str, Any]:
    changed = {} if stage.changed_hits is None else {"changed_hits": stage.changed_hits}
    return {**attributes(stage, "name", "system"), **changed}
