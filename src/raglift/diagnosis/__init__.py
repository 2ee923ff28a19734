"""Why scores are what they are: where recall was lost, what was attainable, and what each hit earned."""

from raglift.diagnosis.attainable import Alternative, Best, best_facts, best_facts_at
from raglift.diagnosis.conventions import MetricsExplanationRecord, explain_metrics
from raglift.diagnosis.curves import has_curve, over_k
from raglift.diagnosis.explanation import ExplanationRecord, explain
from raglift.diagnosis.failures import Failure, failures_of
from raglift.diagnosis.headroom import HeadroomRecord, headroom
from raglift.diagnosis.loss import Fates, Loss, LossBreakdownRecord, fates_of, loss_breakdown

__all__ = [
    "Alternative",
    "Best",
    "ExplanationRecord",
    "Failure",
    "Fates",
    "HeadroomRecord",
    "Loss",
    "LossBreakdownRecord",
    "MetricsExplanationRecord",
    "best_facts",
    "best_facts_at",
    "explain",
    "explain_metrics",
    "failures_of",
    "fates_of",
    "has_curve",
    "headroom",
    "loss_breakdown",
    "over_k",
]
