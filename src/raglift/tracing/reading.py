"""`read_traces()`: files of traces as sessions, and what is shown of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.rendering.document import Detail, Document, Section, Table, row_of
from raglift.rendering.presenting import view_of, whole
from raglift.report.format import number_text
from raglift.running.evaluation import checked_dataset
from raglift.tracing.attributes import labels_of
from raglift.tracing.conventions import CONVENTIONS
from raglift.tracing.decoding import SpanColumns, files_in, spans_in
from raglift.tracing.joining import sessions_of
from raglift.tracing.records import ImportedTrace, TraceImport
from raglift.tracing.spans import Kind, Options, RawSpan, Span, trees_of
from raglift.utilities.display import counted, excerpt
from raglift.utilities.strict_files import as_file
from raglift.utilities.validation import described, fault

if TYPE_CHECKING:
    from raglift.types.dataset import Dataset


def _read_span(raw: RawSpan, options: Options) -> Span:
    """Return what a span means by the convention that it follows; one of no convention only links others.

    Args:
        raw: the span as it was exported.
        options: how it is read.
    """
    for convention in CONVENTIONS:
        span = convention(raw, options)
        if span is not None:
            lost = f"{raw.dropped} attributes, which the exporter left out" if raw.dropped else span.lost
            return replace(span, lost=lost)
    labels = labels_of(
        raw.attributes, options.join_by, [raw.attributes.get("metadata")], raw.attributes.get("tag.tags")
    )
    return Span(replace(raw, attributes={}), Kind.OTHER, labels=labels)


def read_traces(
    traces: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    dataset: Dataset | str | os.PathLike[str],
    *,
    join_by: str | None = None,
    doc_key: str | None = None,
    text_tools: Collection[str] = (),
    columns: Mapping[str, str] | None = None,
) -> TraceImport:
    """Read what an application did from its traces, as sessions that `evaluate_sessions` scores.

        imported = rl.read_traces("traces.jsonl", data)
        print(imported)
        evaluation = rl.evaluate_sessions(imported.sessions, data)

    Reads OTLP as JSON (of a file exporter or collector) and spans of OpenTelemetry a line, also packed with gzip;
    attributes as OpenInference and OpenTelemetry's conventions for generative AI have them. Of a tool's own export,
    `columns` names the columns of its rows. Spans of retrievers and rerankers, and tools that return documents, are
    the calls; the hits in the prompt of the answer are the final context. Several traces of one query are repetitions.

    Args:
        traces: a file, a folder of files, or several of these. What cannot be read is in the result's `faults`.
        dataset: labelled queries, as for `evaluate`.
        join_by: the name of the attribute, field of the metadata, or tag (`name:value`) that holds the id of the
            query. Where a trace does not have it, and without a name, traces are joined by the normalized text of the
            question.
        doc_key: the metadata key that holds the ids of documents, where hits have them there.
        text_tools: names of tools whose answer is a text: all of it is one hit.
        columns: for rows of another export, the column of each part of a span: see `raglift.tracing.SpanColumns`.

    Raises:
        DatasetError: nothing can be read; every fault is listed.
        ConfigurationError: an argument that cannot be used.
    """
    if isinstance(text_tools, str):
        raise ConfigurationError(f"text_tools: found {described(text_tools)}; expected a list of names")
    data = checked_dataset(dataset)
    given = [traces] if isinstance(traces, (str, os.PathLike)) else list(traces)
    faults: list[Fault] = []
    options = Options(join_by, doc_key, None if columns is None else SpanColumns.of(columns))
    spans = list(_spans(given, faults, options))
    if not spans:
        listed = ", ".join(map(str, given)) or "traces"
        raise DatasetError(listed, faults or [fault(listed, "no spans", "traces with spans in them")])
    read = sessions_of(trees_of(spans), data, text_tools)
    order = {query.id: place for place, query in enumerate(data.queries)}
    sessions = [session for _, session in read if session is not None]
    return TraceImport(
        data.name,
        tuple(sorted(sessions, key=lambda session: (order[session.query_id], session.repetition))),
        tuple(row for row, _ in read),
        tuple(faults),
        len(spans),
        len(data.queries),
    )


def _spans(given: Iterable[Any], faults: list[Fault], options: Options) -> Iterator[Span]:
    for each in given:
        if not isinstance(each, (str, os.PathLike)):
            raise ConfigurationError(f"traces: found {described(each)}; expected a file or a folder")
        for path in files_in(each):
            with as_file(path) as file:
                yield from (_read_span(raw, options) for raw in spans_in(file, faults, options))


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
    made = counted(sum(trace.calls for trace in joined), "call")
    calls = f"{queries:,} of {counted(found.queries, 'question')}, {made}"
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


view_of.register(TraceImport, whole(traces_view))
