"""`raglift report` and `raglift explain`: what is shown of saved runs."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import quote as url_quote

from rich.console import Console

from raglift.analysis.explanation import ExplainedHit, Explanation
from raglift.analysis.paired_statistics import primary_of
from raglift.cli.arguments import bounds_from, in_order
from raglift.cli.comparing import Explain, Report
from raglift.cli.json_output import hit_json, print_json
from raglift.errors import ConfigurationError, RagliftError
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import print_document
from raglift.results.comparison import Comparison, compare
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.storage.layout import REPAIRS, RUN
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.folder import SweepFolder
from raglift.sweep.result import SweepResult
from raglift.utilities.limits import is_folder, is_stream, is_there, user_path
from raglift.utilities.replacing import replacing_file

FORMATS = {"html": ".html", "markdown": ".md", "csv": ".csv", "parquet": ".parquet"}
"""What a report can be, with the ending of its file."""
_PAGES = "reports"
"""Where the pages of runs are, beside them in their folder."""


def run(request: Report) -> None:
    """Load, and write one report: of one evaluation, of several, of a sweep, or the index of a folder of runs."""
    form = _form(request)
    if form not in FORMATS:
        raise ConfigurationError(f"--format: found {form!r}; expected one of {', '.join(FORMATS)}")
    if form == "html" and (inside := _runs_within(request)):
        _write_index(inside, request)
        return
    found = _found(request)
    output = Path(f"report{FORMATS[form]}") if request.output is None else request.output
    if form == "markdown":
        _write_markdown(_markdown(found, request), request)
    elif form == "html":
        _write_page(found, output, request)
        sys.stderr.write(f"written to {output}\n")
    else:
        from raglift.analysis.frames import export

        files = export(found, output, overwrite=request.overwrite)
        sys.stderr.write(f"written to {' and '.join(map(str, files))}\n")


def _runs_within(request: Report) -> list[Path]:
    """Return the runs and sweeps in the only folder that is named, if it is neither of them itself."""
    folder = user_path(request.runs[0])
    if len(request.runs) > 1 or not is_folder(folder) or is_there(folder / RUN) or SweepFolder(folder).exists():
        return []
    return [one for one in sorted(folder.iterdir()) if is_there(one / RUN) or SweepFolder(one).exists()]


def _write_index(folders: list[Path], request: Report) -> None:
    """Write the index of a folder of runs, and the page of each run that has none or an older one."""
    from raglift.report.page.index import IndexedRun, IndexedSweep, index_page
    from raglift.report.page.rendering import write_page

    _refuse(request, "a folder of runs", "baseline", "names", "seed", "confidence", "match")
    named = request.runs[0]
    output = user_path(named / "index.html" if request.output is None else request.output)
    runs, sweeps, unread = [], [], []
    for folder in folders:
        page = folder.parent / _PAGES / f"{folder.name}.html"
        try:
            if SweepFolder(folder).exists():
                head, measured = SweepFolder(folder).head(), SweepFolder(folder).finished()
                command = f"raglift report {quote(str(named / folder.name))}"
                sweeps.append(IndexedSweep(folder.name, str(head["title"]), len(head["cells"]), len(measured), command))
                continue
            evaluation = load_evaluation(folder)
            if not is_there(page) or page.stat().st_mtime < _written(folder):
                page.parent.mkdir(exist_ok=True)
                evaluation.report(page)
        except RagliftError as error:
            unread.append(f"{folder.name} is not shown: {error}")
            continue
        link = os.path.relpath(page.resolve(), output.resolve().parent).replace(os.sep, "/")
        runs.append(IndexedRun(folder.name, evaluation, url_quote(link)))
    if not runs:
        raise ConfigurationError(
            f"{named}: found no run that can be read{f'; the first: {unread[0]}' if unread else ''}; "
            "expected saved runs, or the folder of one sweep"
        )
    write_page(index_page(str(named), runs, sweeps, primary=request.primary, warnings=unread), output)
    sys.stderr.write(f"written to {output}; the pages of runs are in {named / _PAGES}\n")


def _written(folder: Path) -> float:
    """Return when a run was written, or what is lost in it was explained."""
    return max((folder / name).stat().st_mtime for name in (RUN, REPAIRS) if is_there(folder / name))


def _form(request: Report) -> str:
    """Return what is asked for, else what the file's ending says, else HTML."""
    if request.form is not None:
        return request.form
    ending = "" if request.output is None else request.output.suffix.lower()
    return next((name for name, suffix in FORMATS.items() if suffix == ending), "html")


def _found(request: Report) -> Evaluation | Comparison | SweepResult:
    """Return what the folders hold."""
    sweeps = [folder for folder in request.runs if SweepFolder(user_path(folder)).exists()]
    if sweeps and len(request.runs) > 1:
        raise ConfigurationError(
            f"report: found the folder of a sweep, {sweeps[0]}, among {len(request.runs)} folders; expected it alone, "
            f"or cells of it, as {sweeps[0]}/cells/*"
        )
    if sweeps:
        return _sweep(request)
    if len(request.runs) == 1:
        _refuse(request, "one run", "baseline", "names", "match")
        return load_evaluation(request.runs[0])
    return compare(
        in_order(request.runs, request.names),
        baseline=request.baseline,
        primary=request.primary,
        names=request.names or None,
        seed=request.seed or 0,
        confidence=_confidence(request),
        match=request.match,
    )


