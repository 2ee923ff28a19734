"""What is computed of an immutable object is computed once and kept with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_MEMORY = "_memory"
_ValueT = TypeVar("_ValueT")


class Remembering:
    """An immutable object that keeps what was computed of it; its copies and what is pickled of it do not."""

    def once(self, key: Hashable, compute: Callable[[], _ValueT]) -> _ValueT:
        """Return what was computed under a key, computing it when it is asked for the first time."""
        memory: dict[Hashable, Any] = vars(self).setdefault(_MEMORY, {})
        if key not in memory:
            memory[key] = compute()
        value: _ValueT = memory[key]
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _MEMORY}
