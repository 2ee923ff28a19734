"""Systems beside each other on the same queries: which differences are real, and what they cost."""

from raglift.comparison.compare import compare_systems
from raglift.comparison.lift import reranker_lift
from raglift.comparison.slices import comparison_by_tag, evaluation_by_tag
from raglift.comparison.systems import baseline_of, system_name
from raglift.comparison.tradeoff import has_costs, tradeoff

__all__ = [
    "baseline_of",
    "compare_systems",
    "comparison_by_tag",
    "evaluation_by_tag",
    "has_costs",
    "reranker_lift",
    "system_name",
    "tradeoff",
]
