from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from raglift.records.dataset import Dataset
from raglift.records.documents import Chunk
from raglift.records.labels import Fact, Passage, Query
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeRetriever

Groups = Sequence[Sequence[str]]


def by_ids(
    labels: Mapping[str, Groups], rankings: Mapping[str, Sequence[str] | Exception], **options: object
) -> Evaluation:
    """Evaluate what came back for each query, as ids of chunks, by groups of relevant ids."""
    queries = tuple(
        Query(name, f"query {name}", tuple(Fact(tuple(Passage(chunk_id=one) for one in group)) for group in groups))
        for name, groups in labels.items()
    )
    hits = {
        f"query {name}": found if isinstance(found, Exception) else [Chunk(f"text of {one}", id=one) for one in found]
        for name, found in rankings.items()
    }
    return evaluate(FakeRetriever(hits), Dataset(queries), **{"ks": (5,), **options})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def by_chunk_ids() -> Callable[..., Evaluation]:
    """Evaluate rankings that are ids, by groups of relevant ids: `by_chunk_ids({"q": [["A"]]}, {"q": "AXB"})`."""
    return by_ids


@pytest.fixture
def three_of_which_two_were_found() -> Evaluation:
    """A, B and C are relevant, each a fact; A, X and B came back."""
    return by_ids({"q": [["A"], ["B"], ["C"]]}, {"q": ["A", "X", "B"]})
