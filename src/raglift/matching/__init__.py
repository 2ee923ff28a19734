"""Which hits match which passages."""

from raglift.matching.containment import MatchRule, PassageMatch, judge, match_passage
from raglift.matching.judgements import Direction, FactTable, Judgements, Matches, Satisfactions
from raglift.matching.provenance import Provenance

__all__ = [
    "Direction",
    "FactTable",
    "Judgements",
    "MatchRule",
    "Matches",
    "PassageMatch",
    "Provenance",
    "Satisfactions",
    "judge",
    "match_passage",
]
