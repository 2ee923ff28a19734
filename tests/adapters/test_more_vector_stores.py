"""Chroma, LanceDB, Milvus Lite and PostgreSQL with pgvector, with their own libraries where these are installed.

They are not among the development dependencies: more_vector_stores.txt names them, with the versions that were tried.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sqlalchemy.pool import NullPool

from raglift.adapters.filters import langchain_filter, llama_index_filters
from raglift.records.dataset import Dataset
from raglift.records.filters import Filter
from raglift.records.labels import Fact, Passage, Query
from raglift.running.evaluation import evaluate

from . import stores
from .stores import DIMENSIONS, TEXTS, YEARS, K, Words, documents, index_over, vector_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # what these libraries warn of is theirs
]


def langchain_chroma(folder: Path, distance: str) -> Any:
    pytest.importorskip("chromadb")
    module = pytest.importorskip("langchain_chroma")
    space = {"cosine": "cosine", "l2": "l2", "dot": "ip"}[distance]
    store = module.Chroma(
        "log", Words(), persist_directory=str(folder), collection_configuration={"hnsw": {"space": space}}
    )
    store.add_documents(documents())
    return store.as_retriever(search_kwargs={"k": K})


def llama_chroma(folder: Path, distance: str) -> Any:
    chromadb = pytest.importorskip("chromadb")
    module = pytest.importorskip("llama_index.vector_stores.chroma")
    space = {"cosine": "cosine", "l2": "l2", "dot": "ip"}[distance]
    client = chromadb.PersistentClient(str(folder))
    return index_over(module.ChromaVectorStore(client.create_collection("log", metadata={"hnsw:space": space})))


def langchain_lancedb(folder: Path, distance: str) -> Any:
    pytest.importorskip("lancedb")
    from langchain_community.vectorstores import LanceDB

    store = LanceDB(uri=str(folder), embedding=Words())
    store.add_documents(documents())
    metric = {} if distance == "l2" else {"metrics": distance}
    return store.as_retriever(search_kwargs={"k": K, "prefilter": True} | metric)


def llama_lancedb(folder: Path, distance: str) -> Any:
    pytest.importorskip("lancedb")
    module = pytest.importorskip("llama_index.vector_stores.lancedb")
    store = module.LanceDBVectorStore(uri=str(folder))
    retriever = index_over(store)
    if distance != "l2":
        store.create_index(metric=distance, num_partitions=1, index_type="IVF_FLAT")
    return retriever


def langchain_milvus(folder: Path, distance: str, **more: Any) -> Any:
    pytest.importorskip("milvus_lite")
    module = pytest.importorskip("langchain_milvus")
    metric = {"cosine": "COSINE", "l2": "L2", "dot": "IP"}[distance]
    store = module.Milvus(
        Words(),
        connection_args={"uri": str(folder / "milvus.db")},
        index_params={"metric_type": metric, "index_type": "FLAT"},
        **more,
    )
    store.add_documents(documents())
    return store.as_retriever(search_kwargs={"k": K})


def llama_milvus(folder: Path, distance: str) -> Any:
    pytest.importorskip("milvus_lite")
    module = pytest.importorskip("llama_index.vector_stores.milvus")
    metric = {"cosine": "COSINE", "l2": "L2", "dot": "IP"}[distance]
    uri = str(folder / "milvus.db")
    return index_over(
        module.MilvusVectorStore(uri, dim=DIMENSIONS, similarity_metric=metric, use_async_client=False, overwrite=True)
    )


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """Returns the address of a new database of a PostgreSQL server, which runs until the last test is over."""
    pgserver = pytest.importorskip("pgserver")
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    numbers = count()

    def database() -> str:
        name = f"log{next(numbers)}"
        server.psql(f"CREATE DATABASE {name}")
        server.psql(f"\\c {name}\nCREATE EXTENSION vector")
        return str(server.get_uri(name)).replace("postgresql:", "postgresql+psycopg:")

    yield database
    server.cleanup()


UNPOOLED = {"poolclass": NullPool}
"""No connection is left open after its use."""


def langchain_pgvector(address: str, distance: str) -> Any:
    module = pytest.importorskip("langchain_postgres")
    strategy = {"cosine": "cosine", "l2": "l2", "dot": "inner"}[distance]
    store = module.PGVector(Words(), connection=address, distance_strategy=strategy, engine_args=UNPOOLED)
    store.add_documents(documents())
    return store.as_retriever(search_kwargs={"k": K})


def langchain_pgvector_table(address: str, distance: str) -> Any:
    module = pytest.importorskip("langchain_postgres")
    from langchain_postgres.v2.indexes import DistanceStrategy

    name = {"cosine": "COSINE_DISTANCE", "l2": "EUCLIDEAN", "dot": "INNER_PRODUCT"}[distance]
    engine = module.PGEngine.from_connection_string(address, **UNPOOLED)
    engine.init_vectorstore_table("log", DIMENSIONS, metadata_columns=[module.Column("year", "INTEGER")])
    store = module.PGVectorStore.create_sync(
        engine, Words(), "log", metadata_columns=["year"], distance_strategy=DistanceStrategy[name]
    )
    store.add_documents(documents())
    return store.as_retriever(search_kwargs={"k": K})


def llama_pgvector(address: str, distance: str) -> Any:
    module = pytest.importorskip("llama_index.vector_stores.postgres")
    assert distance == "cosine"  # it has no other
    store = module.PGVectorStore(address, address, "log", embed_dim=DIMENSIONS, create_engine_kwargs=UNPOOLED)
    return index_over(store)


LIBRARIES: dict[str, Callable[[Path, str], Any]] = {
    "LangChain Chroma": langchain_chroma,
    "LlamaIndex Chroma": llama_chroma,
    "LangChain LanceDB": langchain_lancedb,
    "LlamaIndex LanceDB": llama_lancedb,
    "LangChain Milvus": langchain_milvus,
    "LlamaIndex Milvus": llama_milvus,
}
POSTGRES: dict[str, Callable[[str, str], Any]] = {
    "LangChain PGVector": langchain_pgvector,
    "LangChain PGVectorStore": langchain_pgvector_table,
    "LlamaIndex PGVectorStore": llama_pgvector,
}
STORES = [
    (name, distance)
    for name in (*LIBRARIES, *POSTGRES)
    for distance in ("cosine", "l2", "dot")
    if name != "LlamaIndex PGVectorStore" or distance == "cosine"
]
FIRST = [(name, "cosine" if name == "LlamaIndex PGVectorStore" else "l2") for name in (*LIBRARIES, *POSTGRES)]
"""Each store once."""


def retriever_of(name: str, distance: str, request: pytest.FixtureRequest) -> Any:
    if name in POSTGRES:
        return POSTGRES[name](request.getfixturevalue("postgres")(), distance)
    return LIBRARIES[name](request.getfixturevalue("tmp_path"), distance)


def nearest(query: str, distance: str, years: Callable[[int], bool] = lambda year: True) -> list[str]:
    """The texts that are nearest by definition, among those of some years."""
    places = [place for place, year in enumerate(YEARS) if years(year)]
    vectors, asked = np.array([vector_of(TEXTS[place]) for place in places]), np.array(vector_of(query))
    far = {
        "l2": np.linalg.norm(vectors - asked, axis=1),
        "dot": -vectors @ asked,
        "cosine": -vectors @ asked / np.linalg.norm(vectors, axis=1),
    }[distance]
    return [TEXTS[places[number]] for number in np.argsort(far)[:K]]


def question_of(text: str) -> str:
    _, subject, _, verb = text.split()
    return f"What about the {subject} is {verb}"


def dataset(filters: Any = None) -> Dataset:
    return Dataset(
        tuple(
            Query(
                f"q{number}",
                f"What about the {text.split()[1]} is {text.split()[3]}",
                (Fact((Passage(text),)),),
                filter=filters,
            )
            for number, text in enumerate(TEXTS[::7])
        )
    )


FILTERS: list[dict[str, Any]] = [
    {"year": 2021},
    {"year": [2021, 2023]},
    {"year": {"gte": 2022}},
    {"year": {"gt": 2020, "lt": 2023}},
]


def returned(evaluation: Any) -> list[list[str]]:
    return [[hit.chunk.text for hit in trace.stages[0].ranking] for trace in evaluation.run.traces]


def expected_of(data: Dataset, distance: str, written: Any) -> list[list[str]]:
    allowed = Filter.of(written)
    return [nearest(query.text, distance, lambda year: allowed.matches({"year": year})) for query in data]


@pytest.mark.parametrize(("name", "distance"), FIRST)
def test_filters_are_passed_on(name: str, distance: str, request: pytest.FixtureRequest) -> None:
    retriever = retriever_of(name, distance, request)
    for written in FILTERS:
        data = dataset(written)
        evaluation = evaluate(retriever, data, ks=(1, K))
        assert returned(evaluation) == expected_of(data, distance, written)
        assert not [note for note in evaluation.notes if "filter" in note]


@pytest.mark.parametrize(("name", "distance"), FIRST)
def test_a_retrievers_own_filter_holds_as_well(name: str, distance: str, request: pytest.FixtureRequest) -> None:
    retriever, own = retriever_of(name, distance, request), Filter.of({"year": [2020, 2021]})
    if name.startswith("LangChain"):
        place = "expr" if "Milvus" in name else "filter"
        retriever.search_kwargs[place] = langchain_filter(retriever.vectorstore, own)
    else:
        retriever._filters = llama_index_filters(own)
    data = dataset({"year": {"gte": 2021}})
    assert returned(evaluate(retriever, data, ks=(1,))) == expected_of(data, distance, {"year": 2021})


VALUES: list[dict[str, Any]] = [
    {"is_read": True},
    {"is_read": [False]},
    {"keeper": 'O\'Neil "Jack" ünt'},
    {"keeper": ["nobody", 'O\'Neil "Jack" ünt'], "is_read": True},
    {"height": 2.0},
    {"height": {"gt": 1.5}},
]


@pytest.mark.parametrize(("name", "distance"), FIRST)
def test_values_of_every_kind_are_passed_on(
    name: str, distance: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def described(number: int, one: Any) -> Any:
        one.metadata |= {"is_read": number % 2 == 0, "keeper": VALUES[2]["keeper"], "height": number % 4 + 1.0}
        return one

    for module, listed in ((sys.modules[__name__], "documents"), (stores, "nodes")):
        held = [described(number, one) for number, one in enumerate(getattr(stores, listed)())]
        monkeypatch.setattr(module, listed, lambda held=held: held)
    retriever = retriever_of(name, distance, request)
    for written in VALUES:
        if any((name, key) in UNABLE for key in written):
            continue
        evaluation = evaluate(retriever, dataset(written), ks=(1,))
        assert all(len(texts) == K for texts in returned(evaluation)), written


UNABLE = {
    ("LlamaIndex LanceDB", "keeper"),  # it does not double the quotation mark in a text
    ("LlamaIndex PGVectorStore", "keeper"),  # nor does it
    ("LlamaIndex PGVectorStore", "is_read"),  # it compares true with a text or a number
}
"""What the library itself fails on: such queries fail, with what it says."""
