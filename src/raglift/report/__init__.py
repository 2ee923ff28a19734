"""How results are shown."""

from raglift.report.diagnosis import explanation_text, headroom_text, loss_text
from raglift.report.frames import evaluation_frame, per_query_frame
from raglift.report.terminal import evaluation_text, print_evaluation

__all__ = [
    "evaluation_frame",
    "evaluation_text",
    "explanation_text",
    "headroom_text",
    "loss_text",
    "per_query_frame",
    "print_evaluation",
]
