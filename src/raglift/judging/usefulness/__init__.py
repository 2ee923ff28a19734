"""Context precision without labels: a model says of each of the first hits whether it helps to answer."""

from raglift.judging.usefulness.answers import read_answers
from raglift.judging.usefulness.judge import context_precision, estimate_context_precision
from raglift.judging.usefulness.records import ContextPrecision, JudgedLift

__all__ = ["ContextPrecision", "JudgedLift", "context_precision", "estimate_context_precision", "read_answers"]
