"""raglift measures the retrieval half of RAG, before and after reranking.

import raglift as rl

data = rl.load_dataset("lighthouse")
evaluation = rl.evaluate(retriever, data, reranker="late-interaction")
print(evaluation)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raglift.auditing import audit
    from raglift.chunking import RecursiveChunker
    from raglift.dataset import write_dataset
    from raglift.errors import RagliftError
    from raglift.evaluation import evaluate, rescore
    from raglift.gating import gate
    from raglift.indexing import build_index
    from raglift.loading import load_dataset
    from raglift.matching import MatchRule
    from raglift.records import Chunk, Dataset, Document, Ranking
    from raglift.results import Evaluation, compare, load_evaluation
    from raglift.retrieval import DenseRetriever
    from raglift.scoring import score_rankings
    from raglift.sweep import Sweep

__version__ = "0.1.0"

_HOMES = {
    "Chunk": "records",
    "Dataset": "records",
    "DenseRetriever": "retrieval",
    "Document": "records",
    "Evaluation": "results",
    "MatchRule": "matching",
    "RagliftError": "errors",
    "Ranking": "records",
    "RecursiveChunker": "chunking",
    "Sweep": "sweep",
    "audit": "auditing",
    "build_index": "indexing",
    "compare": "results",
    "evaluate": "evaluation",
    "gate": "gating",
    "load_dataset": "loading",
    "load_evaluation": "results",
    "rescore": "evaluation",
    "score_rankings": "scoring",
    "track": "integrations.tracking",
    "write_dataset": "dataset",
}

__all__ = [
    "Chunk",
    "Dataset",
    "DenseRetriever",
    "Document",
    "Evaluation",
    "MatchRule",
    "RagliftError",
    "Ranking",
    "RecursiveChunker",
    "Sweep",
    "audit",
    "build_index",
    "compare",
    "evaluate",
    "gate",
    "load_dataset",
    "load_evaluation",
    "rescore",
    "score_rankings",
    "track",
    "write_dataset",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import raglift` stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'raglift' has no attribute {name!r}")
    return getattr(importlib.import_module(f"raglift.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
