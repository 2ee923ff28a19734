"""Spans that are recorded as a type, an input and an output: those of MLflow, Langfuse and LangSmith."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.tracing.attributes import amount, is_cut_off, labels_of, parsed
from raglift.tracing.conventions.openinference import tool_answer
from raglift.tracing.conventions.values import documents_in, last_of_user, messages_in, question_in
from raglift.tracing.spans import Kind, RawSpan, Span

if TYPE_CHECKING:
    from raglift.tracing.options import Options


_KINDS = {
    **dict.fromkeys(("agent", "invoke_agent"), Kind.AGENT),
    **dict.fromkeys(("chain", "workflow", "task"), Kind.CHAIN),
    **dict.fromkeys(("llm", "chat_model", "generation", "chat"), Kind.MODEL),
    "retriever": Kind.RETRIEVER,
    "reranker": Kind.RERANKER,
    "tool": Kind.TOOL,
    "embedding": Kind.EMBEDDING,
}


def mlflow_span(raw: RawSpan, options: Options) -> Span | None:
    """Return what a span of MLflow means; None if it is none. Its attributes are JSON, each for itself."""
    attributes = raw.attributes
    if "mlflow.spanType" not in attributes and "mlflow.spanInputs" not in attributes:
        return None
    kind = parsed(attributes.get("mlflow.spanType"))
    usage = parsed(attributes.get("mlflow.chat.tokenUsage"))
    return _span(
        raw,
        options,
        # `UNKNOWN` is what a function has that is traced without a type
        str(kind or attributes.get("mlflow.spanType") or "").strip('"'),
        given=_decoded(attributes.get("mlflow.spanInputs")),
        made=_decoded(attributes.get("mlflow.spanOutputs")),
        labels=([attributes.get("metadata")], attributes.get("tag.tags")),
        tokens=_tokens(usage),
    )


def langfuse_span(raw: RawSpan, options: Options) -> Span | None:
    """Return what an observation of Langfuse means; None if it is none."""
    attributes = raw.attributes
    kind = attributes.get("langfuse.observation.type")
    if not isinstance(kind, str):
        return None
    beginnings = ("langfuse.trace.metadata.", "langfuse.observation.metadata.")
    fields = {
        name.removeprefix(begin): value
        for name, value in attributes.items()
        for begin in beginnings
        if name.startswith(begin)
    }
    metadata = [attributes.get(begin.removesuffix(".")) for begin in beginnings]
    given = attributes.get("langfuse.observation.input")
    return _span(
        raw,
        options,
        kind,
        given=given if given is not None else attributes.get("langfuse.trace.input"),
        made=attributes.get("langfuse.observation.output"),
        labels=([fields, *metadata], attributes.get("langfuse.trace.tags")),
        tokens=_tokens(parsed(attributes.get("langfuse.observation.usage_details"))),
    )


def langsmith_span(raw: RawSpan, options: Options) -> Span | None:
    """Return what a run of LangSmith means, exported or sent by OpenTelemetry; None if it is none."""
    attributes = raw.attributes
    kind = attributes.get("langsmith.span.kind")
    if not isinstance(kind, str):
        return None
    begin = "langsmith.metadata."
    fields = {name.removeprefix(begin): value for name, value in attributes.items() if name.startswith(begin)}
    tags = attributes.get("langsmith.span.tags")
    return _span(
        raw,
        options,
        kind,
        given=attributes.get("langsmith.inputs", attributes.get("gen_ai.prompt")),
        made=attributes.get("langsmith.outputs", attributes.get("gen_ai.completion")),
        labels=([fields], tags.split(", ") if isinstance(tags, str) else tags),
        tokens=(
            amount(attributes.get("gen_ai.usage.input_tokens")),
            amount(attributes.get("gen_ai.usage.output_tokens")),
        ),
    )


def _decoded(value: Any) -> Any:
    """Return what JSON stands for; a text that is none, as one that was cut off, as it is."""
    found = parsed(value)
    return value if found is None else found


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    if not isinstance(usage, Mapping):
        return None, None
    given = next((usage[name] for name in ("input", "input_tokens", "prompt_tokens") if name in usage), None)
    made = next((usage[name] for name in ("output", "output_tokens", "completion_tokens") if name in usage), None)
    return amount(given), amount(made)


def _span(
    raw: RawSpan,
    options: Options,
    kind_name: str,
    *,
    given: Any,
    made: Any,
    labels: tuple[list[Any], Any],
    tokens: tuple[int | None, int | None],
) -> Span:
    kind = _KINDS.get(kind_name.lower(), Kind.CHAIN if kind_name.lower() in ("span", "unknown") else Kind.OTHER)
    span = Span(
        replace(raw, attributes={}),
        kind,
        question=lambda: question_in(given),
        labels=labels_of(raw.attributes, options.join_by, *labels),
    )
    lost = "an output that is cut off" if is_cut_off(made) else ""
    if kind is Kind.RETRIEVER:
        return replace(span, documents=documents_in(made, options.doc_key), lost=lost)
    if kind is Kind.RERANKER:
        before = parsed(given)
        named = before.get("documents", before.get("nodes")) if isinstance(before, Mapping) else None
        return replace(
            span,
            candidates=documents_in(named, options.doc_key),
            documents=documents_in(made, options.doc_key),
            lost=lost,
        )
    if kind is Kind.TOOL:
        arguments = parsed(given)
        return replace(
            span,
            tool=raw.name,
            arguments=arguments if isinstance(arguments, dict) else {},
            documents=documents_in(made, options.doc_key, strict=True),
            answer=lambda: tool_answer(made),
            lost=lost,
        )
    if kind is Kind.MODEL:
        messages = parsed(given)
        if isinstance(messages, Mapping) and not {"messages"} & set(messages):
            messages = messages.get("input", messages.get("prompt", messages))
        said = tuple(text for _, text in messages_in(messages) if text)
        if not said and isinstance(given, str) and parsed(given) is None and given.strip():
            said = (given,)
        return replace(
            span,
            question=lambda: last_of_user(messages),
            prompt=said or None,
            prompt_tokens=tokens[0],
            answer_tokens=tokens[1],
            lost="an input that is cut off" if is_cut_off(given) else "",
        )
    return span
