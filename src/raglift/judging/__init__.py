"""What language models judge and write: graded relevance, usefulness, queries; and how far they are to be believed."""

from raglift.judging.asking import Limits, NoAnswer
from raglift.judging.generating import Generation, estimate_generation, generate
from raglift.judging.grading import Graded, estimate_grading, grade
from raglift.judging.pool import Pool, pool

__all__ = [
    "Generation",
    "Graded",
    "Limits",
    "NoAnswer",
    "Pool",
    "estimate_generation",
    "estimate_grading",
    "generate",
    "grade",
    "pool",
]
