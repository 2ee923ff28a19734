"""`raglift labels generate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from raglift.apps.generation.engine import MOST_TRIES, Generation, estimate_generation, generate, generation_view
from raglift.apps.generation.questions import parse_styles
from raglift.cli.arguments import require_writable
from raglift.cli.json_output import attributes, print_json
from raglift.cli.labels import Generate
from raglift.cli.model_options import model_of, print_estimate, stoppable
from raglift.datasets.loading import load_documents
from raglift.errors import ConfigurationError
from raglift.rendering.terminal import print_document
from raglift.types.dataset import Dataset
from raglift.utilities.display import counted, printable
from raglift.utilities.limits import is_there
from raglift.utilities.threads import require_concurrency

_LINES = (".jsonl", ".ndjson")
_NOTHING = 1
"""The exit code if no question was accepted: nothing is wrong with the command, so it is not 2."""


def run(request: Generate) -> None:
    """Say what it would take, let questions be written, write them, print the report."""
    require_concurrency(request.concurrency)  # an estimate asks nothing that would check it
    model = model_of(request.model, request.temperature, to_estimate=request.estimate)
    styles = ",".join(request.styles)
    output = None if request.estimate else _checked_output(request)
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
    if len(generation.dataset):
        generation.write(output, overwrite=request.overwrite)
        sys.stderr.write(f"wrote {counted(len(generation.dataset), 'question')} to {output}\n")
    if request.as_json:
        print_json(_as_json(generation))
    else:
        print_document(generation_view(generation))
    if not len(generation.dataset):
        reason = f"no question was accepted, so {output} was not written: the report says what was discarded, and why"
        sys.stderr.write(f"raglift: {printable(reason)}\n")
        raise typer.Exit(_NOTHING)


def _checked_output(request: Generate) -> Path:
    """Return where the questions go."""
    output = request.output
    if output is None or (output.suffix and output.suffix.lower() not in _LINES):
        found = "none" if output is None else output
        raise ConfigurationError(f"--output: found {found}; expected a .jsonl file or a new folder (or --estimate)")
    is_file = bool(output.suffix)
    if is_there(output) and not (request.overwrite and is_file):
        way = "--overwrite" if is_file else "a folder that is not there yet: none is replaced"
        raise ConfigurationError(f"{output}: found something that is already there; expected a new name, or {way}")
    require_writable(output)
    return output


def _name(source: str) -> str:
    return source.rstrip("/\\").replace("\\", "/").rpartition("/")[2].partition(".")[0] or "documents"


def _as_json(generation: Generation) -> dict[str, Any]:
    """Return what `--json` prints: everything but the questions, which are in the file."""
    return {
        "dataset": generation.dataset.name,
        **attributes(generation, "model", "seed", "passage_size", "requested"),
        "accepted": len(generation.dataset),
        **attributes(generation, "passages", "left_out"),
        **attributes(generation, "styles", "usage", "notes"),
    }
