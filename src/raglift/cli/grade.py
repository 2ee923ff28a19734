"""`raglift grade`."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from raglift.cli import Stopped
from raglift.cli.json_output import print_json
#from raglift.cli.model_options import limits_of, model_of
from raglift.cli.saved_runs import load_runs
from raglift.dataset import write_queries
from raglift.errors import ConfigurationError, CostLimitReached
from raglift.judging.grading import estimate_grading, grade
from raglift.judging.placing import placed
from raglift.judging.pool import pool
from raglift.loading import load_documents
from raglift.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from raglift.integrations.language_models import LanguageModel
    from raglift.judging.asking import Estimate, Limits
    from raglift.judging.grading_summary import GradingSummary
    from raglift.judging.pool import Pool
    from raglift.records import Document, Evaluation

__all__ = ["Request", "run"]

_MAX_COST = 5.0
"""US dollars, where the price is known and no other limit was given."""
_STOPPED = 1


@dataclass(frozen=True)
class Request:
    """The command line, parsed."""

    runs: tuple[Path, ...]
    output: Path | None
    depth: int
    scale: int
    rubric: Path | None
    relevant_from: int
    fill: bool
    documents: str | None
    model: LanguageModel
    limits: Limits
    estimate: bool
    overwrite: bool
    as_json: bool


def run(request: Request) -> None:
    """Pool, estimate, ask, write, print.

    Raises:
        ConfigurationError: an option that cannot be used; nothing was asked.
        RunError: a folder that holds no evaluation and no sweep.
    """
    _check_output(request)
    evaluations = load_runs(request.runs)
    documents = load_documents(request.documents)
    pairs = placed(pool(evaluations, depth=request.depth), documents)
    asking = {"rubric": request.rubric, "scale": request.scale}
    expected = estimate_grading(pairs, request.model, limits=request.limits, **asking)
    _say(_estimate_line(pairs, expected))
    if request.estimate:
        return
    limits = _limited(request.limits, expected)
    try:
        graded = grade(pairs, request.model, limits=limits, **asking)
    except CostLimitReached as error:
        _say(f"raglift: {error}\nnothing was written: the same command with a higher --max-cost {_GOES_ON}")
        raise typer.Exit(_STOPPED) from None
    except KeyboardInterrupt:
        raise Stopped(f"nothing was written: the same command {_GOES_ON}") from None
    summary = graded.summary(evaluations, relevant_from=request.relevant_from, fill=request.fill)
    _finish(request, summary, documents)


def _finish(request: Request, summary: GradingSummary, documents: Sequence[Document]) -> None:
    """Write the labels and print what they come to, and what to do with them."""
    if request.output is not None:
        write_queries(summary.labels, request.output, documents)
    if request.as_json:
        print_json(_as_json(summary))
    else:
        print_grading(summary, Console())
    if request.output is not None:
        runs = " ".join(shlex.quote(str(folder)) for folder in request.runs)
        output = shlex.quote(str(request.output))
        _say(f"labels written to {output}; next:")
        _say(f"  raglift rescore {shlex.quote(str(request.runs[0]))} --labels {output}    figures under these labels")
        _say(f"  raglift review {output} {runs}    look at them, one by one")


def _check_output(request: Request) -> None:
    """Raise where the labels could not be written, before anything is asked."""
    output = request.output
    if output is None:
        if not request.estimate:
            raise ConfigurationError("--output: found none; expected the .jsonl file that the labels are written to")
        return
    if output.suffix.lower() not in (".jsonl", ".ndjson"):
        raise ConfigurationError(f"--output: found {output}; expected a .jsonl file: labels are JSON Lines")
    if output.is_dir() or (output.exists() and not request.overwrite):
        raise ConfigurationError(f"{output}: found something there; expected a free name, or --overwrite")


def _limited(limits: Limits, expected: Estimate) -> Limits:
    """Return the limits, with one of cost where the price is known and none was given."""
    if limits.max_cost is not None or expected.dollars is None:
        return limits
    return replace(limits, max_cost=_MAX_COST)


def _say(text: str) -> None:
    sys.stderr.write(printable(text) + "\n")
