"""The attributes of spans: lists that are written as numbered attributes, and which attributes are read at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from raglift.utilities.secrets import HIDDEN, is_secret_name

_DEEPEST = 20
_READ = (
    *("openinference.span.kind", "input.", "output.", "retrieval.documents", "reranker.", "tool.name", "metadata"),
    *("tag.tags", "llm.input_messages", "llm.token_count.", "graph.node.name", "agent.name"),
    *("gen_ai.operation.name", "gen_ai.retrieval.", "gen_ai.tool.name", "gen_ai.tool.call.", "gen_ai.input.messages"),
    *("gen_ai.usage.", "gen_ai.agent.name", "gen_ai.prompt", "gen_ai.completion"),
)
_NOT_READ = ("gen_ai.prompt.name", "input.images")
_NO_SECRET = re.compile(r"(?:pad|bos|eos|unk|cls|sep|mask|stop|special|image)_?tokens?$", re.IGNORECASE)
_KEY = re.compile(r"keys?$", re.IGNORECASE)
_KEY_TO_A_SERVICE = re.compile(
    r"(?:api|access|secret|private|subscription|auth|account|admin|master|service|client|signing)[-_]?keys?$",
    re.IGNORECASE,
)
"""Other keys are of documents, such as `doc_key`."""


def is_read(name: str, join_by: str | None = None) -> bool:
    """Whether an attribute is read; all others, as settings of models and headers, are neither read nor kept.

    Args:
        name: of the attribute.
        join_by: the attribute that holds the id of a query.
    """
    return name == join_by or (name.startswith(_READ) and not name.startswith(_NOT_READ))


@dataclass(frozen=True)
class Numbered:
    """The items of a list that is written as numbered attributes, or is one attribute."""

    items: tuple[Mapping[str, Any], ...]
    """The fields of each item, by their names below its number."""
    lost: str = ""
    """Why items may be missing; empty where none is."""


def numbered(attributes: Mapping[str, Any], prefix: str) -> Numbered | None:
    """Return the items of `prefix.0.…`, `prefix.1.…`, or of a list at `prefix`; None where there is neither.

    Args:
        attributes: all attributes of a span.
        prefix: as `retrieval.documents`.
    """
    whole = parsed(attributes.get(prefix))
    if isinstance(whole, (list, tuple)):
        return Numbered(tuple(flat(item) for item in whole if isinstance(item, Mapping)))
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        number, _, field = name.removeprefix(f"{prefix}.").partition(".")
        if name.startswith(f"{prefix}.") and number.isascii() and number.isdecimal() and len(number) < 7:
            found.setdefault(int(number), {})[field] = value
    if not found:
        return None
    missing = next((number for number in range(len(found)) if number not in found), None)
    lost = "" if missing is None else f"{prefix} without number {missing}"
    return Numbered(tuple(found[number] for number in sorted(found)), lost)


def flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object, those of objects in it by their paths.

    Of `{"document": {"id": 1}}` one is `document.id`.

    Args:
        value: an item of a list.
    """
    fields: dict[str, Any] = {}
    waiting: list[tuple[str, Any, int]] = [(str(name), each, 0) for name, each in value.items()]
    for name, each, depth in waiting:  # grows as it goes
        fields[name] = each
        if isinstance(each, Mapping) and depth < _DEEPEST and not name.endswith("metadata"):
            waiting += [(f"{name}.{inner}", inside, depth + 1) for inner, inside in each.items()]
    return fields


def parsed(value: Any) -> Any:
    """Return the value of JSON in a text; None where a text is no JSON, and anything else as it is."""
    if not isinstance(value, str):
        return value
    if value.lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def is_cut_off(value: Any) -> bool:
    """Whether a text begins as JSON does and is none, as one that an exporter cut off."""
    return isinstance(value, str) and value.lstrip()[:2] in ('{"', "[{", '["', "[[") and parsed(value) is None


def without_secrets(value: Any, name: str = "", depth: int = 0) -> Any:
    """Return a value of JSON with `***` for each text that is a secret by its name, such as `api_key`.

    Args:
        value: an object, a list or a plain value.
        name: what it is called.
        depth: how deep it lies; what lies too deep is left out.
    """
    if depth > _DEEPEST:
        return None
    if isinstance(value, str):
        return HIDDEN if _is_of_a_secret(name) else value
    if isinstance(value, Mapping):
        return {str(inner): without_secrets(each, str(inner), depth + 1) for inner, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_secrets(each, name, depth + 1) for each in value]
    return value


def _is_of_a_secret(name: str) -> bool:
    if not is_secret_name(name) or _NO_SECRET.search(name):
        return False
    return _KEY.search(name) is None or _KEY_TO_A_SERVICE.search(name) is not None


def text_or_none(value: Any) -> str | None:
    """Return a text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value.strip() else None


def amount(value: Any) -> int | None:
    """Return a number of tokens; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 2**53 else None


def labels_of(
    attributes: Mapping[str, Any], join_by: str | None, metadata: Sequence[Any], tags: Any
) -> tuple[str, ...]:
    """Return the values by which a trace may be joined: an attribute, a field of the metadata, or a tag `name:value`.

    Args:
        attributes: of the span.
        join_by: the name; None for none.
        metadata: objects, or JSON of objects, in which the name is looked up.
        tags: a list of texts, or JSON of one.
    """
    if join_by is None:
        return ()
    found = [attributes.get(join_by), attributes.get(f"metadata.{join_by}")]
    for each in metadata:
        value = parsed(each)
        if isinstance(value, Mapping):
            found.append(value.get(join_by))
    listed = parsed(tags)
    for tag in listed if isinstance(listed, (list, tuple)) else ():
        if isinstance(tag, str):
            name, sign, value = tag.partition(":") if ":" in tag else tag.partition("=")
            found.append(value.strip() if sign and name.strip() == join_by else None)
    plain = [parsed(each) if isinstance(each, str) and each[:1] == '"' else each for each in found]
    texts = [str(each) for each in plain if isinstance(each, (str, int)) and not isinstance(each, bool)]
    return tuple(dict.fromkeys(text for text in texts if text))
