"""Results as tables for a terminal, and as plain text when piped."""

from raglift.report.terminal.comparison import comparison_text
from raglift.report.terminal.conventions import conventions_text
from raglift.report.terminal.diagnosis import explanation_text, headroom_text, loss_text
from raglift.report.terminal.evaluation import evaluation_text, print_evaluation
from raglift.report.terminal.lift import lift_text
from raglift.report.terminal.slices import slices_text, tradeoff_text

__all__ = [
    "comparison_text",
    "conventions_text",
    "evaluation_text",
    "explanation_text",
    "headroom_text",
    "lift_text",
    "loss_text",
    "print_evaluation",
    "slices_text",
    "tradeoff_text",
]
