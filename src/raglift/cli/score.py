"""`raglift score`, `raglift export` and `raglift track`: rankings and runs of and for other tools."""

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
from raglift.utilities.limits import resolved, user_path

if TYPE_CHECKING:
    from raglift.cli.pipeline import Export, Score, Track
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


def run_track(request: Track) -> None:
    """Track saved evaluations, and sweeps, each as it is and named as its folder.

    Raises:
        ConfigurationError: no tracker, or one that is not known.
        RunError: a folder that holds no evaluation and no sweep; nothing was tracked.
        TrackingFailed: a tracker failed.
    """
    from raglift.apps.tracking.tracking import track
    from raglift.sweep.engine import load_sweep_result
    from raglift.sweep.folder import SweepFolder

    if not request.to:
        raise ConfigurationError("--to: found none; expected at least one, as --to mlflow")
    folders = list(map(user_path, request.runs))
    results = [
        load_sweep_result(folder) if SweepFolder(folder).exists() else load_evaluation(folder) for folder in folders
    ]
    runs = []
    for folder, result in zip(folders, results, strict=True):
        name = request.name or resolved(folder).name
        for tracker in dict.fromkeys(request.to):
            runs.append(track(result, tracker, project=request.project, name=name, files=request.files))
            sys.stderr.write("".join(f"{line}\n" for line in (f"tracked by {runs[-1]}", *runs[-1].notes)))
    if request.as_json:
        print_json([asdict(each) for each in runs])
