"""How deep a framework's system looks, set on a copy of it: what LangChain and LlamaIndex have in common.

A system is a tree of retrievers, engines, wrappers and rerankers that hold one another in attributes, lists and
dictionaries. A walk copies that tree and nothing else: indexes, stores and models stay shared with the user's object,
which is never written to. Depth is raised and never lowered: a fusion whose parts look 50 deep still fuses 50 if 10 are
wanted, and its ranking is cut afterwards.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any


class Walk(ABC):
    """One copy of a tree; a part that is held twice is copied once.

    Args:
        k: how many hits are wanted; None for its own settings.
    """

    def __init__(self, k: int | None) -> None:
        self.k = k
        self.fixed: list[str] = []
        """The parts whose depth could not be set: `EnsembleRetriever.retrievers[1]: MyRetriever`."""
        self._copies: dict[int, tuple[Any, Any]] = {}  # with the part itself, whose number else another could get

    @abstractmethod
    def is_part(self, owner: Any, name: str, value: Any) -> bool:
        """Whether what an attribute of an owner holds is entered."""

    @abstractmethod
    def deepen(self, twin: Any, path: str) -> None:
        """Raise the depth of a copy, and put copies where it holds other parts."""

    def visit(self, part: Any, path: str = "") -> Any:
        """Return the copy of a part, with everything inside it copied and deepened."""
        if id(part) not in self._copies:
            twin = copy.copy(part)
            self._copies[id(part)] = part, twin
            self.deepen(twin, path)
        return self._copies[id(part)][1]

    def enter(self, twin: Any, path: str) -> list[Any]:
        """Put copies where a copy holds other parts, and return these parts."""
        owner, entered = path or type(twin).__name__, list[Any]()

        def visit(part: Any, place: str) -> Any:
            entered.append(part)
            return self.visit(part, self.path_of(twin, owner, path, place))

        for space, name, value in attributes_of(twin):
            space[name] = _swapped(value, name.lstrip("_"), partial(self.is_part, twin, name), visit)
        return entered

    def path_of(self, twin: Any, owner: str, path: str, place: str) -> str:  # noqa: ARG002
        """Return where a part is, for messages."""
        return f"{owner}.{place}"

    def parts_of(self, part: Any) -> list[Any]:
        """Return the parts that one of them holds itself."""
        held: list[Any] = []
        for _, name, value in attributes_of(part):
            _swapped(value, "", partial(self.is_part, part, name), lambda one, _: held.append(one))
        return held

    def raised(self, value: int | None) -> int | None:
        """Return a depth that is at least the one wanted; None where nothing limits it."""
        if value is None or self.k is None:
            return value if self.k is None else self.k
        return max(value, self.k)


def named(part: Any, path: str) -> str:
    """Name a part for people, with where it is."""
    return f"{path}: {type(part).__name__}" if path else type(part).__name__


def attributes_of(part: Any) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """Yield every attribute of an object, with the dictionary that holds it (pydantic has one for private ones)."""
    for space in (getattr(part, "__dict__", None), getattr(part, "__pydantic_private__", None)):
        for name, value in list((space or {}).items()):
            yield space, name, value  # type: ignore[misc]  # an empty space yields nothing


def _swapped(value: Any, place: str, is_part: Callable[[Any], bool], visit: Callable[[Any, str], Any]) -> Any:
    """Return a value with `visit` applied to the parts in it; lists and dictionaries are copied for that."""
    if is_part(value):
        return visit(value, place)
    if isinstance(value, dict) and any(map(is_part, value.values())):
        return {key: _swapped(item, f"{place}[{key!r}]", is_part, visit) for key, item in value.items()}
    if isinstance(value, list | tuple) and any(map(is_part, value)):
        items = [_swapped(item, f"{place}[{number}]", is_part, visit) for number, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    return value
