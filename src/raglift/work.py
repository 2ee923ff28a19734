"""Who computes: this process, or others that it sends work to.

What is sent is a function and its items. Whoever computes hands the results back, and the caller keeps them: only the
process that asked writes to the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["HERE", "Workers"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers(Protocol):
    """Applies a function to items, wherever that may be."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        lost: Callable[[Exception], Result] | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        """Yield each item with its result as it is finished, in any order.

        Args:
            function: can be pickled: it carries names and settings, never a loaded model or an open file.
            items: can be pickled, as their results can; taken as there is somebody to work on them.
            lost: makes the result of an item whose worker is lost however often it is tried; None raises.

        Raises:
            Exception: what the function raised for an item; the results yielded before stand.
        """
        ...


class _Here:
    """The calling process: one item after the other, in their order."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        lost: Callable[[Exception], Result] | None = None,  # noqa: ARG002 — here nobody is lost but all of us
    ) -> Iterator[tuple[Item, Result]]:
        for item in items:
            yield item, function(item)


HERE: Workers = _Here()
"""Computes in the calling process."""
