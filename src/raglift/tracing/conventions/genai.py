"""OpenTelemetry's semantic conventions for generative AI: `gen_ai.operation.name` and what belongs to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.tracing.attributes import amount, is_cut_off, labels_of, parsed, text_or_none, without_secrets
from raglift.tracing.conventions.openinference import tool_answer
from raglift.tracing.conventions.values import documents_in, last_of_user, messages_in, question_in
from raglift.tracing.spans import Kind, RawSpan, Span

if TYPE_CHECKING:
    from raglift.tracing.spans import Options


_KINDS = {
    "chat": Kind.MODEL,
    "text_completion": Kind.MODEL,
    "generate_content": Kind.MODEL,
    "embeddings": Kind.EMBEDDING,
    "execute_tool": Kind.TOOL,
    "retrieval": Kind.RETRIEVER,
    "rerank": Kind.RERANKER,
    "invoke_agent": Kind.AGENT,
    "invoke_workflow": Kind.CHAIN,
}
"""By the name of the operation. Reranking is no part of the conventions so far; its spans are written like this."""


def span_of(raw: RawSpan, options: Options) -> Span | None:
    """Return what the span means; None if it does not follow these conventions."""
    operation = raw.attributes.get("gen_ai.operation.name")
    if not isinstance(operation, str):
        return None
    attributes = raw.attributes
    kind = _KINDS.get(operation.lower(), Kind.OTHER)
    messages = attributes.get("gen_ai.input.messages")
    query = text_or_none(attributes.get("gen_ai.retrieval.query.text"))
    span = Span(
        replace(raw, attributes={}),
        kind,
        question=lambda: query or last_of_user(parsed(messages) or ()),
        labels=labels_of(attributes, options.join_by, [attributes.get("metadata")], attributes.get("tag.tags")),
    )
    if kind in (Kind.RETRIEVER, Kind.RERANKER):
        found = attributes.get("gen_ai.retrieval.documents")
        lost = "gen_ai.retrieval.documents, which is cut off" if is_cut_off(found) else ""
        return replace(span, documents=documents_in(found, options.doc_key), lost=lost)
    if kind is Kind.TOOL:
        arguments, answered = (
            parsed(attributes.get("gen_ai.tool.call.arguments")),
            attributes.get("gen_ai.tool.call.result"),
        )
        return replace(
            span,
            question=lambda: question_in(arguments),
            tool=text_or_none(attributes.get("gen_ai.tool.name")) or raw.name.removeprefix("execute_tool "),
            arguments=without_secrets(arguments) if isinstance(arguments, dict) else {},
            documents=documents_in(answered, options.doc_key, strict=True),
            answer=lambda: tool_answer(answered),
            lost="gen_ai.tool.call.result, which is cut off" if is_cut_off(answered) else "",
        )
    if kind is Kind.MODEL:
        said = None if messages is None else tuple(text for _, text in messages_in(messages) if text)
        return replace(
            span,
            prompt=said,
            prompt_tokens=amount(attributes.get("gen_ai.usage.input_tokens")),
            answer_tokens=amount(attributes.get("gen_ai.usage.output_tokens")),
            lost="gen_ai.input.messages, which is cut off" if is_cut_off(messages) else "",
        )
    return span
