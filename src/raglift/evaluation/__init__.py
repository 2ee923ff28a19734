"""One system over one dataset, every metric at every stage; scored again; put through one more reranker."""

from raglift.evaluation.evaluating import evaluate
from raglift.evaluation.options import DEFAULT_KS, Options
from raglift.evaluation.reranked import rerank
from raglift.evaluation.rescoring import rescore
from raglift.evaluation.scored import evaluation_of
from raglift.evaluation.spec import dataset_hash
from raglift.metrics.choosing import DEFAULT_METRICS

__all__ = ["DEFAULT_KS", "DEFAULT_METRICS", "Options", "dataset_hash", "evaluate", "evaluation_of", "rerank", "rescore"]
