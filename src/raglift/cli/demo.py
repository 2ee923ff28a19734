"""`raglift demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.evaluation import evaluate
from raglift.integrations.adapt import LATE_INTERACTION
from raglift.metrics import NDCG, RR
from raglift.systems import LocalSystem, build_retriever

if TYPE_CHECKING:
    from rich.console import Console

    from raglift.records import Evaluation

__all__ = ["CORPUS", "run"]

CORPUS = "lighthouse"
"""The corpus of the demonstration."""

_K = 10
_SHOWN = 3


def run() -> None:
    """Evaluate the embedded models on the demonstration corpus, and show what the reranker moved."""
    from rich.console import Console

    from raglift.corpora import find_corpus
    from raglift.loading import load_dataset
    from raglift.report import print_evaluation

    console = Console()
    corpus = find_corpus(CORPUS)
    console.print(f"{corpus.title}: {corpus.description}\n", markup=False, highlight=False)
    dataset = load_dataset(CORPUS)
    evaluation = evaluate(build_retriever(dataset, LocalSystem()), dataset, reranker=LATE_INTERACTION)
    print_evaluation(evaluation, console)
    _show_moves(evaluation, console)


def _show_moves(evaluation: Evaluation, console: Console) -> None:
    """Print the queries whose NDCG the reranker changed most, up and down."""
    import numpy as np

    metric = NDCG @ _K
    lift = evaluation.lift(metric)
    counted = np.flatnonzero(~np.isnan(lift))
    order = counted[np.argsort(-np.abs(lift[counted]), kind="stable")][:_SHOWN]
    ranks = evaluation.scores.of(evaluation.before, RR @ _K), evaluation.scores.of(evaluation.after, RR @ _K)
    console.print(f"\nThe {len(order)} queries that reranking changed most (NDCG@{_K}, first rank that answers):")
    for number in order.tolist():
        before, after = (_rank(values[number]) for values in ranks)
        query = evaluation.dataset.queries[number]
        console.print(
            f"  {lift[number]:+.2f}  rank {before} → {after}  {query.text}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _rank(reciprocal: float) -> str:
    return str(round(1 / reciprocal)) if reciprocal > 0 else f">{_K}"
