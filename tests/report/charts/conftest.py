"""Systems of which every chart can be made, with names that would do harm if they were not data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from raglift.results.comparison import Comparison, compare
from raglift.results.evaluation import Evaluation
from raglift.types.rankings import Cost, StageLatency


@pytest.fixture(scope="session")
def hostile() -> str:
    """A name that ends scripts, expressions and field names, and turns the line around."""
    return '</script><b>"]]; alert(1)//\u202e datum["x"].y[0] \\u003c'


@pytest.fixture(scope="session")
def reranked(ranked: Callable[..., Evaluation], hostile: str) -> Evaluation:
    """Six queries with a reranker: three gain, one loses, two stay as they are."""
    tags = [("even",) if number % 2 == 0 else ("odd", hostile) for number in range(6)]
    # the last is not among the candidates, so no reranker finds it
    return ranked([2, 3, 1, 5, 1, None], reranked=[1, 1, 2, 2, 1, 1], tags=tags)


@pytest.fixture(scope="session")
def compared(ranked: Callable[..., Evaluation], hostile: str) -> Comparison:
    """Three systems of which the third is slower than the second and no better."""

    def costing(ranks: list[int], p50: float) -> Evaluation:
        evaluation = ranked(ranks, tags=[(hostile,)] * 3)
        cost = Cost(whole=StageLatency("retrieve", 3, p50, p50 * 2))
        return dataclasses.replace(evaluation, run=dataclasses.replace(evaluation.run, cost=cost))

    systems = {"fast": costing([2, 2, 3], 0.01), hostile: costing([1, 1, 1], 0.05), "slow": costing([1, 2, 1], 0.06)}
    return compare(systems, baseline="fast", primary="rr@3")


@pytest.fixture(scope="session")
def every_chart(reranked: Evaluation, compared: Comparison) -> dict[str, Any]:
    """Every chart of an evaluation and of a comparison."""
    one, many = reranked.plot, compared.plot
    return {
        "over_k": one.over_k("rr"),
        "lift": one.lift("rr@3"),
        "over_k of systems": many.over_k("rr"),
        "by_prompt_size": many.by_prompt_size(),
        "differences": many.differences(),
        "tradeoff": many.tradeoff(),
    }
