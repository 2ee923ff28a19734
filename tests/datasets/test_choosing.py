from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError, DatasetError
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


@pytest.mark.parametrize(
    ("choose", "kind", "message"),
    [
        (lambda: DATASET.sample(True), ConfigurationError, "n: found True; expected an integer"),
        (lambda: DATASET.sample(2, 1.5), ConfigurationError, "seed: found 1.5; expected an integer"),
        (lambda: DATASET.sample(6), ConfigurationError, "n: found 6; expected 1 to 5, the questions of five"),
        (DATASET.only, ConfigurationError, "found neither tags nor ids"),
        (
            lambda: DATASET.only(tags=["easy", "fery"]),
            ConfigurationError,
            "tags: found 'fery', which no question has; expected one of .*; nearest: \"ferry\"",
        ),
        (
            lambda: DATASET.only(ids="c").only(tags="hard"),
            ConfigurationError,
            "tags: found 'hard', which no question has; expected nothing: there is none",
        ),
        (lambda: DATASET.only(ids=["a", "z"]), DatasetError, 'query id: found "z"'),
        (lambda: DATASET.only(tags="hard", ids="b"), ConfigurationError, "no question with one of the ids and one of"),
    ],
)
def test_what_chooses_nothing_is_refused(choose: Callable[[], Dataset], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        choose()
