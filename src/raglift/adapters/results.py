"""What a system answers, as a list of results: a list, a mapping that holds one, a data frame, messages of tools.

No framework is imported here: its objects are recognised by the modules of their classes. An answer that is no ranking
is refused with a function that would make it one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from numbers import Real
from typing import Any

from raglift.adapters.base import is_from
from raglift.errors import ConfigurationError, UnsupportedSystem
from raglift.types.documents import Chunk
from raglift.utilities.display import shorten

TEXT_KEYS = ("text", "content", "page_content")
"""Where a mapping or a data frame has the text of a result: the first of these."""
LIST_KEYS = (
    *("results", "hits", "documents", "docs", "context", "contexts", "source_documents", "nodes", "source_nodes"),
    "chunks",
)
"""Where a mapping that is an answer has its results."""
_FRAMEWORKS = ("langchain_core.documents", "llama_index.core.schema", "haystack.dataclasses")
_ENVELOPES = ("_source", "payload", "metadata")
"""Where the hit of a search engine or a vector store has the fields of what was indexed."""
_COLUMNS = ("id", "doc_id", "start", "end", "score", "metadata")
"""The columns of a data frame that are fields of a result; all others are its metadata."""
_FIELDS = (*TEXT_KEYS, *_COLUMNS, "start_index", "meta", "_id", "_score")
"""The keys of a mapping that are fields of a result; other texts and numbers, as its `source`, are its metadata."""
_LONGEST = 200
"""The most characters of the keys or columns that a message shows."""
_MOST = 100_000
"""The most results that are read from an answer that is no list and may never end."""
_LISTED = "expected a list of results, best first"


def wrapper(expression: str, *, is_async: bool = False) -> str:
    """Return the end of a message: the function, in two lines, that makes a ranking of an answer."""
    return f". Pass a function that does:\n    {'async ' * is_async}def retrieve(query):\n        return {expression}"


# One result that is a mapping.


def chunk_of_mapping(result: Mapping[Any, Any], doc_key: str | None = None) -> tuple[Chunk, float | None] | None:
    """Return a mapping as a chunk and a score; None if it has no text.

    Args:
        result: a mapping with `text`, `content` or `page_content`, and perhaps `id`, `doc_id`, `start` (or
            `start_index`), `end`, `score` and `metadata` (or `meta`); or the hit of a search engine, with `_source`,
            `_id` and `_score`.
        doc_key: the key that holds the document's id: of the metadata, else of the mapping itself.
    """
    fields = _with_text(result)
    if fields is None:
        return None
    known, kinds = (_FIELDS, (str, Real)) if fields is result else ((*TEXT_KEYS, "metadata"), object)
    others = {key: value for key, value in fields.items() if key not in known and isinstance(value, kinds)}
    if others.get("type") == "Document":  # LangChain writes it with each of its own
        del others["type"]
    metadata = others | _metadata(fields)

    def given(*keys: str) -> Any:
        places = (result, fields)
        return next((place[key] for place in places for key in keys if place.get(key) is not None), None)

    own, key = (given("doc_id"), "doc_id") if doc_key is None else (None, doc_key)
    doc_id = next((value for value in (own, metadata.get(key), given(key)) if value is not None), None)
    found_id = given("id", "_id")
    chunk = Chunk(
        text=next(fields[key] for key in TEXT_KEYS if isinstance(fields.get(key), str)),
        id="" if found_id is None else str(found_id),
        doc_id=None if doc_id is None else str(doc_id),
        start=_first_offset(given("start"), given("start_index"), metadata.get("start_index")),
        end=_first_offset(given("end")),
        metadata=metadata,
    )
    return chunk, _score(given("score", "_score"))


def require_text(found: Iterable[Any], who: str) -> None:
    """Raise for a result that is a mapping without a text.

    Args:
        found: the results in an answer.
        who: what answered.
    """
    unfit = next((each for each in found if isinstance(each, Mapping) and _with_text(each) is None), None)
    if unfit is not None:
        raise UnsupportedSystem(
            f"{who} returned a result that is a {type(unfit).__name__} with the keys {shown_keys(unfit)}; expected a "
            f"text at {', '.join(TEXT_KEYS)}: pass a function that returns {{**each, 'text': …}} for each result"
        )


def _with_text(result: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
    """Return the mapping that has the text of a result: itself, or what an index wrapped in it."""
    places = (result, *(result[key] for key in _ENVELOPES if isinstance(result.get(key), Mapping)))
    return next((each for each in places if any(isinstance(each.get(key), str) for key in TEXT_KEYS)), None)


def _metadata(fields: Mapping[Any, Any]) -> dict[str, Any]:
    return next((dict(fields[key]) for key in ("metadata", "meta") if isinstance(fields.get(key), Mapping)), {})


def _first_offset(*values: Any) -> int | None:
    """Return the first value that is an offset; LangChain's splitters write -1 where they do not know one.

    A data frame with a gap in a column has made numbers of its integers that are none.
    """
    numbers = (float(value) for value in values if isinstance(value, Real) and not isinstance(value, bool))
    return next((int(number) for number in numbers if number >= 0 and number.is_integer()), None)


def _score(value: Any) -> float | None:
    """Read a score from where something else might stand."""
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else None


# A whole answer.


def results_in(answer: Any, who: str, call: str = "search(query)") -> list[Any]:
    """Return the results that an answer consists of, best first, or holds under one of its keys.

    Args:
        answer: a list or another ordered iterable; a data frame; a mapping; a response of LlamaIndex or Elasticsearch.
        who: what answered, for messages.
        call: how it is called, for the function that a message recommends.

    Raises:
        UnsupportedSystem: it is none of these, has no order, or holds more than one list.
    """
    if is_from(answer, "workflows.events"):
        return _of_event(answer, who, call)
    answer = _unwrapped(answer)
    if _is_frame(answer):
        return _rows(answer, who)
    if isinstance(answer, Mapping):
        return _of_mapping(answer, who, call)
    found = f"a {type(answer).__name__}"
    if isinstance(answer, (set, frozenset)):
        raise _refused(who, f"{found}, which has no order", None, f"{_LISTED}: sort it by what ranks its results")
    if isinstance(answer, (str, bytes, Chunk)) or is_from(answer, *_FRAMEWORKS):
        raise _refused(who, found, f"[{call}]")
    if answer is None:
        raise _refused(who, found, f"{call} or []")
    if type(answer).__name__ == "LazyFrame":
        raise _refused(who, found, f"{call}.collect()")
    if not isinstance(answer, Iterable):
        raise _refused(who, found, None)
    return read_all(answer, who)


def read_all(results: Iterable[Any], who: str) -> list[Any]:
    """Return results as a list.

    Raises:
        UnsupportedSystem: there are too many to be an answer, as from a generator that never ends.
    """
    found = list(results) if isinstance(results, (list, tuple)) else list(islice(results, _MOST + 1))
    if len(found) > _MOST and not isinstance(results, (list, tuple)):
        raise UnsupportedSystem(
            f"{who} returned a {type(results).__name__} that goes on after {_MOST:,} results; expected a ranking that "
            "ends: take the first ones, as list(itertools.islice(results, 100))"
        )
    return found


def _refused(who: str, found: str, expression: str | None, expected: str = _LISTED) -> UnsupportedSystem:
    does = "" if expression is None else wrapper(expression)
    return UnsupportedSystem(f"{who} returned {found}; {expected}{does}")


def _unwrapped(answer: Any) -> Any:
    """Return what a response object is about: the body of a search engine's, the sources of LlamaIndex's."""
    if is_from(answer, "elastic_transport"):
        return answer.body
    if is_from(answer, "llama_index.core") and isinstance(getattr(answer, "source_nodes", None), list):
        return answer.source_nodes
    return answer


def _of_event(answer: Any, who: str, call: str) -> list[Any]:
    """Return the results in what a LlamaIndex agent answers, or in the last event of a workflow."""
    if not is_from(answer, "llama_index.core.agent"):
        return _of_mapping({name: getattr(answer, name) for name in type(answer).model_fields}, who, call)
    outputs = [made.tool_output for made in answer.tool_calls if hasattr(made, "tool_output")]
    found = [documents for each in outputs if (documents := documents_of_artifact(each.raw_output)) is not None]
    if outputs and not found:
        raise UnsupportedSystem(
            f"{who} returned an {type(answer).__name__} whose tools handed on no documents; expected the agent itself, "
            "of which the retrievers are listened to that its tools ask: evaluate(agent, …)"
        )
    return [document for documents in found for document in documents]


def _of_mapping(answer: Mapping[Any, Any], who: str, call: str) -> list[Any]:
    if (columns := _columns_of_one_query(answer)) is not None:
        return columns
    found = lists_in(answer)
    if len(found) == 1:
        ((_, value),) = found.items()
        return results_in(value, who, call)
    if found:
        shown = " and ".join(repr(".".join(map(str, path))) for path in found)
        expected = "expected one list of results, best first"
        raise _refused(
            who, f"a {type(answer).__name__} with lists at {shown}", _taken(call, next(iter(found))), expected
        )
    if isinstance(answer.get("messages"), (list, tuple)):
        made = [documents_of_artifact(message.artifact) for message in answer["messages"] if is_tool_message(message)]
        if any(documents is not None for documents in made):
            return [document for documents in made for document in documents or ()]
        raise UnsupportedSystem(f"{who} returned messages without documents; {WITHOUT_ARTIFACTS}")
    if _with_text(answer) is not None:
        raise _refused(who, f"a {type(answer).__name__} that is one result", f"[{call}]")
    if answer and all(_score(value) is not None for value in answer.values()):
        best_first = f"sorted({call}.items(), key=lambda pair: -pair[1])"
        raise _refused(who, f"a {type(answer).__name__} of scores, which has no order", best_first)
    lists = [key for key, value in answer.items() if isinstance(value, (list, tuple))]
    raise _refused(
        who,
        f"a {type(answer).__name__} with the keys {shown_keys(answer)}",
        _taken(call, lists[:1]) if lists else None,
        f"{_LISTED}, or one at {', '.join(LIST_KEYS)}",
    )


def shown_keys(mapping: Mapping[Any, Any]) -> str:
    """Return the keys of a mapping for a message."""
    return shorten(", ".join(map(repr, mapping)), _LONGEST) or "none"


def _columns_of_one_query(answer: Mapping[Any, Any]) -> list[dict[str, Any]] | None:
    """Return what Chroma answers to one query, whose ids, documents and metadata are lists in lists; else None."""
    lists = {key: answer.get(key) for key in ("ids", "documents", "metadatas")}
    columns = {key: value[0] for key, value in lists.items() if isinstance(value, list) and len(value) == 1}
    if not {"ids", "documents"} <= set(columns) or not all(isinstance(column, list) for column in columns.values()):
        return None
    metadata = columns.get("metadatas") or [None] * len(columns["ids"])
    rows = zip(columns["ids"], columns["documents"], metadata, strict=False)
    return [{"id": own, "text": text, "metadata": about} for own, text, about in rows]


WITHOUT_ARTIFACTS = (
    "expected the documents of the tool that retrieves as its artifact: make it by create_retriever_tool(…, "
    'response_format="content_and_artifact") or @tool(response_format="content_and_artifact")'
)
"""What to do about tools whose documents are lost, for messages."""


def _taken(call: str, path: Sequence[Any]) -> str:
    return call + "".join(f"[{key!r}]" for key in path)


def lists_in(answer: Mapping[Any, Any]) -> dict[tuple[Any, ...], Any]:
    """Return the lists of results in a mapping, by where they are; those in mappings inside it only if it has none.

    A list is one of results if its key says so (`LIST_KEYS`), or if it consists of documents of a framework. Where some
    do, lists of texts beside them are what was made of them. Equal lists count once.
    """
    found = {(key,): value for key, value in answer.items() if _is_list_of_results(key, value)}
    if not found and _with_text(answer) is None:
        inner = [(key, value) for key, value in answer.items() if isinstance(value, Mapping)]
        found = {(key, *path): each for key, value in inner for path, each in lists_in(value).items()}
    if any(_are_documents(value) for value in found.values()):
        found = {path: value for path, value in found.items() if _are_documents(value)}
    different: dict[tuple[Any, ...], Any] = {}
    for path, value in found.items():
        if not any(value is other or _equal(value, other) for other in different.values()):
            different[path] = value
    return different


def _is_list_of_results(key: Any, value: Any) -> bool:
    if _is_frame(value):
        return key in LIST_KEYS
    is_list = isinstance(value, (list, tuple)) or is_from(value, "numpy", "pandas")
    return is_list and (key in LIST_KEYS or _are_documents(value))


def _are_documents(value: Any) -> bool:
    """Whether a value is a list of at least one document of a framework, and of nothing else."""
    return isinstance(value, (list, tuple)) and bool(value) and all(is_from(each, *_FRAMEWORKS) for each in value)


def _equal(value: Any, other: Any) -> bool:
    return isinstance(value, (list, tuple)) and isinstance(other, (list, tuple)) and list(value) == list(other)


def is_tool_message(message: Any) -> bool:
    """Whether a message is what a tool answered."""
    return is_from(message, "langchain_core.messages") and getattr(message, "type", None) == "tool"


def documents_of_artifact(artifact: Any) -> list[Any] | None:
    """Return the documents in what a tool handed on, or in a response of LlamaIndex; None if it is something else."""
    artifact = _unwrapped(artifact)
    if isinstance(artifact, Mapping):
        found = list(lists_in(artifact).values())
        return documents_of_artifact(found[0]) if len(found) == 1 else None
    if not isinstance(artifact, (list, tuple)):
        return None
    known = all(
        is_from(each, *_FRAMEWORKS) or (isinstance(each, Mapping) and _with_text(each) is not None) for each in artifact
    )
    return list(artifact) if known else None


# Data frames.


def _is_frame(answer: Any) -> bool:
    return is_from(answer, "pandas", "polars") and any(cls.__name__ == "DataFrame" for cls in type(answer).__mro__)


def _rows(frame: Any, who: str) -> list[dict[str, Any]]:
    """Return the rows of a data frame as results: its known columns as fields, and the others as metadata."""
    columns = [str(column) for column in frame.columns]
    text = next((key for key in TEXT_KEYS if key in columns), None)
    if text is None:
        raise _refused(
            who,
            f"a DataFrame with the columns {shorten(', '.join(columns), _LONGEST) or 'none'}",
            None,
            f"expected a column of texts named {', '.join(TEXT_KEYS)}",
        )
    if not is_from(frame, "polars"):
        frame = frame.astype(object).where(frame.notna(), None)  # None for what is missing
    rows = frame.to_dicts() if is_from(frame, "polars") else frame.to_dict("records")
    return [_result_of(row, text) for row in rows]


def _result_of(row: Mapping[str, Any], text: str) -> dict[str, Any]:
    if not isinstance(row[text], str):
        raise ConfigurationError(
            f"a retriever's result: found a row of a data frame with a {type(row[text]).__name__} in the column "
            f"{text!r}; expected a text"
        )
    rest = {key: value for key, value in row.items() if key not in (*_COLUMNS, text) and value is not None}
    known = {key: row[key] for key in _COLUMNS if row.get(key) is not None}
    return {**known, "text": row[text], "metadata": rest | _metadata(known)}
