"""The vocabulary of raglift as frozen records, free of any framework."""

from raglift.records.corpus import Chunk, Document
from raglift.records.cost import Cost, IndexCost, StageLatency
from raglift.records.dataset import Dataset
from raglift.records.label_sources import PEOPLE, LabelSources
from raglift.records.labels import Annotator, Fact, Passage, Query
from raglift.records.metric import Metric, Tokens
from raglift.records.rankings import Hit, Inventory, Ranking, Run, StageInfo, StageTrace, Trace

__all__ = [
    "PEOPLE",
    "Annotator",
    "Chunk",
    "Cost",
    "Dataset",
    "Document",
    "Fact",
    "Hit",
    "IndexCost",
    "Inventory",
    "LabelSources",
    "Metric",
    "Passage",
    "Query",
    "Ranking",
    "Run",
    "StageInfo",
    "StageLatency",
    "StageTrace",
    "Tokens",
    "Trace",
]
