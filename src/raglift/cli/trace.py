"""`raglift trace`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from raglift.base.display import counted, printable
from raglift.cli.evaluate import as_json, depths, print_result
from raglift.cli.json_output import print_json
from raglift.cli.saving import keep
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.matching.rule import MatchRule
from raglift.rendering.document import Detail
from raglift.running.options import DEFAULT_KS
from raglift.running.sessions import DEFAULT_SESSION_METRICS, evaluate_sessions
from raglift.storage.saving import check_free
from raglift.tracing.reading import read_traces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from raglift.cli.measuring import Trace
    from raglift.records.dataset import Dataset
    from raglift.results.evaluation import Evaluation
    from raglift.tracing.result import TraceImport


def run(request: Trace) -> None:
    """Read traces, or receive them, evaluate, save, print."""
    _check(request)
    dataset = load_dataset(
        request.data, documents=request.documents, encoding=request.encoding, include=request.include
    )
    settings = _settings(request)
    if request.output is not None:
        check_free(request.output, overwrite=request.overwrite)
    files: Sequence[Path] = request.files
    imported = read_traces(
        files, dataset, join_by=request.join_by, doc_key=request.doc_key, text_tools=request.text_tools
    )
    _finish(request, imported, dataset, settings)


def _check(request: Trace) -> None:
    """Raise where options contradict each other."""
    if not request.files:
        raise ConfigurationError(
            "FILES: found none; expected files of traces, or --listen, which receives them from the application"
        )


def _settings(request: Trace) -> dict[str, Any]:
    """Return the arguments of `evaluate_sessions` that the options stand for."""
    match = MatchRule.for_profile(
        request.profile, request.match, threshold=request.match_threshold, unicode_folding=request.unicode_folding
    )
    return {
        "metrics": request.metrics or DEFAULT_SESSION_METRICS,
        "ks": depths(request.ks) if request.ks else DEFAULT_KS,
        "match": match,
        "profile": request.profile,
        "system": request.name,
    }


def _finish(request: Trace, imported: TraceImport, dataset: Dataset, settings: dict[str, Any]) -> None:
    """Evaluate the sessions, save the evaluation and print both."""
    if not imported.sessions:
        _print(request, imported, None)
        found = f"{counted(len(imported.not_joined), 'trace')} of no query of {dataset.name}, for the reasons above"
        expected = "a question with the text of a query, or --join-by with the name of its id"
        raise DatasetError("traces", [Fault("traces", found, expected)], "nothing was evaluated")
    evaluation = evaluate_sessions(imported.sessions, dataset, **settings)
    show = partial(_print, request, imported, evaluation)
    keep(evaluation, request.output, overwrite=request.overwrite, show=show)
    show()


def _print(request: Trace, imported: TraceImport, evaluation: Evaluation | None) -> None:
    if request.as_json:
        found = None if evaluation is None else as_json(evaluation)
        print_json({"traces": traces_json(imported), "evaluation": found})
        return
    from rich.console import Console

    from raglift.report.terminal.document import print_document
    from raglift.tracing.view import traces_view

    detail = Detail.DETAILS if request.details else Detail.SUMMARY
    print_document(traces_view(imported), Console(), detail)
    if evaluation is not None:
        sys.stdout.write("\n")
        print_result(evaluation, json=False, details=request.details, following=_next_line(request))


def traces_json(imported: TraceImport) -> dict[str, Any]:
    """Return what `--json` prints of traces."""
    return {
        "spans": imported.spans,
        "traces": len(imported.traces),
        "joined": len(imported.sessions),
        "not_joined": [asdict(trace) for trace in imported.not_joined],
        "sessions": [asdict(trace) for trace in imported.traces if trace.query_id is not None],
        "faults": [asdict(fault) for fault in imported.faults],
    }


def _next_line(request: Trace) -> str:
    if request.output is None:
        return "Next: -o FOLDER keeps the run, for raglift report, explain and compare; --all prints every metric."
    run = shlex.quote(str(request.output))
    return printable(f"Next: raglift report {run}, or raglift explain {run} QUERY")
