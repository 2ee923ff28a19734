"""The values in spans, as frameworks write them: questions, messages, documents and the answers of tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from raglift.adapters.base import finite
from raglift.adapters.results import LIST_KEYS, chunk_of_mapping
from raglift.errors import ConfigurationError
from raglift.tracing.attributes import parsed, without_secrets
from raglift.types.documents import Chunk

if TYPE_CHECKING:
    from raglift.tracing.spans import ScoredChunks

DOC_KEYS = ("doc_id", "document_id", "ref_doc_id", "source", "file_name", "doc_uri")
"""Where the metadata of a hit names its document: the first of these that is set."""
_DEEPEST = 6
_REDACTED = "__REDACTED__"
"""What OpenInference writes in place of contents that are not to be recorded."""
_QUESTIONS = (
    *("input", "query", "question", "user_msg", "user_input", "query_str", "query_bundle", "prompt", "search_query"),
    *("user_query", "q", "text", "message"),
)
_WRAPPERS = ("inputs", "kwargs", "args", "arguments", "input_str")
_ROLES_OF_USERS = ("user", "human")
_LONGEST_QUESTION = 100_000


# Questions, and the texts of messages.


def question_in(value: Any) -> str | None:
    """Return the question in what a step was given: a text, a field with a usual name, or the last message of the user.

    Args:
        value: a text, JSON in a text, or an object.
    """
    return _question(value, 0)


def _question(value: Any, depth: int) -> str | None:
    if isinstance(value, str):
        inner = parsed(value) if value.lstrip()[:1] in ("{", "[") else None
        if isinstance(inner, (dict, list)):
            return _question(inner, depth + 1) if depth < _DEEPEST else None
        return value.strip()[:_LONGEST_QUESTION] or None
    if depth < _DEEPEST and isinstance(value, Mapping):
        return _question_in_fields(value, depth)
    if depth < _DEEPEST and isinstance(value, (list, tuple)):
        said = last_of_user(value)
        return _question(value[0], depth + 1) if said is None and len(value) == 1 else said
    return None


def _question_in_fields(fields: Mapping[str, Any], depth: int) -> str | None:
    for name in ("messages", "chat_history", "history"):
        if isinstance(fields.get(name), (list, tuple)) and (found := last_of_user(fields[name])) is not None:
            return found
    for name in (*_QUESTIONS, *_WRAPPERS):
        if fields.get(name) is not None and (found := _question(fields[name], depth + 1)) is not None:
            return found
    values = list(fields.values())
    return _question(values[0], depth + 1) if len(values) == 1 and isinstance(values[0], str) else None


def last_of_user(messages: Any) -> str | None:
    """Return the text of the last message of the user; None where there is none."""
    return next(
        (text for role, text in reversed(list(messages_in(messages))) if role in _ROLES_OF_USERS and text), None
    )


def messages_in(messages: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the role and the text of each message: of OpenAI, LangChain, LlamaIndex and OpenTelemetry.

    Args:
        messages: a list of messages, or of such lists.
        depth: how deep it lies in lists.
    """
    if isinstance(messages, str):
        messages = parsed(messages)
    if isinstance(messages, Mapping):
        messages = messages.get("messages", [messages])
    if not isinstance(messages, (list, tuple)):
        return
    for message in messages:
        if isinstance(message, (list, tuple)):
            if len(message) == 2 and all(isinstance(each, str) for each in message):
                yield message[0].lower(), message[1]
            elif depth < _DEEPEST:
                yield from messages_in(message, depth + 1)
        elif isinstance(message, Mapping):
            fields = next(
                (message[name] for name in ("kwargs", "data") if isinstance(message.get(name), Mapping)), message
            )
            role = next((fields[name] for name in ("role", "type") if isinstance(fields.get(name), str)), "")
            role = role if role or fields is message else str(message.get("type", ""))
            yield role.lower(), "\n".join(texts_in(_content_of(fields)))


def _content_of(message: Mapping[str, Any]) -> Any:
    return next((message[name] for name in ("content", "parts", "blocks", "text") if message.get(name) is not None), "")


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a message: one text, or parts of which some are text.

    Args:
        value: the content of the message.
        depth: how deep it lies.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        for name in ("text", "content", "response", "result", "output"):
            if value.get(name) is not None:
                yield from texts_in(value[name], depth + 1)
                return
    elif isinstance(value, (list, tuple)) and depth < _DEEPEST:
        for each in value:
            yield from texts_in(each, depth + 1)


# Documents.


