"""`raglift report`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.analysis.paired_statistics import primary_of
from raglift.errors import ConfigurationError
from raglift.results.comparison import Comparison, compare
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.folder import SweepFolder
from raglift.sweep.result import SweepResult
from raglift.utilities.limits import is_stream, is_there, user_path
from raglift.utilities.replacing import replacing_file

if TYPE_CHECKING:
    from raglift.cli.reading import Report

FORMATS = {"html": ".html", "markdown": ".md", "csv": ".csv", "parquet": ".parquet"}
"""What a report can be, with the ending of its file."""


def run(request: Report) -> None:
    """Load, and write one report: of one evaluation, of several, or of a sweep.

    Raises:
        ConfigurationError: an option that does not go with what is reported, or a path that cannot be written.
        RunError: a folder that holds no evaluation and no sweep.
    """
    form = _form(request)
    if form not in FORMATS:
        raise ConfigurationError(f"--format: found {form!r}; expected one of {', '.join(FORMATS)}")
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
        request.runs,
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
        found.report(output, primary=request.primary, seed=request.seed or 0, confidence=_confidence(request))
    elif isinstance(found, SweepResult):
        found.report(output, baseline=request.baseline)
    else:
        found.report(output)


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
