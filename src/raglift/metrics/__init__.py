"""Metrics as values and as plain functions of lists.

`NDCG @ 10`, `Recall @ tokens(2000)`, `parse("ndcg@10")`; `ndcg([3, 2], k=2)`.
"""

# Each family registers its measures as it is imported: this is the order in which `raglift metrics` lists them.
# isort: off
from raglift.metrics.custom import metric
from raglift.metrics.unordered import F1, HitRate, Precision, Recall, RPrecision, Success
from raglift.metrics.ranked import AP, MAP, MRR, RR
from raglift.metrics.graded import DCG, IDCG, NDCG
from raglift.metrics.diversity import AlphaNDCG
from raglift.metrics.stopping import ERR, RBP, RBPResidual
from raglift.metrics.spans import SpanIoU, SpanPrecision, SpanPrecisionOmega, SpanRecall
from raglift.metrics.budgets import ContextTokens, tokens
from raglift.metrics.judged import Bpref, GMBpref, InfAP, Judged, Unjudged
from raglift.metrics.trec import (
    G,
    GMAP,
    NDCGRel,
    RNDCG,
    YAAP,
    BinG,
    ElevenPointAvg,
    IPrec,
    RPrecisionMult,
    RelativePrecision,
    SetAP,
    SetF,
    SetPrecision,
    SetRelativePrecision,
    Utility,
)

# isort: on
from raglift.metrics.computing import (
    compute,
    counts_tokens,
    has_differences,
    mean_of,
    mean_title,
    require_irrelevant,
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
from raglift.metrics.measure import Measure
from raglift.metrics.parsing import as_metric, parse, parse_depth, refuse_budget, split_metrics
from raglift.metrics.profiles import PROFILES, Profile
from raglift.metrics.query_ranking import QueryRanking
from raglift.metrics.registry import MEASURES, all_measures, function_of
from raglift.metrics.saved import describe_own, read_metric, require_installed
from raglift.metrics.settings import Choice, Number
from raglift.records import Metric, Tokens

__all__ = [
    "AP",
    "DCG",
    "ERR",
    "F1",
    "GMAP",
    "IDCG",
    "MAP",
    "MEASURES",
    "MRR",
    "NDCG",
    "PROFILES",
    "RBP",
    "RNDCG",
    "RR",
    "YAAP",
    "AlphaNDCG",
    "BinG",
    "Bpref",
    "Choice",
    "ContextTokens",
    "ElevenPointAvg",
    "G",
    "GMBpref",
    "HitRate",
    "IPrec",
    "InfAP",
    "Judged",
    "Measure",
    "Metric",
    "NDCGRel",
    "Number",
    "Precision",
    "Profile",
    "QueryRanking",
    "RBPResidual",
    "RPrecision",
    "RPrecisionMult",
    "Recall",
    "RelativePrecision",
    "SetAP",
    "SetF",
    "SetPrecision",
    "SetRelativePrecision",
    "SpanIoU",
    "SpanPrecision",
    "SpanPrecisionOmega",
    "SpanRecall",
    "Success",
    "Tokens",
    "Unjudged",
    "Utility",
    "all_measures",
    "as_metric",
    "compute",
    "counts_tokens",
    "dcg",
    "describe_own",
    "f1_at_k",
    "function_of",
    "has_differences",
    "hit_rate_at_k",
    "idcg",
    "mean_of",
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
    "require_irrelevant",
    "split_metrics",
    "title",
    "tokens",
]
