"""Why scores are what they are."""

from raglift.diagnosis.attainable import Alternative, Best, best_facts, best_facts_at

__all__ = ["Alternative", "Best", "best_facts", "best_facts_at"]
