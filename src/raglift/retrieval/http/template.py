"""Requests as templates: the query and k are put in place as data, variables as texts of the environment.

A template is what JSON can hold. A text that is `{k}` becomes an integer; `{query}` and `{k}` inside a longer text are
put into that text. All of it happens in one pass and on values, never on JSON source: a query with quotes, braces or
`{k}` in it arrives as it is.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from raglift.errors import MissingKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["QUERY", "K", "filled", "resolved", "texts_of", "unknown_placeholder", "variables_of"]

QUERY, K = "{query}", "{k}"
_PLACE = re.compile(r"\{(query|k)\}")
_LONE_PLACE = re.compile(r"\{[A-Za-z_]\w*\}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def filled(template: Any, query: str, k: int) -> Any:
    """Return a template with the query and k in their places."""
    if isinstance(template, str):
        return k if template == K else _PLACE.sub(lambda found: query if found[1] == "query" else str(k), template)
    if isinstance(template, dict):
        return {name: filled(value, query, k) for name, value in template.items()}
    if isinstance(template, list):
        return [filled(value, query, k) for value in template]
    return template


def texts_of(template: Any) -> Iterator[str]:
    """Yield every text of a template, but for the names of its fields."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, dict):
        for value in template.values():
            yield from texts_of(value)
    elif isinstance(template, list):
        for value in template:
            yield from texts_of(value)


def unknown_placeholder(text: str) -> bool:
    """Whether a text looks like a placeholder and is none: `{question}`, `{top_k}`."""
    return _LONE_PLACE.fullmatch(text) is not None and text not in (QUERY, K)


def variables_of(text: str) -> list[str]:
    """Return the names of the environment variables that a text asks for."""
    return _VARIABLE.findall(text)


def resolved(texts: Mapping[str, str], purpose: str) -> tuple[dict[str, str], list[str]]:
    """Return texts with the values of their environment variables, and these values.

    Args:
        texts: by name, as `{"Authorization": "Bearer ${SEARCH_TOKEN}"}`.
        purpose: what they are for, as `the header`.

    Raises:
        MissingKey: a variable is not set, or empty.
    """
    used: list[str] = []

    def value_of(found: re.Match[str], name: str) -> str:
        value = os.environ.get(found[1], "").strip()
        if not value:
            raise MissingKey(found[1], f"{purpose} {name}", named=True)
        used.append(value)
        return value

    done = {name: _VARIABLE.sub(lambda found, name=name: value_of(found, name), text) for name, text in texts.items()}  # type: ignore[misc]
    return done, used
