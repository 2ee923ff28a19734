"""The pages of an evaluation and of a comparison: the view of each, and every query."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from raglift.analysis.paired_statistics import primary_of
from raglift.rendering.document import Document
from raglift.rendering.presenting import Presentable, sections_of
from raglift.report.page.gathering import drill_down
from raglift.report.page.rendering import Page
from raglift.report.views.comparison import comparison_view, other_of
from raglift.report.views.evaluation import evaluation_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric


def evaluation_page(
    evaluation: Evaluation,
    *,
    primary: Metric | str | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    also: Sequence[Presentable] = (),
) -> Page:
    """Return the page of one evaluation.

    Raises:
        ConfigurationError: a metric that was not scored or is not a measure of quality, or an argument outside its
            range.
    """
    decides = primary_of(primary, evaluation.scores.metrics, evaluation.depth_limit)
    view = evaluation_view(evaluation, decides, seed=seed, confidence=confidence)
    queries = drill_down({"": evaluation}, left=("", evaluation.before), right=("", evaluation.after), primary=decides)
    return Page(**_content(view, also), queries=queries)


def comparison_page(comparison: Comparison, *, also: Sequence[Presentable] = ()) -> Page:
    """Return the page of a comparison."""
    other = other_of(comparison)
    queries = drill_down(
        dict(zip(comparison.names, comparison.evaluations, strict=True)),
        left=(comparison.baseline, comparison.evaluation(comparison.baseline).after),
        right=(other, comparison.evaluation(other).after),
        primary=comparison.primary,
    )
    return Page(**_content(comparison_view(comparison), also), queries=queries)


def _content(view: Document, also: Sequence[Presentable]) -> dict[str, Any]:
    """Return the fields of a document, with the sections of further results first."""
    content = {field.name: getattr(view, field.name) for field in fields(Document)}
    return content | {"sections": (*sections_of(also), *view.sections)}
