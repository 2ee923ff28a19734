"""Spans as rows of a tool's own export: a mapping says which column is what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError
from raglift.tracing.attributes import parsed
from raglift.tracing.decoding.fields import Damaged, SpanReader, error_text
from raglift.tracing.spans import RawSpan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.tracing.spans import Options
    from raglift.utilities.validation import Location


_KINDS = {
    **dict.fromkeys(("agent", "invoke_agent"), "AGENT"),
    **dict.fromkeys(("chain", "workflow", "task", "span"), "CHAIN"),
    **dict.fromkeys(("llm", "chat_model", "generation", "chat", "model"), "LLM"),
    **{kind: kind.upper() for kind in ("retriever", "reranker", "tool", "embedding")},
}
"""What tools call kinds of spans, and what OpenInference calls them."""


@dataclass(frozen=True)
class SpanColumns:
    """In which column of a row each part of a span is; `extra.metadata.id` is a field of an object in a column."""

    trace: str = "trace_id"
    span: str = "span_id"
    parent: str = "parent_id"
    name: str = "name"
    kind: str = "kind"
    """An agent, chain, llm, retriever, reranker or tool."""
    input: str = "input"
    """A question, the arguments of a tool, the messages of a model: a text, or JSON."""
    output: str = "output"
    """What was returned: the documents of a retriever, the answer of a tool."""
    start: str = "start_time"
    """A time as ISO 8601, or milliseconds since 1970."""
    end: str = "end_time"
    error: str = "error"
    """Why it failed; empty if it did not."""
    prompt_tokens: str = "prompt_tokens"
    answer_tokens: str = "completion_tokens"

    @classmethod
    def of(cls, columns: Mapping[str, str]) -> SpanColumns:
        """Return the columns that a user names.

        Raises:
            ConfigurationError: a part that no span has, or a column that is no text.
        """
        known = [field.name for field in fields(cls)]
        for name, column in columns.items():
            if name not in known:
                raise ConfigurationError(f"columns: found {name!r}; expected parts of a span: {', '.join(known)}")
            if not isinstance(column, str) or not column:
                raise ConfigurationError(f"columns: {name}: found {column!r}; expected the name of a column")
        return cls(**columns)


def span_of(row: Mapping[str, Any], location: Location, options: Options, columns: SpanColumns) -> Iterator[RawSpan]:
    """Yield the span of a row, with the attributes of OpenInference; what cannot be read is noted.

    Args:
        row: an object of the file.
        location: where it is.
        options: how spans are read.
        columns: which column is what.
    """
    found = {field.name: _at(row, getattr(columns, field.name)) for field in fields(columns)}
    reader = SpanReader(found, location, options)
    kind = str(found["kind"] or "")
    attributes = {
        "openinference.span.kind": _KINDS.get(kind.lower(), kind),
        "input.value": found["input"],
        "output.value": found["output"],
        "llm.token_count.prompt": found["prompt_tokens"],
        "llm.token_count.completion": found["answer_tokens"],
    }
    if options.join_by is not None:
        attributes[options.join_by] = _at(row, options.join_by)
    try:
        start, end = reader.duration(reader.instant("start"), reader.instant("end"))
        yield RawSpan(
            reader.identity("trace") or "",
            reader.identity("span") or "",
            reader.identity("parent", required=False),
            reader.name(),
            start,
            end,
            error_text(found["error"]) if found["error"] else None,
            reader.attributes(attributes),
            str(location),
        )
    except Damaged:
        return


def _at(row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column, or of a field of an object in it; None if there is none."""
    if column in row:
        return row[column]
    name, _, rest = column.partition(".")
    inner = parsed(row.get(name)) if rest else None
    return _at(inner, rest) if isinstance(inner, Mapping) else None
