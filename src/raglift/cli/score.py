"""`raglift score`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.cli.json_output import print_json
from raglift.errors import ConfigurationError
from raglift.run_files import score_files, trec_eval_lines
from raglift.run_files.scoring.files import DEFAULT_METRICS
from raglift.run_files.scoring.trec_names import OFFICIAL, metric_of

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.records import Metric
    from raglift.run_files import FileScores, RunScores

__all__ = ["Request", "run"]

_OUTPUTS = ("table", "trec", "json")


@dataclass(frozen=True)
class Request:
    """The command line, parsed."""

    runs: tuple[Path, ...]
    qrels: str
    metrics: str | None
    profile: str
    output: str
    per_query: bool
    answered_only: bool
    names: str | None
    form: str | None


def run(request: Request) -> None:
    """Read, score, print."""
    if request.output not in _OUTPUTS:
        raise ConfigurationError(f"--format: found {request.output!r}; expected one of {', '.join(_OUTPUTS)}")
    if request.output == "trec":
        _print_as_trec_eval(request)
        return
    metrics: list[Metric | str] = [metric_of(name) for name in _listed(request.metrics)] or list(DEFAULT_METRICS)
    scores = score_files(
        request.runs,
        request.qrels,
        metrics,
        profile=request.profile,
        answered_only=request.answered_only,
        names=_listed(request.names) or None,
        form=request.form,
    )
    if request.output == "json":
        print_json(_as_json(scores, request))
        return
    if request.per_query:
        sys.stdout.write(f"{scores.per_query()}\n\n")
    sys.stdout.write(f"{scores}\n")


def _print_as_trec_eval(request: Request) -> None:
    if len(request.runs) != 1:
        raise ConfigurationError(
            f"--format trec: found {len(request.runs)} runs; expected one: its lines do not say which run they are of"
        )
    lines = trec_eval_lines(
        request.runs[0],
        request.qrels,
        _listed(request.metrics) or (OFFICIAL,),
        profile=request.profile,
        answered_only=request.answered_only,
        per_query=request.per_query,
        form=request.form,
    )
    for line in lines:
        sys.stdout.write(line + "\n")


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in _at_top_level(text or "") if part.strip()]


def _at_top_level(text: str) -> list[str]:
    """Return what stands between commas; those inside parentheses belong to one metric's settings."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _as_json(scores: FileScores, request: Request) -> dict[str, Any]:
    return {
        "qrels": str(scores.qrels),
        "profile": request.profile,
        "runs": [_run_as_json(run, scores, request) for run in scores.runs],
    }


def _run_as_json(run: RunScores, scores: FileScores, request: Request) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": run.name,
        "path": str(run.path),
        "hits": run.hits,
        "metrics": {
            str(metric): {"mean": run.scores.mean(metric), "n": run.scores.n(metric)} for metric in scores.metrics
        },
        "queries_without_ranking": run.scores.empty,
        "queries_left_out": run.left_out,
        "rankings_without_labels": run.scores.unlabelled,
    }
    if request.per_query:
        found["queries"] = {
            query: dict(zip(map(str, scores.metrics), values, strict=True))
            for query, values in zip(run.scores.query_ids, run.scores.values.T, strict=True)
            if not np.isnan(values).all()
        }
    return found
