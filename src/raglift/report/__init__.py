"""How results are shown."""

from raglift.report.frames import (
    comparison_frame,
    evaluation_frame,
    lift_frame,
    per_query_frame,
    per_query_frames,
    slices_frame,
    tradeoff_frame,
)
from raglift.report.terminal import (
    comparison_text,
    conventions_text,
    evaluation_text,
    explanation_text,
    headroom_text,
    lift_text,
    loss_text,
    print_evaluation,
    slices_text,
    tradeoff_text,
)

__all__ = [
    "comparison_frame",
    "comparison_text",
    "conventions_text",
    "evaluation_frame",
    "evaluation_text",
    "explanation_text",
    "headroom_text",
    "lift_frame",
    "lift_text",
    "loss_text",
    "per_query_frame",
    "per_query_frames",
    "print_evaluation",
    "slices_frame",
    "slices_text",
    "tradeoff_frame",
    "tradeoff_text",
]
