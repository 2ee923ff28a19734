"""Methods that all results share: as text, in a notebook and as Markdown, each from the view of the result.

A view is registered for each class of results: `view_of.register(Audit, whole(audit_view))`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import singledispatch
from typing import Any, TypeVar

from raglift.rendering.document import Detail, Document, Entry, Section
from raglift.rendering.markdown import markdown_of
from raglift.rendering.notebook import html_of
from raglift.rendering.terminal import document_text


@singledispatch
def view_of(result: object, *, detail: Detail = Detail.DETAILS) -> Document:
    """Return what is shown of a result; all outputs are made of it."""
    raise TypeError(f"view_of: found a {type(result).__name__} ({detail.name}); expected a result of raglift")


def whole(view: Callable[[Any], Document]) -> Callable[..., Document]:
    """Return a view of one size as one that can be asked for any detail."""

    def with_any_detail(result: Any, *, detail: Detail = Detail.DETAILS) -> Document:
        del detail  # it has nothing that could be left out
        return view(result)

    return with_any_detail


_MEMORY = "_memory"
_ValueT = TypeVar("_ValueT")


class Presentable:
    """A result that can be printed, and shown in a notebook and in a pull request.

    It is immutable, and keeps what was computed of it; its copies and what is pickled of it do not.
    """

    __iter__ = None  # so that results with [metric] are no sequences to Python

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - {"once", "view"})  # which only raglift itself needs

    def once(self, key: Hashable, compute: Callable[[], _ValueT]) -> _ValueT:
        """Return what was computed under a key, computing it when it is asked for the first time."""
        memory: dict[Hashable, Any] = vars(self).setdefault(_MEMORY, {})
        if key not in memory:
            memory[key] = compute()
        value: _ValueT = memory[key]
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _MEMORY}

    def view(self, detail: Detail = Detail.DETAILS) -> Document:
        """Return what is shown of it, made once for each detail."""
        return self.once(("view", detail), lambda: view_of(self, detail=detail))

    def __str__(self) -> str:
        return document_text(self.view(Detail.SUMMARY))

    def to_text(self, *, details: bool = True) -> str:
        """Return it as plain text, with all details.

        Args:
            details: without them, it is the summary that `print` shows.
        """
        return document_text(self.view(Detail.DETAILS), Detail.DETAILS) if details else str(self)

    def to_markdown(self) -> str:
        """Return it in short as GitHub's Markdown, for a pull request."""
        return markdown_of(self.view())

    def _repr_html_(self) -> str:
        return html_of(self.view())


def sections_of(results: Iterable[Presentable]) -> tuple[Section, ...]:
    """Return results as sections of another report, each under its title with its warnings and notes."""
    sections: list[Section] = []
    for result in results:
        view = result.view()
        listed = tuple(Entry(text) for text in (*view.warnings, *view.notes))
        tables = () if view.headline is None else (view.headline,)
        sections += [Section(view.title, (view.lead,) if view.lead else (), tables, entries=listed), *view.sections]
    return tuple(sections)
