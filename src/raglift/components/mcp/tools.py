"""Which tool of a server is asked, and with which arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.base.display import printable, shorten
from raglift.base.validation import nearest, quoted
from raglift.components.http.mapping import QUERY, K, filled, texts_of
from raglift.errors import ServiceUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.records.filters import Filter


_SEARCHES = {"search", "query", "retrieve", "retrieval", "find", "lookup", "ask"}
"""A word of a tool's name that says that it searches."""
_QUERIES = (
    *("query", "q", "question", "search_query", "searchquery", "search", "search_term", "text", "input", "prompt"),
    *("keywords", "terms", "term", "pattern"),
)
"""The usual names of the argument that is the query, the likeliest first."""
_COUNTS = (
    *("k", "top_k", "topk", "limit", "n", "n_results", "nresults", "num_results", "numresults", "max_results"),
    *(
        "maxresults",
        "max_hits",
        "count",
        "size",
        "page_size",
        "pagesize",
        "per_page",
        "perpage",
        "rows",
        "top",
        "first",
    ),
)
"""The usual names of the argument that says how many hits are wanted."""
_MOST_LISTED = 40
_LONGEST_NAME = 80


@dataclass(frozen=True)
class ToolCall:
    """The tool of a server that is asked, and what it is called with."""

    name: str
    """Of the tool."""
    template: Mapping[str, Any]
    """Its arguments, with `{query}`, `{k}` and `{filter}` where these go."""
    most: int | None = None
    """The largest k that its schema allows; None for any."""

    @property
    def sends_k(self) -> bool:
        """Whether the tool is told how many hits are wanted."""
        return any(K in text for text in texts_of(dict(self.template)))

    def arguments(self, query: str, k: int, given: Filter | None = None) -> dict[str, Any]:
        """Return what the tool is called with."""
        fewer = k if self.most is None else min(k, self.most)
        found: dict[str, Any] = filled(dict(self.template), query, fewer, given)
        return found


def planned_call(tools: Sequence[Any], name: str | None, arguments: Mapping[str, Any] | None, server: str) -> ToolCall:
    """Return how a server is asked.

    Args:
        tools: of the server, as the SDK has them.
        name: of the one that is meant; None to take the only one that searches.
        arguments: what it is called with; None for what its schema suggests.
        server: what it is called in an error.

    Raises:
        ServiceUnusable: no such tool, none or several that could be meant, or arguments that its schema does not have.
    """
    tool = _only_search(tools, server) if name is None else _named(tools, name, server)
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    if arguments is None:
        return _suggested(tool, schema)
    _check(tool, schema, arguments)
    count = next((name for name, value in arguments.items() if value == K), None)
    return ToolCall(tool.name, arguments, None if count is None else _maximum(_properties(schema).get(count)))


def _named(tools: Sequence[Any], name: str, server: str) -> Any:
    found = next((tool for tool in tools if tool.name == name), None)
    if found is None:
        names = [_shown(tool.name) for tool in tools]
        expected = nearest(name, names) if 0 < len(names) <= _MOST_LISTED else _listed(tools)
        raise ServiceUnusable(f"{server}: found no tool {quoted(name)}; expected {expected}")
    return found


def _only_search(tools: Sequence[Any], server: str) -> Any:
    able = [tool for tool in tools if _query_argument(tool.input_schema) is not None and not _may_destroy(tool)]
    found = [tool for tool in able if _SEARCHES & set(_words(tool.name))]
    if len(found) != 1 and len(tools) == 1:
        found = able
    if len(found) != 1:
        what = f"{len(found)} tools that look like search" if found else "no tool that looks like search"
        raise ServiceUnusable(f"{server}: found {what}; expected the name of a tool behind #, {_listed(tools)}")
    return found[0]


def _may_destroy(tool: Any) -> bool:
    """Whether a tool says of itself that it may destroy something."""
    hints = tool.annotations
    return hints is not None and hints.destructive_hint is True and hints.read_only_hint is not True


