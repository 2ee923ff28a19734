from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Query

TAGS = {"a": ("hard", "ferry"), "b": ("easy",), "c": (), "d": ("ferry",), "e": ("easy", "ferry")}
DATASET = Dataset(
    tuple(Query(name, f"Where is {name}?", tags=tags) for name, tags in TAGS.items()),
    (Document("d1", "the text"),),
    "five",
)


def ids(dataset: Dataset) -> list[str]:
    return [query.id for query in dataset]


@given(st.integers(1, 5), st.integers())
def test_a_sample_is_so_many_queries_in_their_order_and_the_same_again(n: int, seed: int) -> None:
    found = DATASET.sample(n, seed)
    assert ids(found) == [name for name in TAGS if name in ids(found)]
    assert len(found) == n
    assert found == DATASET.sample(n, seed)
    assert (found.documents, found.name) == (DATASET.documents, "five")


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"tags": "ferry"}, "ade"),
        ({"tags": ["hard", "easy"]}, "abe"),
        ({"ids": ["d", "a"]}, "ad"),
        ({"ids": "c"}, "c"),
        ({"tags": ["easy"], "ids": ("a", "e")}, "e"),
    ],
)
def test_what_is_asked_for_is_kept_in_its_order(asked: dict[str, Any], kept: str) -> None:
    found = DATASET.only(**asked)
    assert ids(found) == list(kept)
    assert (found.documents, found.name) == (DATASET.documents, "five")
