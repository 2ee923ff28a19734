"""Systems beside each other on the same queries: which differences are real, and what they cost."""

from raglift.comparison.compare import compare
from raglift.comparison.lift import reranker_lift
from raglift.comparison.slices import comparison_by_tag, evaluation_by_tag
from raglift.comparison.systems import Source, distinct_names
from raglift.comparison.tradeoff import has_costs, tradeoff

__all__ = [
    "Source",
    "compare",
    "comparison_by_tag",
    "distinct_names",
    "evaluation_by_tag",
    "has_costs",
    "reranker_lift",
    "tradeoff",
]
