"""Which hits match which passages."""

from raglift.matching.ids import judge_ids
from raglift.matching.judgements import (
    Direction,
    FactTable,
    FirstSatisfactions,
    HitPlaces,
    Judgements,
    Matches,
    PassageTable,
    Reach,
    Satisfactions,
)
from raglift.matching.judging import judge
from raglift.matching.labelled import grade_by_labels, is_inside
from raglift.matching.pieces import PassageMatch, cover_passage, covering_characters, match_passage
from raglift.matching.provenance import Provenance
from raglift.matching.reach import inventory_of, reach_of
from raglift.matching.rule import MODES, MatchRule
from raglift.matching.texts import Text

__all__ = [
    "MODES",
    "Direction",
    "FactTable",
    "FirstSatisfactions",
    "HitPlaces",
    "Judgements",
    "MatchRule",
    "Matches",
    "PassageMatch",
    "PassageTable",
    "Provenance",
    "Reach",
    "Satisfactions",
    "Text",
    "cover_passage",
    "covering_characters",
    "grade_by_labels",
    "inventory_of",
    "is_inside",
    "judge",
    "judge_ids",
    "match_passage",
    "reach_of",
]
