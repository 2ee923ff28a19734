"""Real evaluations of systems that find each query's fact at a rank of our choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from raglift.evaluation import evaluate
from raglift.records import Dataset, Evaluation, Fact, Passage, Query
from raglift.testing import FakeReranker, FakeRetriever

CANDIDATES = 6


def question(number: int) -> str:
    return f"Where does stone number {number:04d} lie?"


def answer(number: int) -> str:
    return f"the stone with the number {number:04d} lies at the ford"


def filler(rank: int) -> str:
    return f"nothing to the point, line {rank}"


def dataset(count: int, tags: Sequence[Sequence[str]] = (), unlabelled: Sequence[int] = ()) -> Dataset:
    return Dataset(
        tuple(
            Query(
                f"q{number:04d}",
                question(number),
                () if number in unlabelled else (Fact((Passage(answer(number)),)),),
                tuple(tags[number]) if tags else (),
            )
            for number in range(count)
        ),
        name="stones",
    )


def results(number: int, rank: int | None) -> list[str]:
    """Return six hits, with the answer at its rank; None for a query that does not find it."""
    hits = [filler(place) for place in range(1, CANDIDATES + 1)]
    return hits if rank is None else [*hits[: rank - 1], answer(number), *hits[rank - 1 : -1]]


@pytest.fixture
def ranked() -> Callable[..., Evaluation]:
    """Build the evaluation of a system that finds the fact of query i at `ranks[i]`, None for not at all.

    An exception instead of a rank makes the query fail. With `reranked`, a reranker moves the facts there.
    """

    def build(
        ranks: Sequence[int | Exception | None],
        *,
        reranked: Sequence[int | None] | None = None,
        tags: Sequence[Sequence[str]] = (),
        unlabelled: Sequence[int] = (),
        top_n: int | None = None,
        depth: int = CANDIDATES,
        **options: Any,
    ) -> Evaluation:
        table = {
            question(number): rank if isinstance(rank, Exception) else results(number, rank)[:depth]
            for number, rank in enumerate(ranks)
        }
        reranker = None
        if reranked is not None or top_n is not None:
            scores = {filler(place): 100.0 - place for place in range(1, CANDIDATES + 1)}
            scores |= {answer(number): 100.5 - rank for number, rank in enumerate(reranked or ()) if rank is not None}
            reranker = FakeReranker(scores, top_n=top_n)
        settings = {"ks": (1, 3), "candidates": CANDIDATES, "metrics": ("rr", "recall")} | options
        return evaluate(
            FakeRetriever(table), dataset(len(ranks), tags, unlabelled), reranker=reranker, retries=0, **settings
        )

    return build
