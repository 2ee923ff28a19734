"""The tool of an MCP server that is asked, what it is called with, and its result as hits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.errors import ServiceFailed, ServiceUnusable
from raglift.retrieval.services.answers import AnswerReader
from raglift.retrieval.services.mapping import QUERY, K, ResponseFields, filled, has_placeholder
from raglift.utilities.display import Secrets, printable, shorten
from raglift.utilities.validation import nearest, quoted

if TYPE_CHECKING:
    from raglift.types.documents import Chunk
    from raglift.types.filters import Filter


_QUERIES = (
    *("query", "q", "question", "searchquery", "search", "searchterm", "text", "input", "prompt", "keywords"),
    *("terms", "term", "pattern"),
)
"""The usual names of the argument that is the query, the likeliest first; without `_` and `-`."""
_COUNTS = (
    *("k", "topk", "limit", "n", "nresults", "numresults", "maxresults", "maxhits", "count", "size", "pagesize"),
    *("perpage", "rows", "top", "first"),
)
"""The usual names of the argument that says how many hits are wanted."""
_MOST_LISTED = 40
_LONGEST_NAME = 80


@dataclass(frozen=True)
class ToolCall:
    """The tool of a server that is asked, and what it is called with."""

    name: str
    template: Mapping[str, Any]
    """Its arguments, with `{query}`, `{k}` and `{filter}` in their places."""
    most: int | None = None
    """The largest k that its schema allows; None for any."""

    @property
    def sends_k(self) -> bool:
        """Whether the tool is told how many hits are wanted."""
        return has_placeholder(self.template, K)

    def arguments(self, query: str, k: int, metadata_filter: Filter | None = None) -> dict[str, Any]:
        """Return what the tool is called with."""
        most = k if self.most is None else min(k, self.most)
        arguments: dict[str, Any] = filled(self.template, query, most, metadata_filter)
        return arguments


def planned_call(tools: Sequence[Any], name: str | None, arguments: Mapping[str, Any] | None, server: str) -> ToolCall:
    """Return how a server is asked.

    Args:
        tools: of the server, as the SDK has them.
        name: of the one that is meant; None if the server has one only.
        arguments: what it is called with; None for what its schema suggests.
        server: what it is called in an error.
    """
    names = [_shown(tool.name) for tool in tools]
    if name is None and len(tools) != 1:
        listed = ", ".join(names[:_MOST_LISTED]) or "none"
        raise ServiceUnusable(f"{server}: found {len(tools)} tools; expected the name of one behind #: {listed}")
    tool = tools[0] if name is None else next((each for each in tools if each.name == name), None)
    if tool is None:
        raise ServiceUnusable(f"{server}: found no tool {quoted(name)}; expected {nearest(str(name), names)}")
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    if arguments is None:
        arguments = _suggested(tool.name, schema)
    count = next((name for name, value in arguments.items() if value == K), None)
    return ToolCall(tool.name, arguments, None if count is None else _maximum(_properties(schema).get(count)))


def _shown(name: str) -> str:
    return shorten(printable(name), _LONGEST_NAME)


# The arguments of a tool, from its schema.


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _suggested(tool: str, schema: dict[str, Any]) -> dict[str, str]:
    properties, required = _properties(schema), schema.get("required")
    required = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    by_name = {re.sub(r"[_-]", "", name).lower(): name for name in properties}
    query = next((by_name[usual] for usual in _QUERIES if usual in by_name), None)
    if query is None and len(required) == 1:
        query = required[0]
    count = next((by_name[usual] for usual in _COUNTS if usual in by_name), None)
    template = {name: value for name, value in ((query, QUERY), (count, K)) if name is not None}
    missing = [name for name in required if name not in template]
    if query is None or missing:
        found = "no argument that is the query" if query is None else f"the required {', '.join(map(quoted, missing))}"
        values = {name: f'"{template[name]}"' if name in template else "…" for name in [*required, *template]}
        values = values or dict.fromkeys(properties, "…")
        example = ", ".join(f"{_shown(name)}: {value}" for name, value in values.items())
        raise ServiceUnusable(
            f"the tool {quoted(tool)}: found {found}; expected what it is called with, in the mapping: "
            f"arguments: {{{shorten(example, 300)}}}"
        )
    return template


def _maximum(argument: Any) -> int | None:
    """Return the largest number that the schema of an argument allows; None if it does not say."""
    if not isinstance(argument, dict):
        return None
    alternatives = [argument, *(argument.get("anyOf") or ())]  # a number or null
    found = [each.get("maximum") for each in alternatives if isinstance(each, dict)]
    limits = [most for most in found if isinstance(most, (int, float)) and 1 <= most < math.inf]
    return int(min(limits)) if limits else None


_Hits = list[tuple["Chunk", float | None]]


@dataclass(frozen=True)
class ResultReader:
    """Reads the results of a tool."""

    paths: ResponseFields
    """Where things are, as the mapping says."""
    separator: str | None
    """What stands between the hits of a text; None for a text that is one hit."""
    empty: str | None
    """How a text begins that says that nothing was found."""
    secrets: Secrets
    """What must not be shown if a result repeats it."""
    doc_key: str | None = None
    """If the paths name no document: the key that holds its id."""

    def read(self, result: Any, tool: str) -> _Hits:
        """Return the hits of a result, best first, as the tool has them.

        Raises:
            ServiceFailed: the tool says that it failed.
            ServiceUnusable: the result has another shape; the message shows it, and what to write in the mapping.
        """
        texts = _texts(result)
        if result.is_error:
            message = self.secrets.beginning(" ".join(texts).encode("utf-8", "replace"))
            raise ServiceFailed(f"the tool {quoted(tool)} answers with an error — {message or 'without a message'}")
        if self.empty is not None and texts and all(text.strip().startswith(self.empty) for text in texts):
            return []
        reader = AnswerReader(self.paths, self.secrets, self.doc_key)
        values, blocks = self._json(result), self._blocks(result.content)
        if self.paths != ResponseFields():
            return reader.read(values[0] if values else blocks)
        for answer in (each for value in values for each in (value, [value])):
            try:
                return reader.read(answer)
            except ServiceUnusable:
                continue
        # Prose beside JSON without a list of hits has them; if there is JSON alone, the error shows what is in it
        is_prose = any(_parsed(text) is None for text in texts) or len(blocks) > len(values)
        return reader.read(values[0] if values and not is_prose else blocks)

    def is_one_text(self, result: Any, hits: Sequence[tuple[Chunk, float | None]]) -> bool:
        """Whether a result is one text that was read as one hit, and nothing says how it would be split."""
        texts = _texts(result)
        return self.separator is None and len(hits) == len(texts) == 1 and hits[0][0].text == texts[0].strip()

    def _json(self, result: Any) -> list[Any]:
        """Return the JSON of a result: what is structured, then what its texts are."""
        texts, structured = _texts(result), result.structured_content
        # A text that a tool returns is often wrapped, by the SDK as {"result": text}, and is in the content too
        is_a_text = isinstance(structured, dict) and list(structured.values()) in (["".join(texts)], ["\n".join(texts)])
        values = [] if structured is None or is_a_text else [structured]
        parsed = [_parsed(text) for text in texts]
        if parsed and all(value is not None for value in parsed):
            values.append(parsed[0] if len(parsed) == 1 else parsed)
        return values

    def _blocks(self, content: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the content as hits: a text or a piece of it, a resource, or a link to one; pictures are none."""
        hits: list[dict[str, Any]] = []
        for block in content:
            if block.type == "text":
                pieces = [block.text] if self.separator is None else block.text.split(self.separator)
                hits += [{"text": piece.strip()} for piece in pieces if piece.strip()]
            elif block.type == "resource_link":
                text = "\n".join(filter(None, [block.title, block.description])) or block.name
                hits.append({"text": text, "id": str(block.uri), "doc_id": str(block.uri), "name": block.name})
            elif block.type == "resource" and (text := getattr(block.resource, "text", None)):
                uri = str(block.resource.uri)
                hits.append({"text": text, "id": uri, "doc_id": uri})
        return hits


def _texts(result: Any) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


def _parsed(text: str) -> Any:
    """Return the JSON that a text is; None if it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
