"""Metrics as values (`NDCG @ 10`, `parse("ndcg@10")`) and as plain functions of lists (`ndcg([3, 2], k=2)`)."""

from raglift.metrics.definitions import MEASURES, PROFILES, Measure, compute, mean_title, parse, title
from raglift.metrics.functional import (
    dcg,
    f1_at_k,
    hit_rate_at_k,
    idcg,
    ndcg,
    precision_at_k,
    recall_at_k,
)
from raglift.records import Metric

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
    "HitRate",
    "Measure",
    "Metric",
    "Precision",
    "Recall",
    "SpanIoU",
    "SpanPrecision",
    "SpanPrecisionOmega",
    "SpanRecall",
    "compute",
    "dcg",
    "f1_at_k",
    "hit_rate_at_k",
    "idcg",
    "mean_title",
    "ndcg",
    "parse",
    "precision_at_k",
    "recall_at_k",
    "title",
]
