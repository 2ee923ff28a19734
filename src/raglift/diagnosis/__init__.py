"""Why scores are what they are: where recall was lost, what was attainable, and what each hit earned."""

from raglift.diagnosis.attainable import Alternative, Best, best_facts, best_facts_at
from raglift.diagnosis.curves import has_curve, over_k
from raglift.diagnosis.explanation import Explanation, explain
from raglift.diagnosis.headroom import Headroom, headroom
from raglift.diagnosis.loss import Fates, Loss, LossBreakdown, fates_of, loss_breakdown

__all__ = [
    "Alternative",
    "Best",
    "Explanation",
    "Fates",
    "Headroom",
    "Loss",
    "LossBreakdown",
    "best_facts",
    "best_facts_at",
    "explain",
    "fates_of",
    "has_curve",
    "headroom",
    "loss_breakdown",
    "over_k",
]
