"""What spans mean by the conventions of OpenInference and of OpenTelemetry for generative AI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.base import finite
from raglift.tracing.attributes import amount, is_cut_off, labels_of, numbered, parsed, text_or_none, without_secrets
from raglift.tracing.span_values import (
    chunk_from,
    documents_in,
    last_of_user,
    messages_in,
    question_in,
    texts_in,
)
from raglift.tracing.spans import Kind, RawSpan, ScoredChunks, Span

if TYPE_CHECKING:
    from raglift.tracing.attributes import Numbered
    from raglift.tracing.spans import Options


_KIND = "openinference.span.kind"
_KINDS = {
    "AGENT": Kind.AGENT,
    "CHAIN": Kind.CHAIN,
    "LLM": Kind.MODEL,
    "RETRIEVER": Kind.RETRIEVER,
    "RERANKER": Kind.RERANKER,
    "TOOL": Kind.TOOL,
    "EMBEDDING": Kind.EMBEDDING,
}


def _openinference_span(raw: RawSpan, options: Options) -> Span | None:
    """Return what the span means; None if it does not follow these conventions."""
    kind = raw.attributes.get(_KIND)
    if not isinstance(kind, str):
        return None
    attributes = raw.attributes
    given = attributes.get("input.value")
    span = Span(
        replace(raw, attributes={}),
        _KINDS.get(kind.upper(), Kind.OTHER),
        question=lambda: question_in(given),
        labels=labels_of(attributes, options.join_by, [attributes.get("metadata")], attributes.get("tag.tags")),
    )
    match span.kind:
        case Kind.RETRIEVER:
            return _retriever(span, attributes, options)
        case Kind.RERANKER:
            return _reranker(span, attributes, options)
        case Kind.TOOL:
            return _tool(span, attributes, options)
        case Kind.MODEL:
            return _model(span, attributes)
        case _:
            return span


def _retriever(span: Span, attributes: Mapping[str, Any], options: Options) -> Span:
    found = numbered(attributes, "retrieval.documents")
    whole = documents_in(attributes.get("output.value"), options.doc_key)
    if found is None:
        lost = "output.value, which is cut off" if is_cut_off(attributes.get("output.value")) else ""
        return replace(span, documents=whole if _has_texts(whole) else None, lost=lost)
    documents = _documents(found, options)
    if (
        whole is not None
        and not found.lost
        and [each.text for each, _ in whole] == [each.text for each, _ in documents]
    ):
        documents = whole if not any(score is not None for _, score in documents) else documents
    return replace(span, documents=documents, lost=found.lost)


def _has_texts(documents: ScoredChunks | None) -> bool:
    # LlamaIndex writes nodes as "<NodeWithScore(node=TextNode(id_=…)>"
    return documents is not None and not any(chunk.text.startswith("<NodeWithScore") for chunk, _ in documents)


def _reranker(span: Span, attributes: Mapping[str, Any], options: Options) -> Span:
    given = numbered(attributes, "reranker.input_documents")
    made = numbered(attributes, "reranker.output_documents")
    query = text_or_none(attributes.get("reranker.query"))
    value = attributes.get("input.value")
    return replace(
        span,
        question=lambda: query or question_in(value),
        candidates=None if given is None else _documents(given, options),
        documents=None if made is None else _documents(made, options),
        lost=next((each.lost for each in (given, made) if each is not None and each.lost), ""),
    )


def _documents(found: Numbered, options: Options) -> ScoredChunks:
    return tuple(
        (
            chunk_from(
                item.get("document.content"),
                item.get("document.id"),
                item.get("document.metadata"),
                doc_key=options.doc_key,
            ),
            finite(item.get("document.score")),
        )
        for item in found.items
    )


def _tool(span: Span, attributes: Mapping[str, Any], options: Options) -> Span:
    given, answered = attributes.get("input.value"), attributes.get("output.value")
    arguments = parsed(given)
    fields = arguments.get("kwargs", arguments) if isinstance(arguments, dict) else {}
    return replace(
        span,
        tool=text_or_none(attributes.get("tool.name")) or span.raw.name,
        arguments=without_secrets(fields) if isinstance(fields, dict) else {},
        documents=documents_in(answered, options.doc_key, strict=True),
        answer=lambda: tool_answer(answered),
        lost="output.value, which is cut off" if is_cut_off(answered) else "",
    )


def tool_answer(value: Any) -> str | None:
    """Return what a tool answered as a text, also where it is a message in JSON."""
    found = parsed(value)
    if isinstance(found, dict):
        texts = list(texts_in(found.get("data", found.get("kwargs", found))))
        return "\n".join(texts) or None
    return text_or_none(value)


def _model(span: Span, attributes: Mapping[str, Any]) -> Span:
    messages = numbered(attributes, "llm.input_messages")
    prompt: tuple[str, ...] | None = None
    asked: str | None = None
    if messages is not None:
        prompt = tuple(text for item in messages.items if (text := _said(item)))
        asked = next((_said(item) for item in reversed(messages.items) if item.get("message.role") == "user"), None)
    elif "input.value" in attributes and "llm.prompt_template.template" not in attributes:
        said = list(messages_in(parsed(attributes["input.value"])))
        plain = text_or_none(attributes["input.value"]) if parsed(attributes["input.value"]) is None else None
        prompt = tuple(text for _, text in said if text) or (None if plain is None else (plain,))
        asked = next((text for role, text in reversed(said) if role in ("user", "human")), None)
    return replace(
        span,
        question=lambda: asked,
        prompt=prompt,
        prompt_tokens=amount(attributes.get("llm.token_count.prompt")),
        answer_tokens=amount(attributes.get("llm.token_count.completion")),
        lost="" if messages is None else messages.lost,
    )


def _said(item: Mapping[str, Any]) -> str:
    """Return the text of a message: its content, or the parts of it that are text."""
    content = item.get("message.content")
    if isinstance(content, str):
        return content
    parts = numbered(item, "message.contents")
    texts = () if parts is None else (part.get("message_content.text") for part in parts.items)
    return "\n".join(text for text in texts if isinstance(text, str))


_OPERATIONS = {
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


def _genai_span(raw: RawSpan, options: Options) -> Span | None:
    """Return what the span means; None if it does not follow these conventions."""
    operation = raw.attributes.get("gen_ai.operation.name")
    if not isinstance(operation, str):
        return None
    attributes = raw.attributes
    kind = _OPERATIONS.get(operation.lower(), Kind.OTHER)
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


CONVENTIONS = (_openinference_span, _genai_span)
"""Each returns what a span means, or None if the span does not follow it."""
