"""What language models judge and write: graded relevance, usefulness, queries; and how far they are to be believed."""

from raglift.judging.agreement import Agreement, SystemAgreement, agreement, system_agreement
from raglift.judging.asking.ask import Limits, NoAnswer
from raglift.judging.generating import Generation, estimate_generation, generate
from raglift.judging.grading.graded import Graded, estimate_grading, grade
from raglift.judging.pooling.pool import Pool, pool
from raglift.judging.usefulness import ContextPrecision, context_precision, estimate_context_precision

__all__ = [
    "Agreement",
    "ContextPrecision",
    "Generation",
    "Graded",
    "Limits",
    "NoAnswer",
    "Pool",
    "SystemAgreement",
    "agreement",
    "context_precision",
    "estimate_context_precision",
    "estimate_generation",
    "estimate_grading",
    "generate",
    "grade",
    "pool",
    "system_agreement",
]
