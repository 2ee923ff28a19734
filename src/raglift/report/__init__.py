"""How results are shown."""

from raglift.report.frames import evaluation_frame, per_query_frame
from raglift.report.terminal import evaluation_text, print_evaluation

__all__ = ["evaluation_frame", "evaluation_text", "per_query_frame", "print_evaluation"]
