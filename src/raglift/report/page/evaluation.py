"""The page of one evaluation: its view, and every query."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from raglift.analysis.paired_statistics import primary_of
from raglift.rendering.document import Document
from raglift.rendering.presenting import Presentable, sections_of
from raglift.report.page.gathering import drill_down
from raglift.report.page.rendering import Page
from raglift.report.views.evaluation import evaluation_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.analysis.records import EvaluationRecord
    from raglift.records.metric import Metric


def evaluation_page(
    evaluation: EvaluationRecord,
    *,
    primary: Metric | str | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    also: Sequence[Presentable] = (),
) -> Page:
    """Return the page of one evaluation.

    Args:
        evaluation: the evaluation.
        primary: the metric that decides; by default as in `reranker_lift`.
        seed: of the permutation tests.
        confidence: how often intervals hold the true value.
        also: further results, each a section.

    Raises:
        ConfigurationError: a metric that was not scored or is not a measure of quality, or an argument outside its
            range.
    """
    decides = primary_of(primary, evaluation.scores.metrics, evaluation.depth_limit)
    view = evaluation_view(evaluation, decides, seed=seed, confidence=confidence)
    queries = drill_down({"": evaluation}, left=("", evaluation.before), right=("", evaluation.after), primary=decides)
    content = {field.name: getattr(view, field.name) for field in fields(Document)}
    return Page(**content | {"sections": (*sections_of(also), *view.sections)}, queries=queries)
