"""Presentation of each type of result: as text, and as a summary for notebooks and Markdown.

A package further right registers its own results: `text_of.register(AuditRecord, audit_text)`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING

from raglift.analysis.conventions.records import MetricsExplanationRecord
from raglift.analysis.explanation import ExplanationRecord
from raglift.analysis.factor_records import FactorEffectsRecord
from raglift.analysis.outcomes import FailureAnalysisRecord
from raglift.analysis.recommendation import RecommendationRecord
from raglift.analysis.records import ComparisonRecord, EvaluationRecord, LiftRecord, TagSlicesRecord, TradeoffRecord
from raglift.analysis.upper_bound import HeadroomRecord
from raglift.rendering.document import Detail
from raglift.report.conventions import conventions_text
from raglift.report.factors import effects_summary, effects_text
from raglift.report.recommendation import recommendation_summary, recommendation_text
from raglift.report.summaries.results import (
    comparison_summary,
    conventions_summary,
    explanation_summary,
    failure_analysis_summary,
    slices_summary,
    tradeoff_summary,
)
from raglift.report.terminal.analysis import explanation_text, failure_analysis_text, headroom_text
from raglift.report.terminal.comparison import comparison_text, slices_text, tradeoff_text
from raglift.report.terminal.document import document_parts
from raglift.report.terminal.rendering import as_text
from raglift.report.views.evaluation import evaluation_view, lift_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.rendering.document import Document, Part


@singledispatch
def text_of(result: object) -> str:
    """Return a result as the text that `print` shows."""
    raise TypeError(f"text_of: found a {type(result).__name__}; expected a result of raglift")


@text_of.register
def _(result: EvaluationRecord) -> str:
    return as_text(document_parts(evaluation_view(result, detail=Detail.SUMMARY)))


@text_of.register
def _(result: LiftRecord) -> str:
    return as_text(lift_parts(result))


def lift_parts(lift: LiftRecord) -> Iterator[Part]:
    """Yield the lines and tables of a lift; of what was measured, which its evaluation prints, the method alone."""
    view = lift_view(lift, detail=Detail.DETAILS)
    method = tuple(row for row in view.measured if row[0] == "Method")
    return document_parts(replace(view, measured=method), Detail.DETAILS)


@singledispatch
def summary_of(result: object) -> Document:
    """Return a summary of a result, from which notebooks and Markdown are made."""
    raise TypeError(f"summary_of: found a {type(result).__name__}; expected a result of raglift")


text_of.register(ComparisonRecord, comparison_text)
text_of.register(TagSlicesRecord, slices_text)
text_of.register(TradeoffRecord, tradeoff_text)
text_of.register(RecommendationRecord, recommendation_text)
text_of.register(FailureAnalysisRecord, failure_analysis_text)
text_of.register(HeadroomRecord, headroom_text)
text_of.register(ExplanationRecord, explanation_text)
text_of.register(FactorEffectsRecord, effects_text)
text_of.register(MetricsExplanationRecord, conventions_text)

summary_of.register(EvaluationRecord, evaluation_view)
summary_of.register(LiftRecord, lift_view)
summary_of.register(ComparisonRecord, comparison_summary)
summary_of.register(TagSlicesRecord, slices_summary)
summary_of.register(TradeoffRecord, tradeoff_summary)
summary_of.register(RecommendationRecord, recommendation_summary)
summary_of.register(FailureAnalysisRecord, failure_analysis_summary)
summary_of.register(ExplanationRecord, explanation_summary)
summary_of.register(FactorEffectsRecord, effects_summary)
summary_of.register(MetricsExplanationRecord, conventions_summary)
