"""`raglift score` and `raglift export`: rankings and labels in files of other tools."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from raglift.cli.json_output import print_json
from raglift.errors import ConfigurationError
from raglift.results.evaluation import load_evaluation
from raglift.storage.rankings.exporting import export
from raglift.storage.rankings.scoring import DEFAULT_METRICS, metric_of, score_files

if TYPE_CHECKING:
    from raglift.cli.pipeline import Export, Score
    from raglift.storage.rankings.forms import WrittenForm
    from raglift.storage.rankings.scoring import FileScores, RunScores


def run(request: Score) -> None:
    """Read, score, print."""
    if any(not name.strip(", ") for name in request.metrics):
        raise ConfigurationError(
            f"--metrics: found {','.join(request.metrics)!r}; expected at least one, as ndcg@10,map"
        )
    metrics = [metric_of(name) for name in request.metrics]
    scores = score_files(
        request.run,
        request.qrels,
        metrics or DEFAULT_METRICS,
        profile=request.profile,
        answered_only=request.answered_only,
        names=request.names or None,
        form=request.form,
    )
    if request.as_json:
        print_json(_as_json(scores, request))
        return
    if request.per_query:
        sys.stdout.write(f"{scores.per_query()}\n\n")
    sys.stdout.write(f"{scores}\n")


def _as_json(scores: FileScores, request: Score) -> dict[str, Any]:
    return {
        "qrels": scores.qrels,
        "profile": request.profile,
        "runs": [_run_as_json(run, scores, request) for run in scores.runs],
        "differences": [
            {"run": each.run, "first": each.first, "metric": each.metric, "p_holm": each.p, **asdict(each.paired)}
            for each in scores.differences()
        ],
    }


def _run_as_json(run: RunScores, scores: FileScores, request: Score) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": run.name,
        "path": run.path,
        "hits": run.hits,
        "metrics": {
            str(metric): {"mean": run.scores.mean(metric), "n": run.scores.n(metric)} for metric in scores.metrics
        },
        "queries_without_ranking": run.scores.empty,
        "queries_left_out": run.left_out,
        "rankings_without_labels": run.scores.unlabelled,
        "notes": run.notes,
    }
    if request.per_query:
        found["queries"] = {
            query: dict(zip(map(str, scores.metrics), values, strict=True))
            for query, values in zip(run.scores.query_ids, run.scores.values.T, strict=True)
            if not np.isnan(values).all()
        }
    return found


def run_export(request: Export) -> None:
    """Load, write, say what was written."""
    written = export(
        load_evaluation(request.run),
        request.output,
        form=cast("WrittenForm", request.form),
        stage=request.stage,
        all_stages=request.all_stages,
        overwrite=request.overwrite,
    )
    if request.as_json:
        print_json(written.to_dict())
    else:
        sys.stdout.write(f"{written}\n")
