"""Metrics as values and as plain functions of lists.

`NDCG @ 10`, `Recall @ tokens(2000)`, `parse("ndcg@10")`; `ndcg([3, 2], k=2)`.
"""

from raglift.metrics.budgets import tokens
from raglift.metrics.definitions import (
    MEASURES,
    Measure,
    compute,
    counts_tokens,
    mean_title,
    parse,
    parse_depth,
    refuse_budget,
    title,
)
from raglift.metrics.functional import (
    dcg,
    f1_at_k,
    hit_rate_at_k,
    idcg,
    ndcg,
    precision_at_k,
    recall_at_k,
)
from raglift.metrics.profiles import PROFILES, Profile
from raglift.records import Metric, Tokens

HitRate = Metric("hit_rate")
Precision = Metric("precision")
Recall = Metric("recall")
F1 = Metric("f1")
RR = MRR = Metric("rr")
AP = MAP = Metric("ap")
DCG = Metric("dcg")
IDCG = Metric("idcg")
NDCG = Metric("ndcg")
SpanRecall = Metric("span_recall")
SpanPrecision = Metric("span_precision")
SpanIoU = Metric("span_iou")
SpanPrecisionOmega = Metric("span_precision_omega")
ContextTokens = Metric("context_tokens")
Judged = Metric("judged")

__all__ = [
    "AP",
    "DCG",
    "F1",
    "IDCG",
    "MAP",
    "MEASURES",
    "MRR",
    "NDCG",
    "PROFILES",
    "RR",
    "ContextTokens",
    "HitRate",
    "Judged",
    "Measure",
    "Metric",
    "Precision",
    "Profile",
    "Recall",
    "SpanIoU",
    "SpanPrecision",
    "SpanPrecisionOmega",
    "SpanRecall",
    "Tokens",
    "compute",
    "counts_tokens",
    "dcg",
    "f1_at_k",
    "hit_rate_at_k",
    "idcg",
    "mean_title",
    "ndcg",
    "parse",
    "parse_depth",
    "precision_at_k",
    "recall_at_k",
    "refuse_budget",
    "title",
    "tokens",
]
