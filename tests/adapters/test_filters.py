"""Metadata filters as each vector store of LangChain takes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from raglift.adapters.filters import both_langchain, langchain_filter, with_llama_index_filters
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
        ("a == 1", {"year": 2020}, {"year": 2020}),
    ],
    ids=["none", "operators", "expressions", "another form"],
)
def test_a_retrievers_own_filter_holds_as_well(own: Any, added: Any, expected: Any) -> None:
    assert both_langchain(own, added, Filter.of({"year": 2020})) == expected


def test_a_function_of_metadata_holds_beside_operators() -> None:
    given = Filter.of({"year": {"gte": 2020}, "b": 2})
    both = both_langchain(lambda metadata: metadata["a"] == 1, langchain_filter(store("langchain_faiss"), given), given)
    assert both({"a": 1, "b": 2, "year": 2021})
    assert not both({"a": 0, "b": 2, "year": 2021})
    assert not both({"a": 1, "b": 2, "year": 2019})


def test_a_filter_of_qdrant_holds_beside_the_retrievers_own() -> None:
    class Conditions:
        def __init__(self, must: list[Any]) -> None:
            self.must = must

    own, added = Conditions(["a"]), Conditions(["year"])
    assert both_langchain(own, added, Filter.of({"year": 2020})).must == [own, added]


@pytest.mark.slow
@pytest.mark.parametrize(("condition", "nested"), [("and", False), ("or", True)])
def test_filters_of_a_llama_index_retriever_hold_as_well(condition: str, nested: bool) -> None:
    from llama_index.core.vector_stores.types import ExactMatchFilter, MetadataFilters

    own = MetadataFilters(filters=[ExactMatchFilter(key=key, value=1) for key in "ab"], condition=condition)
    retriever = SimpleNamespace(_filters=own)
    found = with_llama_index_filters(retriever, Filter.of({"year": 2020}))._filters
    assert (found.filters[0] is own) == nested
    last = found.filters[-1].filters[0] if nested else found.filters[-1]
    assert last.key == "year"
    assert len(found.filters) == (2 if nested else 3)
    assert found.condition == "and"
    assert retriever._filters is own
