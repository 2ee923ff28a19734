"""How results are shown."""

from raglift.report.comparison import comparison_text
from raglift.report.comparison_frames import comparison_frame, lift_frame, slices_frame, tradeoff_frame
from raglift.report.diagnosis import explanation_text, headroom_text, loss_text
from raglift.report.frames import evaluation_frame, per_query_frame
from raglift.report.lift import lift_text
from raglift.report.slices import slices_text, tradeoff_text
from raglift.report.terminal import evaluation_text, print_evaluation

__all__ = [
    "comparison_frame",
    "comparison_text",
    "evaluation_frame",
    "evaluation_text",
    "explanation_text",
    "headroom_text",
    "lift_frame",
    "lift_text",
    "loss_text",
    "per_query_frame",
    "print_evaluation",
    "slices_frame",
    "slices_text",
    "tradeoff_frame",
    "tradeoff_text",
]
