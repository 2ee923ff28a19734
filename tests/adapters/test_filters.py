"""Metadata filters as each vector store of LangChain takes them."""

from __future__ import annotations

from typing import Any

import pytest

from raglift.adapters.filters import both_langchain, langchain_filter
from raglift.types.filters import Filter

FILTER = {"year": {"gte": 2020}, "language": ["de", "en"], "is_read": [True], "height": 2.0, "keeper": 'O\'Neil "J"'}


def store(module: str, **attributes: Any) -> Any:
    """An object whose class comes from a module, as adapters recognise stores."""
    return type("Store", (), {"__module__": module, **attributes})()


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            store("langchain_chroma"),
            {
                "$and": [
                    {"year": {"$gte": 2020}},
                    {"language": {"$in": ["de", "en"]}},
                    {"is_read": True},
                    {"height": 2.0},
                    {"keeper": 'O\'Neil "J"'},
                ]
            },
        ),
        (
            store("langchain_milvus", _metadata_field=None),
            (
                'year >= 2020 and language in ["de", "en"] and is_read == true and height == 2.0 and '
                'keeper == "O\'Neil \\"J\\""'
            ),
        ),
        (
            store("langchain_milvus", _metadata_field="meta"),
            (
                'meta["year"] >= 2020 and meta["language"] in ["de", "en"] and meta["is_read"] == true and '
                'meta["height"] == 2.0 and meta["keeper"] == "O\'Neil \\"J\\""'
            ),
        ),
    ],
    ids=["operators", "Milvus", "Milvus, one field"],
)
def test_a_filter_is_written_as_the_store_takes_it(made: Any, expected: Any) -> None:
    assert langchain_filter(made, Filter.of(FILTER)) == expected


@pytest.mark.parametrize(
    ("own", "added", "expected"),
    [
        (None, {"year": 2020}, {"year": 2020}),
        ({"a": 1}, {"year": 2020}, {"$and": [{"a": 1}, {"year": 2020}]}),
        ("a == 1", "year == 2020", "(a == 1) and (year == 2020)"),
    ],
    ids=["none", "operators", "expressions"],
)
def test_a_retrievers_own_filter_holds_as_well(own: Any, added: Any, expected: Any) -> None:
    assert both_langchain(own, added, Filter.of({"year": 2020})) == expected


def test_a_function_of_metadata_holds_beside_operators() -> None:
    given = Filter.of({"year": {"gte": 2020}, "b": 2})
    both = both_langchain(lambda metadata: metadata["a"] == 1, langchain_filter(store("langchain_faiss"), given), given)
    assert both({"a": 1, "b": 2, "year": 2021})
    assert not both({"a": 0, "b": 2, "year": 2021})
    assert not both({"a": 1, "b": 2, "year": 2019})
