"""`raglift export` and `track` for other tools; `raglift rescore`, `raglift metrics`."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from functools import partial
from typing import cast

from raglift.cli.arguments import labels_if_named
from raglift.cli.comparing import Rescore
from raglift.cli.evaluate import depths
from raglift.cli.json_output import print_json
from raglift.cli.pipeline import Export, Metrics, Track
from raglift.cli.results import print_result
from raglift.cli.saving import keep
from raglift.errors import ConfigurationError
from raglift.matching.rule import MatchRule
from raglift.metrics.listing import MeasureEntry, MeasureList, list_measures, show_measure
from raglift.metrics.registry import MEASURES
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.running.scoring import rescore
from raglift.running.settings import DEFAULT_KS
from raglift.running.spec import named_in_spec
from raglift.storage.rankings.exporting import export
from raglift.storage.rankings.forms import WrittenForm
from raglift.storage.saving import check_free
from raglift.types.metric import Metric
from raglift.utilities.limits import resolved, user_path


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
    """Track saved evaluations, and sweeps, each as it is and named as its folder."""
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


def rescore_run(request: Rescore) -> None:
    """Load, score again, save, print."""
    if request.output is not None:
        check_free(request.output, overwrite=request.overwrite)
    evaluation = _rescored(load_evaluation(request.run), request)
    show = partial(print_result, evaluation, json=request.as_json)
    keep(evaluation, request.output, overwrite=request.overwrite, show=show)
    show()


def _rescored(evaluation: Evaluation, request: Rescore) -> Evaluation:
    known, labels = evaluation.scores.metrics, labels_if_named(request.labels, request, "--labels")
    measures: list[Metric | str] = [*request.metrics]
    if request.ks:
        ks = depths(request.ks)
    else:
        ks = tuple(dict.fromkeys(metric.depth for metric in known if metric.depth is not None)) or DEFAULT_KS
    if not measures:  # as before, and at other depths where they are asked for
        measures = list(dict.fromkeys(replace(metric, depth=None) for metric in known) if request.ks else known)
    if labels is not None and not request.metrics:
        measures = _without_chunks(measures)
    match = _rule(evaluation, request)
    found = rescore(evaluation, metrics=measures, ks=ks, match=match, profile=request.profile, labels=labels)
    if request.metrics:
        return found
    # These metrics were not asked for by name now: what was when the run was made is still shown
    spec = {key: value for key, value in found.run.spec.items() if key != "metrics"}
    spec |= named_in_spec(evaluation.run.spec.get("metrics", ()))
    return replace(found, run=replace(found.run, spec=spec))


def _without_chunks(measures: list[Metric | str]) -> list[Metric | str]:
    """Return the measures that need not know what chunks of the index allow: nobody knows that of other labels."""
    left_out = [each for each in measures if isinstance(each, Metric) and MEASURES[each.name].needs_chunks]
    if left_out:
        sys.stderr.write(f"not known under other labels: {', '.join(map(str, left_out))}\n")
    return [each for each in measures if each not in left_out]


def _rule(evaluation: Evaluation, request: Rescore) -> MatchRule | None:
    """Return how to match; None for as before."""
    if request.match is None:
        if request.match_threshold is not None:
            raise ConfigurationError(
                "--match-threshold: found it without --match; expected both, as --match coverage --match-threshold 0.7"
            )
        return None
    profile = evaluation.profile if request.profile is None else request.profile
    folding = bool(evaluation.run.spec["match"].get("unicode_folding", False))
    return MatchRule.for_profile(profile, request.match, threshold=request.match_threshold, unicode_folding=folding)


def list_metrics(request: Metrics) -> None:
    """Print all measures, or one."""
    found = list_measures() if request.name is None else show_measure(request.name)
    if request.as_json:
        print_json(found)
        return
    sys.stdout.write(f"{found if isinstance(found, MeasureEntry) else _table(found)}\n")


def _table(found: MeasureList) -> str:
    """Return a row per metric, and how to see more of one."""
    from raglift.rendering.document import table_of
    from raglift.rendering.terminal import as_text

    rows = [(_name(each), each.formula, each.source or each.origin) for each in found.measures]
    table = table_of(("metric", "formula", "source"), rows, left=(0, 1, 2))
    more = (
        "`raglift metrics METRIC` shows one in full: at what it is taken, as ndcg@10, its settings, its other names, "
        "and what it is under the profiles of other tools."
    )
    return as_text([table, "", more])


def _name(each: MeasureEntry) -> str:
    """Return the names that a metric is asked for by, without those that are the first one, shortened."""
    others = [alias for alias in each.aliases if not each.name.replace("_", "").startswith(alias.replace("_", ""))]
    return ", ".join((each.name, *others))
