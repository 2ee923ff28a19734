"""The tool of an MCP server that is asked, and what it is called with: as a mapping says, or by its schema."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.errors import ServiceUnusable
from raglift.retrieval.services.mapping import QUERY, K, filled, has_placeholder
from raglift.utilities.display import printable, shorten
from raglift.utilities.validation import nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

    Raises:
        ServiceUnusable: no such tool, several that could be meant, or a schema that does not show what is the query.
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
    return ToolCall(tool.name, arguments, _maximum((schema.get("properties") or {}).get(count)))


def _shown(name: str) -> str:
    return shorten(printable(name), _LONGEST_NAME)


# The arguments of a tool, from its schema.


def _suggested(tool: str, schema: dict[str, Any]) -> dict[str, str]:
    properties, required = schema.get("properties") or {}, schema.get("required") or []
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
    most = argument.get("maximum") if isinstance(argument, dict) else None
    return int(most) if isinstance(most, (int, float)) and most >= 1 else None
