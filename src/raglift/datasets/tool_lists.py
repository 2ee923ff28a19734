"""Lists of tools as documents: what an MCP server answers to `tools/list`, in a file or as it came.

Which of many tools answers a question is a retrieval task: each tool is a document, whose id, the name of the tool, is
what labels name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.base.strict_files import parse_list_or_object, read_text
from raglift.base.validation import Location, quoted, shown
from raglift.errors import DatasetError
from raglift.records.documents import Document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from raglift.errors import Fault

_MOST_ARGUMENTS = 200
_DEEPEST = 3
_SCHEMAS = ("inputSchema", "input_schema", "parameters")
"""What the schema of the arguments is called: by MCP, by Anthropic's API, and by OpenAI's."""


def is_tool_list(value: Any) -> bool:
    """Whether JSON is a list of tools: an answer to `tools/list`, its result, or the list in it."""
    tools = _list_in(value)
    return bool(tools) and all(isinstance(each, dict) and _described(each) is not None for each in tools[:5])


def read_tool_list(path: Path, faults: list[Fault]) -> tuple[Document, ...] | None:
    """Return the tools in a JSON file as documents; None where the file is something else.

    Args:
        path: the file.
        faults: where what is wrong is noted.
    """
    location = Location(path.name, [])
    text = read_text(path, location)
    value = None if text is None else parse_list_or_object(text, location)
    if value is None or not is_tool_list(value):
        return None
    return _documents(_list_in(value), Location(path.name, faults))


def documents_of_tools(tools: Sequence[Any], source: str) -> tuple[Document, ...]:
    """Return tools as documents.

    Args:
        tools: as `tools/list` has them.
        source: what they are called in an error.

    Raises:
        DatasetError: a tool has no name, or two have the same.
    """
    faults: list[Fault] = []
    documents = _documents(tools, Location(source, faults))
    if not documents and not faults:
        Location(source, faults).fault("no tools", "at least one")
    if faults:
        raise DatasetError(source, faults)
    return documents


def _list_in(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("result"), dict):  # the whole answer, as it is on the wire
        value = value["result"]
    found = value.get("tools") if isinstance(value, dict) else value
    return found if isinstance(found, list) else []


def _described(tool: dict[str, Any]) -> dict[str, Any] | None:
    """Return what describes a tool, which some APIs wrap; None where nothing does."""
    inner = tool.get("function") if tool.get("type") == "function" else tool
    if isinstance(inner, dict) and isinstance(inner.get("name"), str):
        return inner if any(name in inner for name in _SCHEMAS) else None
    return None


def _documents(tools: Sequence[Any], location: Location) -> tuple[Document, ...]:
    documents: dict[str, Document] = {}
    for place, tool in enumerate(tools):
        here = location / f"tools[{place}]"
        described = _described(tool) if isinstance(tool, dict) else None
        if described is None or not described["name"].strip():
            here.fault(shown(tool), "a tool with a name and an inputSchema")
        elif described["name"] in documents:
            here.fault(f"the name {quoted(described['name'])} for the second time", "a name of its own for every tool")
        else:
            documents[described["name"]] = Document(described["name"], _text_of(described))
    return tuple(documents.values())


def _text_of(tool: dict[str, Any]) -> str:
    """Return what a model reads of a tool: its name, title and description, and its arguments, one a line."""
    schema: dict[str, Any] = next((tool[name] for name in _SCHEMAS if isinstance(tool.get(name), dict)), {})
    lines = [tool["name"], *(tool[name] for name in ("title", "description") if isinstance(tool.get(name), str))]
    arguments = _arguments(schema, 0)
    return "\n".join([*lines, *(["Arguments:", *arguments[:_MOST_ARGUMENTS]] if arguments else [])])


def _arguments(schema: dict[str, Any], depth: int) -> list[str]:
    properties = schema.get("properties")
    needed = schema.get("required")
    if not isinstance(properties, dict) or depth >= _DEEPEST:
        return []
    lines: list[str] = []
    for name, argument in properties.items():
        told = argument if isinstance(argument, dict) else {}
        notes = [told["type"]] if isinstance(told.get("type"), str) else []
        notes += ["required"] if isinstance(needed, list) and name in needed else []
        choices = told.get("enum")
        notes += [f"one of {', '.join(map(str, choices[:20]))}"] if isinstance(choices, list) else []
        said = f": {told['description']}" if isinstance(told.get("description"), str) else ""
        noted = f" ({', '.join(notes)})" if notes else ""
        lines.append(f"{'  ' * depth}- {name}{noted}{said}")
        items = told.get("items")
        lines += _arguments(told, depth + 1) + (_arguments(items, depth + 1) if isinstance(items, dict) else [])
    return lines
