"""Results as pandas frames."""

from raglift.report.frames.comparison import comparison_frame, lift_frame, slices_frame, tradeoff_frame
from raglift.report.frames.evaluation import evaluation_frame, per_query_frame, per_query_frames

__all__ = [
    "comparison_frame",
    "evaluation_frame",
    "lift_frame",
    "per_query_frame",
    "per_query_frames",
    "slices_frame",
    "tradeoff_frame",
]