def _listed(tools: Sequence[Any]) -> str:
    if not tools:
        return "a server that has tools: this one lists none"
    names = ", ".join(_shown(tool.name) for tool in tools[:_MOST_LISTED])
    return f"one of {names}" + (f" and {len(tools) - _MOST_LISTED:,} more" if len(tools) > _MOST_LISTED else "")


def _shown(name: str) -> str:
    return shorten(printable(name), _LONGEST_NAME)


def _words(name: str) -> Iterator[str]:
    """Yield the words of a name: `searchDocs`, `search_docs` and `search-docs` have the same."""
    for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name):
        yield word.lower()


# The arguments of a tool, from its schema.


def _properties(schema: Any) -> dict[str, Any]:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _kinds(argument: Any) -> set[str]:
    """Return the types that the schema of an argument allows, alternatives included; empty where it does not say."""
    if not isinstance(argument, dict):
        return set()
    own = argument.get("type")
    found = {own} if isinstance(own, str) else {each for each in own if isinstance(each, str)} if own else set()
    for several in ("anyOf", "oneOf"):
        for each in argument.get(several) or ():
            found |= _kinds(each)
    return found


def _first_of(schema: Any, names: Sequence[str], kinds: set[str]) -> str | None:
    by_name = {name.lower().replace("-", "_"): name for name in _properties(schema)}
    for name in names:
        if name in by_name and (not (of := _kinds(_properties(schema)[by_name[name]])) or of & kinds):
            return by_name[name]
    return None


def _query_argument(schema: Any) -> str | None:
    named = _first_of(schema, _QUERIES, {"string"})
    if named is not None:
        return named
    needed = [name for name in _required(schema) if "string" in _kinds(_properties(schema).get(name))]
    return needed[0] if len(needed) == 1 else None


def _required(schema: Any) -> list[str]:
    found = schema.get("required") if isinstance(schema, dict) else None
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _maximum(argument: Any) -> int | None:
    """Return the largest number that the schema of an argument allows; None where it does not say."""
    if not isinstance(argument, dict):
        return None
    own = argument.get("maximum")
    found = [own] if isinstance(own, (int, float)) and not isinstance(own, bool) and own >= 1 else []
    found += [most for each in argument.get("anyOf") or () if (most := _maximum(each)) is not None]
    return int(min(found)) if found else None


def _suggested(tool: Any, schema: dict[str, Any]) -> ToolCall:
    query, count = _query_argument(schema), _first_of(schema, _COUNTS, {"integer", "number"})
    taken = {name for name in (query, count) if name is not None}
    missing = [name for name in _required(schema) if name not in taken]
    if query is None or missing:
        found = "no argument that is the query" if query is None else f"the required {', '.join(map(quoted, missing))}"
        raise ServiceUnusable(
            f"the tool {quoted(tool.name)}: found {found}; expected what it is called with, in the mapping: "
            f"{_example(schema, query, count)}"
        )
    template = {query: QUERY} | ({} if count is None else {count: K})
    return ToolCall(tool.name, template, None if count is None else _maximum(_properties(schema)[count]))


def _example(schema: dict[str, Any], query: str | None, count: str | None) -> str:
    values = {query or "": QUERY, count or "": K}
    names = list(dict.fromkeys([*_required(schema), *filter(None, (query, count))])) or list(_properties(schema))
    parts = [f'{_shown(name)}: "{values[name]}"' if name in values else f"{_shown(name)}: …" for name in names[:8]]
    return f"arguments: {{{', '.join(parts)}}}"


def _check(tool: Any, schema: dict[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raise for arguments that the schema of a tool does not have, and for those that it misses."""
    known = _properties(schema)
    unknown = [name for name in arguments if name not in known] if known else []
    missing = [name for name in _required(schema) if name not in arguments]
    if unknown and not schema.get("additionalProperties"):
        raise ServiceUnusable(
            f"the tool {quoted(tool.name)}: found the argument {quoted(unknown[0])} in the mapping; expected "
            f"{nearest(unknown[0], [_shown(name) for name in known])}"
        )
    if missing:
        raise ServiceUnusable(
            f"the tool {quoted(tool.name)}: found arguments in the mapping without "
            f"{', '.join(map(quoted, missing))}; expected all that the tool requires"
        )
