"""Metrics as values and as plain functions of lists.

`NDCG @ 10`, `Recall @ tokens(2000)`, `parse("ndcg@10")`; `ndcg([3, 2], k=2)`.
"""

from raglift.metrics.budgets import tokens
from raglift.metrics.computing import compute, counts_tokens, mean_title, title
from raglift.metrics.custom import metric
from raglift.metrics.functional import (
    dcg,
    f1_at_k,
    hit_rate_at_k,
    idcg,
    ndcg,
    precision_at_k,
    recall_at_k,
)
from raglift.metrics.measure import Measure
from raglift.metrics.parsing import as_metric, parse, parse_depth, refuse_budget, split_metrics
from raglift.metrics.profiles import PROFILES, Profile
from raglift.metrics.query_ranking import QueryRanking
from raglift.metrics.registry import MEASURES, all_measures
from raglift.metrics.saved import describe_own, read_metric, require_installed
from raglift.metrics.settings import Choice, Number
from raglift.records import Metric, Tokens

HitRate = Success = Metric("hit_rate")
Precision = Metric("precision")
RPrecision = Metric("r_precision")
Recall = Metric("recall")
F1 = Metric("f1")
RR = MRR = Metric("rr")
AP = MAP = Metric("ap")
DCG = Metric("dcg")
IDCG = Metric("idcg")
NDCG = Metric("ndcg")
AlphaNDCG = Metric("alpha_ndcg")
ERR = Metric("err")
RBP = Metric("rbp")
SpanRecall = Metric("span_recall")
SpanPrecision = Metric("span_precision")
SpanIoU = Metric("span_iou")
SpanPrecisionOmega = Metric("span_precision_omega")
ContextTokens = Metric("context_tokens")
Judged = Metric("judged")

__all__ = [
    "AP",
    "DCG",
    "ERR",
    "F1",
    "IDCG",
    "MAP",
    "MEASURES",
    "MRR",
    "NDCG",
    "PROFILES",
    "RBP",
    "RR",
    "AlphaNDCG",
    "Choice",
    "ContextTokens",
    "HitRate",
    "Judged",
    "Measure",
    "Metric",
    "Number",
    "Precision",
    "Profile",
    "QueryRanking",
    "RPrecision",
    "Recall",
    "SpanIoU",
    "SpanPrecision",
    "SpanPrecisionOmega",
    "SpanRecall",
    "Success",
    "Tokens",
    "all_measures",
    "as_metric",
    "compute",
    "counts_tokens",
    "dcg",
    "describe_own",
    "f1_at_k",
    "hit_rate_at_k",
    "idcg",
    "mean_title",
    "metric",
    "ndcg",
    "parse",
    "parse_depth",
    "precision_at_k",
    "read_metric",
    "recall_at_k",
    "refuse_budget",
    "require_installed",
    "split_metrics",
    "title",
    "tokens",
]
