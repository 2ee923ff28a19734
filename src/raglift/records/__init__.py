"""The vocabulary of raglift as frozen records, free of any framework."""

from raglift.records.corpus import Chunk, Document
from raglift.records.cost import Cost, IndexCost, StageLatency
from raglift.records.labels import Dataset, Fact, Passage, Query
from raglift.records.metric import Metric
from raglift.records.rankings import Hit, Inventory, Ranking, Run, StageInfo, StageTrace, Trace
from raglift.records.results import Evaluation, Scores

__all__ = [
    "Chunk",
    "Cost",
    "Dataset",
    "Document",
    "Evaluation",
    "Fact",
    "Hit",
    "IndexCost",
    "Inventory",
    "Metric",
    "Passage",
    "Query",
    "Ranking",
    "Run",
    "Scores",
    "StageInfo",
    "StageLatency",
    "StageTrace",
    "Trace",
]
