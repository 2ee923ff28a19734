"""`raglift trace`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from raglift.cli.arguments import load_labels
from raglift.cli.evaluate import depths
from raglift.cli.json_output import print_json
from raglift.cli.measuring import Trace
from raglift.cli.results import as_json, next_line, print_result
from raglift.cli.saving import keep
from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.matching.rule import MatchRule
from raglift.rendering.document import Detail
from raglift.rendering.terminal import print_document
from raglift.results.evaluation import Evaluation
from raglift.running.agents import DEFAULT_SESSION_METRICS
from raglift.running.recorded import evaluate_sessions
from raglift.running.settings import DEFAULT_KS
from raglift.storage.saving import check_free
from raglift.tracing.reading import read_traces, traces_view
from raglift.tracing.receiver import TraceReceiver
from raglift.tracing.records import TraceImport
from raglift.types.dataset import Dataset
from raglift.utilities.display import counted, printable
from raglift.utilities.progress import notice, show_status

_FOLDER = Path("raglift-traces")
_LOOKS_EACH, _STRAGGLERS = 0.1, 1.0


def run(request: Trace) -> None:
    """Read traces, or receive them, evaluate, save, print."""
    _check(request)
    dataset = load_labels(request.data, request)
    settings = _settings(request)
    if request.output is not None:
        check_free(request.output, overwrite=request.overwrite)
    files: Sequence[Path] = [_received(request)] if request.listen else request.files
    imported = read_traces(
        files,
        dataset,
        join_by=request.join_by,
        doc_key=request.doc_key,
        text_tools=request.text_tools,
        columns=_columns(request.columns),
    )
    _finish(request, imported, dataset, settings)


def _columns(given: Sequence[str]) -> dict[str, str] | None:
    """Return what `--column` says, for example `kind=run_type`."""
    pairs = [text.partition("=") for text in given]
    wrong = next(("".join(pair) for pair in pairs if not all(pair)), None)
    if wrong is not None:
        raise ConfigurationError(f"--column: found {wrong!r}; expected a part of a span and its column: kind=run_type")
    return {name: column for name, _, column in pairs} or None


def _check(request: Trace) -> None:
    """Raise where options contradict each other."""
    receiving = {"--keep": request.keep, "--stop-after": request.stop_after, "--idle": request.idle}
    if request.listen and request.files:
        raise ConfigurationError("--listen: found it with files; expected one of the two: what was kept is read later")
    if not request.listen:
        named = next((name for name, value in receiving.items() if value is not None), None)
        if named is not None:
            raise ConfigurationError(f"{named}: found it without --listen; expected both")
        if not request.files:
            raise ConfigurationError(
                "FILES: found none; expected files of traces, or --listen, which receives them from the application"
            )
    for name, number in (("--stop-after", request.stop_after), ("--idle", request.idle)):
        if number is not None and not 0 < number < float("inf"):
            raise ConfigurationError(f"{name}: found {number}; expected a number above 0")


def _received(request: Trace) -> Path:
    """Receive traces until Ctrl-C or a limit, and return the file that they are kept in."""
    file = request.keep or _FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
    with TraceReceiver(file, request.address, join_by=request.join_by) as receiver:
        notice(f"receiving on {receiver.endpoint}; Ctrl-C stops and evaluates", show=True)
        notice(f"for the application: OTEL_EXPORTER_OTLP_ENDPOINT={receiver.endpoint}", show=True)
        notice(f"kept in {printable(str(file))}", show=True)
        with suppress(KeyboardInterrupt):
            _wait(receiver, request)
    for each in receiver.faults:
        notice(f"not used: {each}", show=True)
    notice(f"received {_so_far(receiver)}", show=True)
    if not receiver.spans and not receiver.has_earlier:
        found, expected = "no spans", f"an application with OTEL_EXPORTER_OTLP_ENDPOINT={receiver.endpoint}"
        raise DatasetError(str(file), [Fault(receiver.endpoint, found, expected)], "nothing was evaluated")
    return file


def _wait(receiver: TraceReceiver, request: Trace) -> None:
    reported = 0
    with show_status(show=None) as tell:
        while True:
            time.sleep(_LOOKS_EACH)
            if receiver.spans != reported:
                reported = receiver.spans
                tell(f"received {_so_far(receiver)}")
            is_enough = request.stop_after is not None and receiver.traces >= request.stop_after
            # Spans of the last trace may come in another request than its root
            if is_enough and receiver.idle >= _STRAGGLERS:
                return
            if request.idle is not None and receiver.idle >= request.idle:
                return


def _so_far(receiver: TraceReceiver) -> str:
    return f"{counted(receiver.spans, 'span')}, {counted(receiver.traces, 'trace')} in whole"


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
        found = f"{counted(len(imported.not_joined), 'trace')} of no question of {dataset.name}, for the reasons above"
        expected = "a question with the text of one of the dataset, or --join-by with the name of its id"
        raise DatasetError("traces", [Fault("traces", found, expected)], "nothing was evaluated")
    if request.only_joined:
        dataset = dataset.only(ids=sorted({session.query_id for session in imported.sessions}))
    evaluation = evaluate_sessions(imported.sessions, dataset, **settings)
    notes = (*evaluation.run.notes, *import_notes(imported))
    evaluation = replace(evaluation, run=replace(evaluation.run, notes=notes))
    show = partial(_print, request, imported, evaluation)
    joined = {session.query_id for session in imported.sessions}
    if len(joined) < len(dataset) and not request.only_joined:
        sys.stderr.write(
            f"{len(dataset) - len(joined):,} of {counted(len(dataset), 'question')} have no trace and count 0; "
            "--only-joined leaves them out\n"
        )
    keep(evaluation, request.output, overwrite=request.overwrite, show=show)
    show()


def _print(request: Trace, imported: TraceImport, evaluation: Evaluation | None) -> None:
    if request.as_json:
        found = None if evaluation is None else as_json(evaluation)
        print_json({"traces": traces_json(imported), "evaluation": found})
        return
    detail = Detail.DETAILS if request.details else Detail.SUMMARY
    print_document(traces_view(imported), detail)
    if evaluation is not None:
        sys.stdout.write("\n")
        following = next_line(request.output, evaluation)
        print_result(evaluation, json=False, details=request.details, following=following)


def import_notes(imported: TraceImport) -> list[str]:
    """Return what readers of the saved evaluation should know of the traces that it is made of."""
    reasons = Counter(trace.reason.replace("_", " ") for trace in imported.not_joined)
    listed = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
    left = counted(len(imported.not_joined), "trace")
    notes = [f"{left} of {len(imported.traces):,} not joined to a question, and left out: {listed}"] if listed else []
    faults = counted(len(imported.faults), "fault")
    return [
        *notes,
        *([f"{faults} in the files of traces: what could not be read is left out"] if imported.faults else ()),
    ]


def traces_json(imported: TraceImport) -> dict[str, Any]:
    """Return what `--json` prints of traces."""
    return {
        "spans": imported.spans,
        "traces": len(imported.traces),
        "joined": len(imported.sessions),
        "not_joined": imported.not_joined,
        "sessions": [trace for trace in imported.traces if trace.query_id is not None],
        "faults": imported.faults,
    }
