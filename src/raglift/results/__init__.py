"""Results as users get them: the plain records further left, with methods that show, save and look closer.

`Evaluation.from_record(record)` makes one of a plain record, and so for each other class.
"""

from raglift.results.analyses import (
    Explanation,
    FromRecord,
    Headroom,
    LossBreakdown,
    MetricsExplanation,
    Presentable,
    Printable,
    TagSlices,
    Tradeoff,
)
from raglift.results.comparison import Comparison, Source, compare, distinct_names, named_evaluations
from raglift.results.evaluation import Evaluation, Lift, load_evaluation

__all__ = [
    "Comparison",
    "Evaluation",
    "Explanation",
    "FromRecord",
    "Headroom",
    "Lift",
    "LossBreakdown",
    "MetricsExplanation",
    "Presentable",
    "Printable",
    "Source",
    "TagSlices",
    "Tradeoff",
    "compare",
    "distinct_names",
    "load_evaluation",
    "named_evaluations",
]
