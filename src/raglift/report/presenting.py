"""The view of each result of an analysis."""

from __future__ import annotations

from raglift.analysis.answering import Abstention
from raglift.analysis.explanation import Explanation
from raglift.analysis.factors import FactorEffects
from raglift.analysis.outcomes import FailureAnalysis
from raglift.analysis.recommendation import Recommendation
from raglift.analysis.records import Lift, TagSlices, Tradeoff
from raglift.analysis.sessions import Agents, SessionAnalysis
from raglift.analysis.tuning import Tuning
from raglift.rendering.presenting import view_of, whole
from raglift.report.factors import effects_view
from raglift.report.recommendation import recommendation_view
from raglift.report.views.analyses import (
    abstention_view,
    explanation_view,
    failure_analysis_view,
    slices_view,
    tradeoff_view,
    tuning_view,
)
from raglift.report.views.evaluation import lift_view
from raglift.report.views.sessions import agents_view, sessions_view

view_of.register(Lift, lift_view)
view_of.register(TagSlices, whole(slices_view))
view_of.register(Tradeoff, whole(tradeoff_view))
view_of.register(Recommendation, whole(recommendation_view))
view_of.register(FailureAnalysis, whole(failure_analysis_view))
view_of.register(SessionAnalysis, whole(sessions_view))
view_of.register(Agents, whole(agents_view))
view_of.register(Abstention, whole(abstention_view))
view_of.register(Tuning, whole(tuning_view))
view_of.register(Explanation, whole(explanation_view))
view_of.register(FactorEffects, whole(effects_view))
