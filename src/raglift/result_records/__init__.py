"""What evaluating and comparing found, as plain frozen data; `raglift.results` adds what users do with it."""

from raglift.result_records.comparison import Compared, ComparisonRecord, HeldOut, Method
from raglift.result_records.evaluation import EvaluationRecord
from raglift.result_records.lift import Lifted, LiftRecord, Moved
from raglift.result_records.scores import Scores
from raglift.result_records.slices import TagSlice, TagSlicesRecord
from raglift.result_records.tradeoff import Costed, TradeoffRecord

__all__ = [
    "Compared",
    "ComparisonRecord",
    "Costed",
    "EvaluationRecord",
    "HeldOut",
    "LiftRecord",
    "Lifted",
    "Method",
    "Moved",
    "Scores",
    "TagSlice",
    "TagSlicesRecord",
    "TradeoffRecord",
]
