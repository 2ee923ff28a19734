"""`raglift score`: hits in files are scored, compared and saved, whatever wrote them."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.resources import as_file, files
from math import isnan
from pathlib import Path
from typing import Any

from raglift.cli.compare import comparison_as_json, print_parts
from raglift.cli.json_output import print_json
from raglift.cli.pipeline import Score
from raglift.cli.results import as_json, next_line, print_result
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError
from raglift.metrics.computing import DEFAULT_METRICS
from raglift.rendering.document import Detail
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import document_parts
from raglift.results.comparison import Comparison, compare
from raglift.results.evaluation import Evaluation
from raglift.running.recorded import evaluate_rankings
from raglift.running.settings import DEFAULT_KS
from raglift.storage.rankings import scoring
from raglift.storage.rankings.hits import JoinedHits, read_hits
from raglift.storage.rankings.read import is_dataset
from raglift.storage.rankings.scoring import FileScores, RunScores
from raglift.storage.saving import check_free
from raglift.types.dataset import Dataset
from raglift.types.metric import Metric
from raglift.utilities.display import counted
from raglift.utilities.limits import user_path

_EXAMPLES = files("raglift.storage.rankings") / "examples"


def run(request: Score) -> None:
    """Read, score, save, print: questions with passages as an evaluation, and judged ids as trec_eval does."""
    if request.example is not None:
        _write_examples(request.example)
        return
    if request.labels is None or not request.hits:
        raise ConfigurationError(
            f"{'LABELS' if request.labels is None else 'HITS'}: found none; expected a file of labels and a file of "
            "hits, as raglift score labels.jsonl hits.jsonl; --example FOLDER writes both"
        )
    if any(not name.strip(", ") for name in request.metrics):
        raise ConfigurationError(
            f"--metrics: found {','.join(request.metrics)!r}; expected at least one, as ndcg@10,map"
        )
    metrics = [scoring.metric_of(name) for name in request.metrics]
    score = _score_hits if is_dataset(user_path(request.labels)) else _score_ids
    score(request, request.labels, metrics)


def _write_examples(folder: Path) -> None:
    """Write the examples of labels and hits, with their schemas, and say what to do with them."""
    folder = user_path(folder)
    try:
        with as_file(_EXAMPLES) as source:
            shutil.copytree(source, folder)
    except OSError as error:
        raise ConfigurationError(f"--example: found {folder}: {error.strerror}; expected a new folder") from None
    sys.stdout.write("".join(f"{folder / path.name}\n" for path in sorted(folder.iterdir())))
    labels, hits, baseline = (
        shlex.quote(str(folder / name)) for name in ("labels.jsonl", "hits.jsonl", "baseline.jsonl")
    )
    sys.stdout.write(f"Next: raglift score {labels} {hits} --baseline {baseline}\n")


# Questions with passages.


def _score_hits(request: Score, labels: str, metrics: Sequence[Metric]) -> None:
    if request.output is not None:
        if len(request.hits) > 1:
            raise ConfigurationError(f"--output: found {len(request.hits)} files of hits; expected one, which is saved")
        check_free(request.output, overwrite=request.overwrite)
    evaluations = _evaluations(request, load_dataset(labels, documents=request.documents), metrics)
    comparison = None
    if len(evaluations) > 1:
        comparison = compare(evaluations, baseline=next(iter(evaluations)), match=request.match)
    show = partial(_print, request, evaluations, comparison)
    if request.output is not None:
        from raglift.cli.saving import keep

        keep(list(evaluations.values())[-1], request.output, overwrite=request.overwrite, show=show)
    show()


def _evaluations(request: Score, dataset: Dataset, metrics: Sequence[Metric]) -> dict[str, Evaluation]:
    """Return the evaluation of each file by its name, that of the baseline first, all at the same depths."""
    paths, names = scoring.names_of(_files(request), request.names or None)
    found = [read_hits(path, dataset, form=request.form) for path in paths]
    shortest = min(max(map(len, hits.rankings.values())) for hits in found)
    limit = min(shortest or DEFAULT_KS[-1], DEFAULT_KS[-1])
    return {
        name: evaluate_rankings(
            hits.rankings,
            hits.dataset.only(ids=tuple(hits.rankings)) if request.answered_only else hits.dataset,
            system=hits.path.name,
            metrics=metrics or DEFAULT_METRICS,
            ks=sorted({*(k for k in DEFAULT_KS if k <= limit), limit}),
            match=request.match or "containment",
            profile=request.profile,
            notes=hits.notes + (_left_out(hits) if request.answered_only else ()),
        )
        for name, hits in zip(names, found, strict=True)
    }


def _left_out(hits: JoinedHits) -> tuple[str, ...]:
    count = sum(query.is_labelled and query.id not in hits.rankings for query in hits.dataset)
    verb = "is" if count == 1 else "are"
    return (f"{counted(count, 'labelled question')} without a line {verb} left out",) if count else ()


def _files(request: Score) -> list[Path]:
    return [*([] if request.baseline is None else [request.baseline]), *request.hits]


def _print(request: Score, evaluations: Mapping[str, Evaluation], comparison: Comparison | None) -> None:
    values = {name: _by_query(evaluation, request) for name, evaluation in evaluations.items()}
    if request.as_json:
        runs = zip(_files(request), evaluations.items(), strict=True)
        print_json(
            {
                "runs": [
                    {"name": name, "path": path, **as_json(evaluation), **_queries_as_json(values[name], request)}
                    for path, (name, evaluation) in runs
                ],
                "comparison": None if comparison is None else comparison_as_json(comparison),
            }
        )
        return
    if request.per_query:
        sys.stdout.write(f"{scoring.per_query_table(values, list(next(iter(values.values()))))}\n\n")
    if len(request.hits) == 1:
        last = list(evaluations.values())[-1]
        following = "" if comparison is not None else next_line(request.output, last)
        print_result(last, json=False, details=request.details, following=following)
    if comparison is not None:
        detail = Detail.DETAILS if request.details else Detail.SUMMARY
        sys.stdout.write("\n" if len(request.hits) == 1 else "")
        print_parts(document_parts(view_of(comparison, detail=detail), detail))


def _by_query(evaluation: Evaluation, request: Score) -> dict[Metric, dict[str, float]]:
    """Return the value of each question, of the metrics that were asked for; else of all at the deepest depth."""
    scores, deepest = evaluation.scores, max(metric.k or 0 for metric in evaluation.scores.metrics)
    shown = [metric for metric in scores.metrics if request.metrics or metric.k in (None, deepest)]
    return {metric: dict(zip(scores.query_ids, scores.of(evaluation.after, metric), strict=True)) for metric in shown}


def _queries_as_json(values: Mapping[Metric, Mapping[str, float]], request: Score) -> dict[str, Any]:
    """Return the field with the value of each question that counts, if that was asked for."""
    found: dict[str, dict[str, float]] = {}
    for metric, by_query in values.items():
        for query, value in by_query.items():
            if not isnan(value):
                found.setdefault(query, {})[str(metric)] = value
    return {"per_query": found} if request.per_query else {}


# Judged ids.


def _score_ids(request: Score, labels: str, metrics: Sequence[Metric]) -> None:
    names = {"output": "output", "match": "match", "documents": "documents", "overwrite": "overwrite", "details": "all"}
    unused = [option for name, option in names.items() if getattr(request, name) not in (None, False)]
    if unused:
        raise ConfigurationError(
            f"--{unused[0]}: found it with labels that are judged ids; expected questions with passages"
        )
    scores = scoring.score_files(
        _files(request),
        labels,
        metrics or scoring.DEFAULT_METRICS,
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
    return {
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
        **_queries_as_json(run.by_query(), request),
    }
