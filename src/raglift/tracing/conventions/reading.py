"""A span is read by the first convention that it follows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.tracing.attributes import labels_of
from raglift.tracing.conventions import genai, openinference
from raglift.tracing.spans import Kind, RawSpan, Span

if TYPE_CHECKING:
    from raglift.tracing.options import Options

_CONVENTIONS = (openinference.span_of, genai.span_of)


def read_span(raw: RawSpan, options: Options) -> Span:
    """Return what a span means by the convention that it follows; one of no convention only links others.

    Args:
        raw: the span as it was exported.
        options: how it is read.
    """
    for convention in _CONVENTIONS:
        span = convention(raw, options)
        if span is not None:
            lost = f"{raw.dropped} attributes, which the exporter left out" if raw.dropped else span.lost
            return replace(span, lost=lost)
    labels = labels_of(
        raw.attributes, options.join_by, [raw.attributes.get("metadata")], raw.attributes.get("tag.tags")
    )
    return Span(replace(raw, attributes={}), Kind.OTHER, labels=labels)
