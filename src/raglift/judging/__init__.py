"""What language models judge and write: graded relevance, usefulness, queries; and how far they are to be believed."""

from raglift.judging.asking import Limits, NoAnswer
from raglift.judging.grading import Graded, grade
from raglift.judging.pool import Pool, pool

__all__ = ["Graded", "Limits", "NoAnswer", "Pool", "grade", "pool"]
