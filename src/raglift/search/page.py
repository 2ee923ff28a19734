"""The page of a search: that of its finalists, with the race."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from raglift.rendering.document import Document
from raglift.search.view import search_view
from raglift.sweep.page import sweep_document

if TYPE_CHECKING:
    from raglift.report.page.rendering import Page
    from raglift.search.records import SearchRecord


def search_document(found: SearchRecord) -> Page:
    """Return the page of a search.

    Args:
        found: what it found.

    Raises:
        ConfigurationError: no cell was measured.
    """
    page, view = sweep_document(found.finalists), search_view(found)
    shown = {field.name: getattr(view, field.name) for field in fields(Document)}
    return replace(page, **shown)
