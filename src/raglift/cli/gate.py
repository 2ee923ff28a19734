"""`raglift gate`."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import typer

from raglift.cli.arguments import bounds_from, checked_budget, labels_if_named
from raglift.cli.exits import drop_output
from raglift.cli.json_output import gate_json, print_json
from raglift.cli.pipeline import Gate
from raglift.errors import ConfigurationError, RagliftError, RunError
from raglift.gating.ci import GateError, without_commands
from raglift.gating.deciding import GateResult, gate
from raglift.gating.records import Outcome
from raglift.gating.view import gate_view
from raglift.rendering.terminal import document_text, print_document
from raglift.results.evaluation import load_evaluation
from raglift.results.sources import distinct_names
from raglift.utilities.limits import resolved, user_path

_OPTIONS = {
    "minimum": "--min",
    "maximum": "--max",
    "no_regression": "--no-regression",
    **{name: f"--{name}" for name in ("margin", "seed", "confidence")},
}
"""What arguments of `gate()` are called on the command line."""
_MISTAKE = 2
"""The exit code where nothing was decided."""


class _Unwritten(RunError):
    """It is decided, but a file cannot be written."""


def run(request: Gate) -> None:
    """Decide, print, write what was asked for, and exit with the code of the outcome."""
    raise typer.Exit(_exit_code(request))


def _exit_code(request: Gate) -> int:
    """Decide, print, write what was asked for; return the exit code."""
    name = request.name or resolved(user_path(request.run)).name
    try:
        return int(_decide(request))
    except _Unwritten:
        raise
    except RagliftError as error:
        _tell(GateError(name, str(error)), request)
        raise
    except Exception as error:  # noqa: BLE001 — Python's own exit code would be 1, which says that the gate failed
        traceback.print_exc()
        _tell(GateError(name, f"{type(error).__name__}: {error}"), request)
        return _MISTAKE


def _decide(request: Gate) -> Outcome:
    """Decide, print and write."""
    _check_request(request)
    minimum, maximum = bounds_from("--min", request.minimum), bounds_from("--max", request.maximum)
    evaluation = load_evaluation(request.run)
    baseline = None if request.baseline is None else load_evaluation(request.baseline)
    dataset = labels_if_named(request.dataset, request, "--dataset")
    try:
        result = gate(
            evaluation,
            minimum=minimum,
            maximum=maximum,
            baseline=baseline,
            no_regression=request.no_regression,
            margin=request.margin,
            dataset=dataset,
            seed=request.seed,
            confidence=request.confidence,
            budget=checked_budget(request.budget),
            name=request.name or distinct_names([request.run], [evaluation])[0],
        )
    except ConfigurationError as error:
        raise ConfigurationError(_in_options(str(error))) from None
    try:
        _print(result, request)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads our output has gone, as with `raglift gate … | head`: the verdict is the exit code all the same
        drop_output()
    except OSError as error:
        drop_output()
        _write_files(result, request)
        raise _Unwritten(f"what is printed cannot be written: {error.strerror or error}") from error
    _write_files(result, request)
    return result.outcome


def _tell(undecided: GateError, request: Gate) -> None:
    """Say in the files that nothing was decided, so that none tells of an earlier run; the error itself goes on."""
    if _is_github(request):
        (sys.stderr if request.as_json else sys.stdout).write(undecided.to_github())
    with suppress(_Unwritten):
        _write_files(undecided, request)


def _in_options(message: str) -> str:
    """Return a message that begins with an argument of Python's with the option in its place."""
    argument, colon, rest = message.partition(": ")
    return f"{_OPTIONS[argument]}: {rest}" if colon and argument in _OPTIONS else message


def _check_request(request: Gate) -> None:
    """Raise where options do not go together."""
    if request.no_regression and request.baseline is None:
        raise ConfigurationError("--no-regression: found no baseline; expected one to compare with: --baseline RUN")
    if request.baseline is not None and not request.no_regression:
        raise ConfigurationError(
            "--baseline: found no metric that must not be worse; expected one, as --no-regression ndcg@10"
        )
    if not (request.minimum or request.maximum or request.no_regression):
        raise ConfigurationError(
            "gate: found nothing to check; expected a bound, as --min ndcg@10=0.75 or --max failures=0, or --baseline "
            "RUN with --no-regression ndcg@10"
        )


def _write_files(result: GateResult | GateError, request: Gate) -> None:
    """Write JUnit XML and Markdown, and add the Markdown to GitHub's summary of the step; all that can be written."""
    faults = []
    if request.junit is not None:
        faults.append(_written(request.junit, result.to_junit(), "w"))
    if request.markdown is not None:
        faults.append(_written(request.markdown, result.to_markdown() + "\n", "w"))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if _is_github(request) and summary:
        faults.append(_written(Path(summary), result.to_markdown() + "\n", "a"))
    faults = [fault for fault in faults if fault]
    if faults:
        raise _Unwritten("\n".join(faults))


def _written(path: Path, text: str, mode: str) -> str:
    """Write a file, and return why it cannot be written; "" where it was."""
    try:
        with user_path(path).open(mode, encoding="utf-8", newline="\n") as file:
            file.write(text)
    except BrokenPipeError:  # who reads it has read enough, and the exit code says the verdict
        return ""
    except OSError as error:
        return f"{path}: cannot be written: {error}; choose another file"
    return ""


def _is_github(request: Gate) -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true" if request.github is None else request.github


def _print(result: GateResult, request: Gate) -> None:
    """Print the result; on GitHub, with annotations, and so that nothing in the text is read as a command."""
    annotations = result.to_github() if _is_github(request) else ""
    if request.as_json:
        print_json(gate_json(result))
        sys.stderr.write(annotations)
    elif _is_github(request):
        sys.stdout.write(without_commands(document_text(gate_view(result))) + annotations)
    else:
        print_document(gate_view(result))
