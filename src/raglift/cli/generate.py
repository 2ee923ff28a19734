"""`raglift labels generate`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from raglift.apps.generation.engine import MOST_TRIES, estimate_generation, generate, generation_view
from raglift.apps.generation.questions import parse_styles
from raglift.base.display import counted, printable
from raglift.base.limits import is_there
from raglift.base.replacing import replacing_file, unwritable
from raglift.base.threads import require_concurrency
from raglift.cli.json_output import attributes, json_text, print_json
from raglift.cli.model_options import model_of, print_estimate, stoppable
from raglift.datasets.loading import load_documents
from raglift.errors import ConfigurationError, DatasetError
from raglift.records.dataset import Dataset
from raglift.rendering.terminal import print_document

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.apps.generation.engine import Generation
    from raglift.cli.judging import Generate


_LINES = (".jsonl", ".ndjson")
_REPORTS = (".md", ".json")
_NOTHING = 1
"""The exit code if no question was accepted: nothing is wrong with the command, so it is not 2."""


def run(request: Generate) -> None:
    """Say what it would take, let questions be written, write them, print the report."""
    require_concurrency(request.concurrency)  # an estimate asks nothing that would check it
    model = model_of(request.model, request.temperature, to_estimate=request.estimate)
    styles = ",".join(request.styles)
    output = None if request.estimate else _checked_output(request)
    report = _checked_report(request)
    parse_styles(styles)  # what is wrong with them is better said before the documents are read
    source = Dataset(
        (), load_documents(request.source, encoding=request.encoding, include=request.include), _name(request.source)
    )
    settings: dict[str, Any] = {
        "model": model,
        "styles": styles,
        "seed": request.seed,
        "passage_size": request.passage_size,
    }
    expected = estimate_generation(source, request.n, **settings)
    print_estimate(expected, model)
    sys.stderr.write(f"this if every first question is accepted; up to {MOST_TRIES} times as much where few are\n")
    if output is None:
        return
    with stoppable():
        generation = generate(source, request.n, **settings, concurrency=request.concurrency)
    # Before anything is printed: whoever reads the report may stop reading, as `head` does
    if report is not None:
        _write_report(generation, report)
    if len(generation.dataset):
        _write(generation, output, overwrite=request.overwrite)
        sys.stderr.write(f"wrote {counted(len(generation.dataset), 'query')} to {output}\n")
    _print(generation, as_json=request.as_json)
    if not len(generation.dataset):
        reason = f"no question was accepted, so {output} was not written: the report says what was discarded, and why"
        sys.stderr.write(f"raglift: {printable(reason)}\n")
        raise typer.Exit(_NOTHING)


def _write(generation: Generation, output: Path, *, overwrite: bool) -> None:
    """Write the questions.

    Raises:
        DatasetError: they cannot be written; the model's answers are in the cache, which is said.
    """
    try:
        generation.write(output, overwrite=overwrite)
    except DatasetError:
        sys.stderr.write(
            "the answers are kept in the cache: the same command with another --output does not ask again\n"
        )
        raise


def _checked_output(request: Generate) -> Path:
    """Return where the queries go.

    Raises:
        ConfigurationError: no destination is given, or it exists already.
    """
    targets = [path for path in request.output if path.suffix.lower() not in _REPORTS]
    if len(targets) != 1:
        found = "none" if not targets else " and ".join(map(str, targets))
        raise ConfigurationError(
            f"--output: found {found}; expected a .jsonl file or a new folder for the questions, and perhaps a "
            ".md or .json file for what was discarded (or --estimate)"
        )
    output = targets[0]
    is_file = output.suffix.lower() in _LINES
    if output.suffix and not is_file:
        raise ConfigurationError(f"--output: found {output}; expected a .jsonl file or a new folder")
    if is_there(output) and not (request.overwrite and is_file):
        way = "--overwrite" if is_file else "a folder that is not there yet: none is replaced"
        raise ConfigurationError(f"{output}: found something that is already there; expected a new name, or {way}")
    folder = unwritable(output)
    if folder is not None:
        raise ConfigurationError(f"--output: found {output}; expected a place that can be written to: {folder} is none")
    return output


def _checked_report(request: Generate) -> Path | None:
    """Return where it is written which questions were discarded; None for nowhere.

    Raises:
        ConfigurationError: there are several such files, or it exists already.
    """
    reports = [path for path in request.output if path.suffix.lower() in _REPORTS]
    if len(reports) > 1:
        raise ConfigurationError(
            f"--output: found {reports[0]} and {reports[1]}; expected one .md or .json file at most"
        )
    if not reports:
        return None
    if is_there(reports[0]) and not request.overwrite:
        raise ConfigurationError(
            f"{reports[0]}: found a file that is already there; expected a new one, or --overwrite"
        )
    return reports[0]


def _name(source: str) -> str:
    return source.rstrip("/\\").replace("\\", "/").rpartition("/")[2].partition(".")[0] or "documents"


def _write_report(generation: Generation, path: Path) -> None:
    is_json = path.suffix.lower() == ".json"
    text = json_text(_as_json(generation)) if is_json else generation.to_markdown()
    with replacing_file(path) as file:
        file.write(text)


def _print(generation: Generation, *, as_json: bool) -> None:
    from rich.console import Console

    if as_json:
        print_json(_as_json(generation))
    else:
        print_document(generation_view(generation), Console())


def _as_json(generation: Generation) -> dict[str, Any]:
    """Return what `--json` prints: everything but the queries, which are in the file."""
    return {
        "dataset": generation.dataset.name,
        **attributes(generation, "model", "seed", "passage_size", "requested"),
        "accepted": len(generation.dataset),
        **attributes(generation, "passages", "left_out"),
        "styles": [
            {**asdict(style), "difficulties": generation.difficulties(style.style)} for style in generation.styles
        ],
        **attributes(generation, "usage", "notes"),
    }
