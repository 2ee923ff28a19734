"""Which of pytest's items belong together: those that one test function became."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["FIXTURE", "QUERY", "function_of", "is_split", "query_of"]

FIXTURE = "raglift_evaluate"
QUERY = "_raglift_query"
"""The fixture whose value is the id of an item's query."""


def is_split(item: pytest.Item) -> bool:
    """Whether an item is one of those that its function became: of a query, or of the means."""
    callspec = getattr(item, "callspec", None)
    return callspec is not None and QUERY in callspec.params


def query_of(item: pytest.Item) -> str | None:
    """Return the id of the query that an item is about; None for any other item."""
    query: str | None = item.callspec.params[QUERY] if is_split(item) else None  # type: ignore[attr-defined]
    return query


def function_of(item: pytest.Item) -> tuple[object, ...]:
    """Return what the items of one function, with the same of its own parameters, have in common."""
    callspec = getattr(item, "callspec", None)
    params = {} if callspec is None else callspec.params
    # By identity, since values need be neither hashable nor comparable; the items keep them alive
    own = sorted((name, id(value)) for name, value in params.items() if name != QUERY)
    return (item.parent.nodeid if item.parent else "", getattr(item, "originalname", item.name), tuple(own))
