"""The vocabulary of raglift as frozen records, free of any framework."""

from raglift.records.comparison import Compared, Comparison, HeldOut, Method
from raglift.records.corpus import Chunk, Document
from raglift.records.cost import Cost, IndexCost, StageLatency
from raglift.records.label_sources import PEOPLE, LabelSources
from raglift.records.labels import Annotator, Dataset, Fact, Passage, Query
from raglift.records.lift import Lift, Lifted, Moved
from raglift.records.metric import Metric, Tokens
from raglift.records.rankings import Hit, Inventory, Ranking, Run, StageInfo, StageTrace, Trace
from raglift.records.results import Evaluation
from raglift.records.scores import Scores
from raglift.records.slices import TagSlice, TagSlices
from raglift.records.tradeoff import Costed, Tradeoff

__all__ = [
    "PEOPLE",
    "Annotator",
    "Chunk",
    "Compared",
    "Comparison",
    "Cost",
    "Costed",
    "Dataset",
    "Document",
    "Evaluation",
    "Fact",
    "HeldOut",
    "Hit",
    "IndexCost",
    "Inventory",
    "LabelSources",
    "Lift",
    "Lifted",
    "Method",
    "Metric",
    "Moved",
    "Passage",
    "Query",
    "Ranking",
    "Run",
    "Scores",
    "StageInfo",
    "StageLatency",
    "StageTrace",
    "TagSlice",
    "TagSlices",
    "Tokens",
    "Trace",
    "Tradeoff",
]
