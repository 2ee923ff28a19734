"""What is shown of traces that were read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from raglift.rendering.document import Detail, Document, Section, Table, row_of
from raglift.report.format import number_text
from raglift.utilities.display import counted, excerpt

if TYPE_CHECKING:
    from raglift.tracing.records import ImportedTrace, TraceImport


_FIRST, _MOST, _LONGEST = 20, 200, 80


def traces_view(found: TraceImport) -> Document:
    """Return what is shown of traces: how many were joined, those that were not, and what could not be read."""
    joined = [trace for trace in found.traces if trace.query_id is not None]
    left = found.not_joined
    queries = len({session.query_id for session in found.sessions})
    by = Counter(trace.joined_by for trace in joined)
    how = ", ".join(f"{by[name]:,} by {name}" for name in ("id", "text") if by[name])
    answered = sum(trace.calls == 0 for trace in joined)
    measured = (
        ("Spans", f"{found.spans:,}"),
        ("Joined", f"{counted(len(joined), 'trace')} of {len(found.traces):,}" + (f": {how}" if how else "")),
        ("Queries", f"{queries:,} of {found.queries:,} have a session"),
        ("Calls", f"{sum(trace.calls for trace in joined):,}, {sum(trace.failed_calls for trace in joined):,} failed"),
        *((("Without a search", counted(answered, "session")),) if answered else ()),
        *_models(joined),
    )
    sections = [
        *(
            [Section("Further traces", (), (_left(left[_FIRST:_MOST]),), detail=Detail.DETAILS)]
            if left[_FIRST:]
            else ()
        ),
        *([Section("Could not be read", tuple(map(str, found.faults[:_MOST])))] if found.faults else ()),
    ]
    share = f"{counted(len(joined), 'trace')} of {len(found.traces):,} became sessions" + (f" ({how})" if how else "")
    calls = f"{queries:,} of {counted(found.queries, 'query')}, {counted(sum(trace.calls for trace in joined), 'call')}"
    faults = f" {counted(len(found.faults), 'fault')} in what was read." if found.faults else ""
    return Document(
        f"{found.dataset}: traces",
        f"{share}: {calls}.{faults}",
        _left(left[:_FIRST]),
        measured,
        sections=tuple(sections),
        printed=Detail.SUMMARY,
    )


def _models(joined: list[ImportedTrace]) -> tuple[tuple[str, str], ...]:
    calls = sum(trace.model_calls for trace in joined)
    given = [trace.prompt_tokens for trace in joined if trace.prompt_tokens is not None]
    made = [trace.answer_tokens for trace in joined if trace.answer_tokens is not None]
    if not calls:
        return ()
    tokens = f", {sum(given):,} tokens in, {sum(made):,} out" if given or made else ""
    return (("Language models", f"{counted(calls, 'call')}{tokens}"),)


def _left(traces: tuple[ImportedTrace, ...]) -> Table:
    rows = tuple(
        row_of(
            (
                trace.trace_id[:_LONGEST],
                trace.where,
                trace.reason.replace("_", " "),
                excerpt(trace.detail or trace.question, _LONGEST),
                f"{trace.calls:,}",
                "–" if trace.seconds is None else number_text(trace.seconds),
            )
        )
        for trace in traces
    )
    columns = ("trace", "where", "not joined", "found", "calls", "seconds")
    return Table("Traces that were not joined", columns, rows, text_columns=(0, 1, 2, 3), optional=(5, 1))
