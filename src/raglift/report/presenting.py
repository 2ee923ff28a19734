"""The view of each type of result, and its text.

A package further right registers its own results: `view_of.register(AuditRecord, audit_view)`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from raglift.analysis.agents import AgentsRecord
from raglift.analysis.answering import AbstentionRecord
from raglift.analysis.exact_comparison import IndexLossesRecord
from raglift.analysis.explanation import ExplanationRecord
from raglift.analysis.factor_records import FactorEffectsRecord
from raglift.analysis.outcomes import FailureAnalysisRecord
from raglift.analysis.recommendation import RecommendationRecord
from raglift.analysis.records import ComparisonRecord, EvaluationRecord, LiftRecord, TagSlicesRecord, TradeoffRecord
from raglift.analysis.sessions import SessionAnalysisRecord
from raglift.analysis.tuning import TuningRecord
from raglift.analysis.unjudged import HolesRecord
from raglift.analysis.upper_bound import HeadroomRecord
from raglift.base.display import lines_text
from raglift.rendering.document import Detail, Entry, Section
from raglift.report.factors import effects_view
from raglift.report.format import labels_line
from raglift.report.recommendation import recommendation_view
from raglift.report.sentences import headroom_line
from raglift.report.terminal.document import document_parts, document_text
from raglift.report.terminal.rendering import as_text
from raglift.report.views.abstention import abstention_view
from raglift.report.views.agents import agents_view
from raglift.report.views.analyses import (
    explanation_view,
    failure_analysis_view,
    slices_view,
    tradeoff_view,
)
from raglift.report.views.comparison import comparison_view
from raglift.report.views.evaluation import evaluation_view, lift_view
from raglift.report.views.holes import holes_view
from raglift.report.views.index_losses import index_losses_view
from raglift.report.views.sessions import sessions_view
from raglift.report.views.tuning import tuning_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from raglift.rendering.document import Document, Part


@singledispatch
def view_of(result: object, *, detail: Detail = Detail.REFERENCE) -> Document:
    """Return what is shown of a result; all outputs are made of it.

    Args:
        result: what to show.
        detail: sections of more detail than this are not needed.
    """
    raise TypeError(f"view_of: found a {type(result).__name__} ({detail.name}); expected a result of raglift")


@singledispatch
def text_of(result: object) -> str:
    """Return a result as the text that `print` shows: its view, in as much detail as that asks for."""
    return document_text(view_of(result, detail=Detail.SUMMARY))


def text_in_detail(result: object, detail: Detail) -> str:
    """Return a result as plain text, in as much detail as asked for."""
    return document_text(view_of(result, detail=detail), detail)


def whole(view: Callable[[Any], Document]) -> Callable[..., Document]:
    """Return a view of one size as one that can be asked for any detail."""

    def shown(result: Any, *, detail: Detail = Detail.REFERENCE) -> Document:
        del detail  # it has nothing that could be left out
        return view(result)

    return shown


def sections_of(results: Iterable[object]) -> tuple[Section, ...]:
    """Return results as sections of another report, each under its title with its warnings and notes."""
    sections: list[Section] = []
    for result in results:
        view = view_of(result)
        listed = tuple(Entry(text) for text in (*view.warnings, *view.notes))
        tables = () if view.headline is None else (view.headline,)
        sections += [Section(view.title, (view.lead,) if view.lead else (), tables, entries=listed), *view.sections]
    return tuple(sections)


def _headroom_text(headroom: HeadroomRecord) -> str:
    """Return what a perfect reranker over the same candidates would score, and the label provenance."""
    return lines_text([headroom_line(headroom), *labels_line(headroom.label_sources)])


def lift_parts(lift: LiftRecord) -> Iterator[Part]:
    """Yield the lines and tables of a lift; of what was measured, which its evaluation prints, the method alone."""
    view = lift_view(lift, detail=Detail.DETAILS)
    method = tuple(row for row in view.measured if row[0] == "Method")
    return document_parts(replace(view, measured=method), Detail.DETAILS)


view_of.register(EvaluationRecord, evaluation_view)
view_of.register(LiftRecord, lift_view)
view_of.register(ComparisonRecord, comparison_view)
view_of.register(TagSlicesRecord, whole(slices_view))
view_of.register(TradeoffRecord, whole(tradeoff_view))
view_of.register(RecommendationRecord, whole(recommendation_view))
view_of.register(FailureAnalysisRecord, whole(failure_analysis_view))
view_of.register(SessionAnalysisRecord, whole(sessions_view))
view_of.register(AgentsRecord, whole(agents_view))
view_of.register(AbstentionRecord, whole(abstention_view))
view_of.register(TuningRecord, whole(tuning_view))
view_of.register(HolesRecord, whole(holes_view))
view_of.register(IndexLossesRecord, whole(index_losses_view))
view_of.register(ExplanationRecord, whole(explanation_view))
view_of.register(FactorEffectsRecord, whole(effects_view))

text_of.register(LiftRecord, lambda lift: as_text(lift_parts(lift)))
text_of.register(HeadroomRecord, _headroom_text)
