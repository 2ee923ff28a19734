"""The page of a comparison: its view, and every query."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from raglift.rendering.document import Document
from raglift.rendering.presenting import Presentable, sections_of
from raglift.report.page.gathering import drill_down
from raglift.report.page.rendering import Page
from raglift.report.views.comparison import comparison_view, headlines_by_baseline, other_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.analysis.records import ComparisonRecord


def comparison_document(comparison: ComparisonRecord, *, also: Sequence[Presentable] = ()) -> Page:
    """Return the page of a comparison.

    Args:
        comparison: the comparison.
        also: further results, each a section.
    """
    other = other_of(comparison)
    queries = drill_down(
        dict(zip(comparison.names, comparison.evaluations, strict=True)),
        left=(comparison.baseline, comparison.evaluation(comparison.baseline).after),
        right=(other, comparison.evaluation(other).after),
        primary=comparison.primary,
    )
    view = comparison_view(comparison)
    content = {field.name: getattr(view, field.name) for field in fields(Document)}
    return Page(
        **content | {"sections": (*sections_of(also), *view.sections)},
        queries=queries,
        baseline=comparison.baseline,
        baselines=headlines_by_baseline(comparison),
    )
