"""`raglift demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.adapters.adapt import LATE_INTERACTION
from raglift.base.display import excerpt
from raglift.cli.evaluate import as_json as evaluation_as_json
from raglift.cli.json_output import print_json
from raglift.errors import MissingDependency
from raglift.metrics.graded_measures import NDCG
from raglift.running.evaluation import evaluate
from raglift.running.systems import LocalSystem, build_retriever

if TYPE_CHECKING:
    from rich.console import Console

    from raglift.cli.measuring import Demo
    from raglift.records.dataset import Dataset
    from raglift.results.evaluation import Evaluation


CORPUS = "shop_support"
"""The corpus of the demonstration."""

_K = 10
_SHOWN = 3
_EXCERPT = 60


def run(request: Demo) -> None:
    """Evaluate on the demonstration corpus.

    Without `--retriever` that is with the bundled models, and shows what the reranker moved; or with BM25 where what
    they need is not installed.
    """
    from rich.console import Console

    from raglift.datasets.corpora.catalogue import find_corpus
    from raglift.datasets.loading import load_dataset
    from raglift.rendering.document import Detail
    from raglift.report.terminal.document import print_document
    from raglift.report.views.evaluation import evaluation_view

    console = Console(quiet=request.as_json)
    corpus = find_corpus(CORPUS)
    console.print(f"{corpus.title}: {corpus.description}\n", markup=False, highlight=False)
    dataset = load_dataset(CORPUS)
    if request.retriever is not None:
        evaluation = _alone(dataset, request.retriever)
    else:
        try:
            evaluation = evaluate(build_retriever(dataset, LocalSystem()), dataset, reranker=LATE_INTERACTION)
        except MissingDependency as error:
            evaluation = _alone(dataset, "bm25")
            _print(console, f"BM25 alone: {error}\n")
    if request.as_json:
        print_json(evaluation_as_json(evaluation))
        return
    print_document(evaluation_view(evaluation, detail=Detail.SUMMARY), console)
    if evaluation.after != evaluation.before:
        _show_moves(evaluation, console)


def _alone(dataset: Dataset, retriever: str) -> Evaluation:
    return evaluate(build_retriever(dataset, LocalSystem(retriever)), dataset)


def _show_moves(evaluation: Evaluation, console: Console) -> None:
    """Print the queries whose NDCG the reranker changed most: where each of their hits that answers came from."""
    import numpy as np

    metric = NDCG @ _K
    lift = evaluation.lift(metric)
    counted = np.flatnonzero(~np.isnan(lift))
    # the two that gained most, and the one that lost most
    rising = counted[np.argsort(-lift[counted], kind="stable")]
    order = dict.fromkeys([*rising[: _SHOWN - 1].tolist(), *rising[-1:].tolist()])
    console.print(f"\nThree queries that reranking moved most, up and down (NDCG@{_K}):")
    for number in order:
        query = evaluation.dataset.queries[number]
        _print(console, f"  {lift[number]:+.2f}  {query.id}: {query.text}")
        for line in _moves(evaluation, query.id):
            _print(console, f"         {line}")


def _moves(evaluation: Evaluation, query_id: str) -> list[str]:
    """Return one line per hit that answers, its ranks before and after, if either is near the top."""
    ranks: dict[str, list[int | None]] = {}
    documents: dict[str, str] = {}
    for place, stage in enumerate((evaluation.before, evaluation.after)):
        for each in evaluation.explain(query_id, stage=stage).hits:
            if any(overlap.counts for overlap in each.overlaps):
                chunk = each.hit.chunk
                ranks.setdefault(chunk.id, [None, None])[place] = each.hit.rank
                documents[chunk.id] = f"{chunk.doc_id} “{excerpt(chunk.text, _EXCERPT)}”"
    near = {chunk: pair for chunk, pair in ranks.items() if min(rank or _K + 1 for rank in pair) <= _K}
    return [f"rank {_rank(before)} → {_rank(after)}  {documents[chunk]}" for chunk, (before, after) in near.items()]


def _rank(rank: int | None) -> str:
    return f"{'–' if rank is None else rank:>2}"


def _print(console: Console, line: str) -> None:
    from raglift.base.display import printable

    console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