def _sweep(request: Report) -> SweepResult:
    _refuse(request, "a sweep", "names", "confidence", "match")
    result = load_sweep_result(request.runs[0])
    if request.primary is not None and result.finished:
        known = next(one.evaluation for one in result.finished if one.evaluation is not None).scores.metrics
        result = replace(result, primary=primary_of(request.primary, known), fairness=None)
    return result if request.seed is None else replace(result, seed=request.seed)


def _refuse(request: Report, what: str, *options: str) -> None:
    options_used = [
        f"--{each.replace('_', '-')}" for each in options if getattr(request, each) not in (None, False, ())
    ]
    if options_used:
        raise ConfigurationError(
            f"report: found {options_used[0]} with {what}, to which it does not apply; leave it out"
        )


def _confidence(request: Report) -> float:
    return 0.95 if request.confidence is None else request.confidence


def _write_page(found: Evaluation | Comparison | SweepResult, output: Path, request: Report) -> None:
    if isinstance(found, Evaluation):
        found.report(
            output,
            primary=request.primary,
            seed=request.seed or 0,
            confidence=_confidence(request),
            target=_target(request),
        )
        return
    if request.target:
        sys.stderr.write("the target is of one run, and is not shown here\n")
    if isinstance(found, SweepResult):
        found.report(output, baseline=request.baseline)
    else:
        found.report(output)


def _target(request: Report) -> dict[str, float]:
    """Return the lowest means that are asked for, by metric."""
    asked = bounds_from("--target", request.target)
    try:
        return {name: float(bound) for name, bound in asked.items()}
    except ValueError:
        raise ConfigurationError(f"--target: found {', '.join(request.target)}; expected ndcg@10=0.7") from None


def _markdown(found: Evaluation | Comparison | SweepResult, request: Report) -> str:
    if isinstance(found, Evaluation):
        return found.to_markdown(request.primary, seed=request.seed or 0, confidence=_confidence(request))
    return found.to_markdown()


def _write_markdown(text: str, request: Report) -> None:
    """Print Markdown, or write it where a file is named."""
    if request.output is None:
        sys.stdout.write(text)
        return
    if is_there(request.output) and not is_stream(request.output) and not request.overwrite:
        raise ConfigurationError(f"{request.output}: found something there; expected a free name, or --overwrite")
    with replacing_file(user_path(request.output)) as file:
        file.write(text)
    sys.stderr.write(f"written to {request.output}\n")


def explain(request: Explain) -> None:
    """Print why one question of a saved evaluation scored what it did.

    Raises:
        ConfigurationError: no question, or options that do not go together.
    """
    evaluation = load_evaluation(request.run)
    if request.query is None:
        example = shlex.join(["raglift", "explain", str(request.run), evaluation.dataset.queries[0].id])
        raise ConfigurationError(f"explain: found no question; expected the id of one, as {example}")
    explanation = evaluation.explain(request.query, stage=request.stage)
    if request.as_json:
        print_json(_explanation_json(explanation))
        return
    selected = explanation if request.every else _at_one_depth(explanation, evaluation)
    print_document(view_of(selected), by_columns=True)
    if len(selected.metrics) < len(explanation.metrics):
        Console().print(f"\n--all shows all {len(explanation.metrics)} metrics")


def _at_one_depth(explanation: Explanation, evaluation: Evaluation) -> Explanation:
    """Return an explanation by the metrics at the depth of the primary one, and those that have no depth."""
    try:
        primary = primary_of(None, evaluation.scores.metrics, evaluation.depth_limit)
    except ConfigurationError:  # no metric says how good it is
        return explanation
    places = [place for place, metric in enumerate(explanation.metrics) if metric.depth in (primary.depth, None)]
    if not places:
        return explanation
    return replace(
        explanation,
        metrics=tuple(explanation.metrics[place] for place in places),
        values=tuple(explanation.values[place] for place in places),
        hits=tuple(replace(hit, earned=tuple(hit.earned[place] for place in places)) for hit in explanation.hits),
    )


def _explanation_json(explanation: Explanation) -> dict[str, Any]:
    metrics = [str(metric) for metric in explanation.metrics]
    return {
        "query": explanation.query,
        "stage": explanation.stage,
        "match": explanation.match,
        "error": explanation.error,
        "lost_by": [{"fact": fact, "cause": cause} for fact, cause in explanation.causes],
        "metrics": dict(zip(metrics, explanation.values, strict=True)),
        "hits": [_hit(each, metrics) for each in explanation.hits],
    }


def _hit(each: ExplainedHit, metrics: list[str]) -> dict[str, Any]:
    return {
        **hit_json(each.hit),
        "overlaps": [asdict(overlap) for overlap in each.overlaps],
        "earned": dict(zip(metrics, each.earned, strict=True)),
    }
