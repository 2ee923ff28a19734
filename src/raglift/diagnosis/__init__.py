"""Why scores are what they are."""

from raglift.diagnosis.attainable import Alternative, Best, best_facts, best_facts_at
from raglift.diagnosis.queries import best_of_query, check_attainable_rule

__all__ = ["Alternative", "Best", "best_facts", "best_facts_at", "best_of_query", "check_attainable_rule"]
