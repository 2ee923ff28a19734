"""What language models judge and write: graded relevance, usefulness, queries; and how far they are to be believed."""

from raglift.judging.generating import Generation, estimate_generation, generate

__all__ = ["Generation", "estimate_generation", "generate"]