def chunk_from(
    text: Any, chunk_id: Any = None, metadata: Any = None, doc_id: Any = None, *, doc_key: str | None = None
) -> Chunk:
    """Return a hit of a span as a chunk.

    Args:
        text: what was found; anything but a text is none.
        chunk_id: its id, if there is one.
        metadata: what is known of it: an object, or JSON of one.
        doc_id: its document, if it is told apart from the metadata.
        doc_key: the key of the metadata that holds the document's id; None takes the first that is set of `DOC_KEYS`.
    """
    known = parsed(metadata)
    fields = without_secrets(known) if isinstance(known, Mapping) else {}
    names = DOC_KEYS if doc_key is None else (doc_key,)
    document = doc_id if doc_id is not None and doc_key is None else next(filter(_is_id, map(fields.get, names)), None)
    words = text if isinstance(text, str) and text != _REDACTED else ""
    start = fields.get("start_index")
    place = start if isinstance(start, int) and not isinstance(start, bool) and 0 <= start < 2**53 else None
    identity = chunk_id if _is_id(chunk_id) else fields.get("_id", fields.get("chunk_id"))
    return Chunk(
        text=words,
        id=str(identity) if _is_id(identity) else "",
        doc_id=None if document is None or not _is_id(document) else str(document),
        start=place,
        end=None if place is None else place + len(words),
        metadata=fields,
    )


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""


def documents_in(value: Any, doc_key: str | None = None, *, strict: bool = False) -> ScoredChunks | None:
    """Return the documents in what a retriever or tool answered, best first; None if there is no list of them.

    Args:
        value: a list of documents or of texts, an object that holds one, or JSON of either.
        doc_key: the key of the metadata that holds the document's id.
        strict: whether each must be an object with a text, as of a tool that may answer anything.
    """
    found = _list_in(parsed(value), 0)
    if found is None or (strict and not found):
        return None
    documents = []
    for each in found:
        read = _document(each, doc_key)
        if read is None or (strict and (isinstance(each, str) or not read[0].text.strip() or _is_message(each))):
            return None
        documents.append(read)
    return tuple(documents)


_LISTS = ("artifact", "structuredContent", "structured_content", *LIST_KEYS)
_AROUND = ("data", "kwargs", "update", "result", "output", "response", "raw_output", "content")
"""In what else the list may lie, as in the message of a tool."""


def _list_in(value: Any, depth: int) -> Sequence[Any] | None:
    if isinstance(value, (list, tuple)):
        first = value[0] if len(value) == 1 else None
        if isinstance(first, (list, tuple)):  # the hits of the only query
            return first
        text = _text_of_part(first) if isinstance(first, Mapping) else None
        inner = _list_in(parsed(text), depth + 1) if text is not None and depth < _DEEPEST else None
        return value if inner is None else inner
    if not isinstance(value, Mapping) or depth >= _DEEPEST:
        return None
    for name in (*_LISTS, *_AROUND):
        inner = parsed(value.get(name))
        found = _list_in(inner, depth + 1) if isinstance(inner, (list, tuple, Mapping)) else None
        if found is not None:
            return found
    return None


def _text_of_part(value: Mapping[str, Any]) -> str | None:
    """Return the text of a part of a message, as the result of an MCP tool has them; None of anything else."""
    is_part = value.get("type") in ("text", "output_text") and set(value) <= {"type", "text", "annotations", "_meta"}
    return value["text"] if is_part and isinstance(value.get("text"), str) else None


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and ("role" in value or "tool_calls" in value or "tool_call_id" in value)


def _document(value: Any, doc_key: str | None) -> tuple[Chunk, float | None] | None:
    """Return a document of a list; None where it is none."""
    if isinstance(value, str):
        return chunk_from(value, doc_key=doc_key), None
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("kwargs"), Mapping) and "lc" in value:  # as LangChain writes its objects
        value = value["kwargs"]
    node = value.get("node")
    if isinstance(node, Mapping):  # LlamaIndex's NodeWithScore
        source = node.get("relationships", {}).get("1", {}) if isinstance(node.get("relationships"), Mapping) else {}
        doc_id = source.get("node_id") if isinstance(source, Mapping) else None
        chunk = chunk_from(node.get("text"), node.get("id_"), node.get("metadata"), doc_id, doc_key=doc_key)
        return chunk, finite(value.get("score"))
    try:
        read = chunk_of_mapping(value, doc_key)
    except ConfigurationError:
        return None
    if read is None:
        chunk_id = next((value[name] for name in ("id", "document_id", "_id") if _is_id(value.get(name))), None)
        if chunk_id is None:
            return None
        return chunk_from("", chunk_id, value.get("metadata"), doc_key=doc_key), finite(value.get("score"))
    chunk, score = read
    metadata = {str(name): each for name, each in chunk.metadata.items()}
    own = chunk.id if chunk.has_own_id else None
    made = chunk_from(chunk.text, own, metadata, chunk.doc_id, doc_key=doc_key)
    if chunk.start is not None and made.start is None:
        end = chunk.end if chunk.end is not None else chunk.start + len(chunk.text)
        made = Chunk(made.text, made.id if made.has_own_id else "", made.doc_id, chunk.start, end, made.metadata)
    score = score if score is not None else finite(metadata.get("relevance_score"))
    return made, finite(score)
