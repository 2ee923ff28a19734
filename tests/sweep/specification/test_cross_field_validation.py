from __future__ import annotations

from typing import Any

import pytest

from raglift.errors import SweepError
from raglift.metrics.budgets import tokens
from raglift.sweep.specification.record import Sweep

GRID: dict[str, Any] = {"embeddings": ["bge-small", "minilm"], "retrievers": ["dense", "bm25"]}


def faults(**fields: Any) -> list[str]:
    with pytest.raises(SweepError) as caught:
        Sweep(**{"dataset": "lighthouse", **fields})
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {**GRID, "exclude": [{"retriever": ["bm25", "hybrid"]}]},
            'exclude[0].retriever: found "hybrid"; expected one of "bm25", "dense"',
        ),
        (
            {**GRID, "exclude": {"retriever": "bm25", "embedding": "bge-small"}},
            "exclude: found an exclusion that leaves out no configuration",
        ),
        (
            {**GRID, "exclude": [{"retriever": "bm25"}, {"retriever": "dense"}]},
            "exclude: found exclusions that leave out every configuration; expected at least one",
        ),
        ({"retrievers": [], "systems": "a:b", "chunkers": "token:9/1"}, "retrievers: found an empty list"),
        ({"systems": [{"name": "a", "system": "b:c"}, {"name": "a", "system": "d:e"}]}, 'found the name "a" 2 times'),
        ({"ks": [1, 10, 100]}, "ks[2]: found 100; expected at most 50, the number of candidates; or more candidates"),
        ({"metrics": ["ndcg", "recall@70"]}, 'metrics[1]: found "recall@70"; expected a depth of at most 50'),
        (
            {"ks": [5], "primary": "ndcg@10"},
            'primary: found "ndcg@10"; expected a metric that is taken and of which more is better, one of',
        ),
        (
            {"metrics": ["context_tokens", "idcg"], "ks": [5]},
            "metrics: found no measure of quality among context_tokens@5, idcg@5; expected one of which more is better",
        ),
        (
            {"metrics": ["recall", "precision"], "ks": ["tokens(200)"], "primary": "recall@tokens(200)"},
            "metrics: found precision@tokens(200); expected precision at a number of hits",
        ),
        (
            {"match": "containment", "match_threshold": 0.5},
            "match_threshold: found 0.5 with containment, which has none",
        ),
    ],
)
def test_what_does_not_go_together_is_said_where_it_can_be_fixed(fields: dict[str, Any], message: str) -> None:
    assert message in "\n".join(faults(**fields))


def test_a_metric_with_a_depth_of_its_own_may_be_primary() -> None:
    assert Sweep(dataset="lighthouse", metrics=["recall", "ndcg@7"], primary="ndcg@7").primary == "ndcg@7"


@pytest.mark.parametrize(
    ("fields", "primary"),
    [
        ({}, "ndcg@10"),
        ({"ks": [1, 5]}, "ndcg@5"),
        ({"ks": [5, tokens(2000)]}, "ndcg@5"),
        ({"metrics": ["context_tokens", "recall", "rr"], "ks": [1, 3]}, "recall@3"),
        ({"metrics": ["recall"], "ks": [tokens(500), tokens(2000)]}, "recall@tokens(2000)"),
    ],
)
def test_the_primary_metric_is_by_default_one_that_is_taken(fields: dict[str, Any], primary: str) -> None:
    assert Sweep(dataset="lighthouse", **fields).primary == primary


@pytest.mark.parametrize("primary", ["context_tokens@5", "idcg@5"])
def test_what_is_a_cost_or_the_labels_own_decides_nothing(primary: str) -> None:
    (found,) = faults(metrics=["recall", "context_tokens", "span_precision_omega", "idcg"], primary=primary, ks=[5])
    assert f'primary: found "{primary}"; expected a metric that is taken and of which more is better' in found
