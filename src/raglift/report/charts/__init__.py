"""Charts of results, made with altair."""

from raglift.report.charts.embedding import javascript, specification
from raglift.report.charts.plots import ComparisonPlots, EvaluationPlots

__all__ = ["ComparisonPlots", "EvaluationPlots", "javascript", "specification"]
