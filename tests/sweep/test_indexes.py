"""Vector indexes and dimensions as parts of a sweep's cells, and the table of what they lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from raglift.analysis.tradeoffs import beats
from raglift.components.index_notation import Dimensions, IndexSpec
from raglift.components.retrievers import parse_retriever
from raglift.errors import ConfigurationError, SweepError
from raglift.records.dataset import Dataset
from raglift.records.labels import Fact, Passage, Query
from raglift.rendering.terminal import as_text
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.index_view import index_rows, index_sections
from raglift.sweep.specification import Cell, Sweep

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.sweep.result import SweepResult

CHUNKER = "recursive:60/0"


def sweep(dataset: Any, **fields: Any) -> Sweep:
    return Sweep(dataset=dataset, chunkers=CHUNKER, embeddings="minilm-static", ks=[1, 3], candidates=5, **fields)


def test_indexes_and_dimensions_multiply_the_cells_that_embed(island: Dataset) -> None:
    cells = sweep(
        island, retrievers=["dense", "bm25", "hybrid"], indexes=["flat", "int8"], dimensions=["all", "pca(8)"]
    ).cells()
    assert len(cells) == 4 + 1 + 4
    assert [cell.name for cell in cells if str(cell.retriever) == "dense"] == [
        f"{CHUNKER} · minilm-static · dense · flat · all dimensions · none",
        f"{CHUNKER} · minilm-static · dense · flat · pca(8) · none",
        f"{CHUNKER} · minilm-static · dense · int8 · all dimensions · none",
        f"{CHUNKER} · minilm-static · dense · int8 · pca(8) · none",
    ]
    assert all(Cell.of(cell.to_dict()) == cell for cell in cells)
    assert len({cell.key for cell in cells}) == len(cells)


def test_a_retriever_that_names_its_index_keeps_it(island: Dataset) -> None:
    named = sweep(island, retrievers=["dense", "dense(index=int8,dimensions=8)"], indexes=["flat", "binary"])
    assert [(str(cell.index), str(cell.dimensions)) for cell in named.cells()] == [
        ("flat", "None"),
        ("binary", "None"),
        ("int8", "8"),
    ]
    assert all(cell.retriever == parse_retriever("dense") for cell in named.cells())


def test_cells_without_an_index_are_as_they_were() -> None:
    cell = Cell("recursive:1000/100", "minilm", parse_retriever("dense"))
    assert cell.name == "recursive:1000/100 · minilm · dense · none"
    assert cell.key == "recursive-1000-100-minilm-dense-none-" + cell.key[-8:]
    assert cell.to_dict() == {
        "chunker": "recursive:1000/100",
        "embedding": "minilm",
        "retriever": "dense",
        "reranker": "none",
    }


def test_cells_are_left_out_and_added_by_their_index(island: Dataset) -> None:
    left = sweep(
        island,
        indexes=["flat", "int8"],
        dimensions=[8, 16],
        exclude={"index": "int8", "dimensions": 16},
        include={"chunker": CHUNKER, "embedding": "minilm-static", "index": "binary+rescore", "dimensions": "pca(4)"},
    )
    assert [(str(cell.index), str(cell.dimensions)) for cell in left.cells()] == [
        ("flat", "8"),
        ("flat", "16"),
        ("int8", "8"),
        ("binary+rescore", "pca(4)"),
    ]
    assert Sweep(**{**left.to_dict(), "dataset": island}) == left


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"indexes": "hnws"}, "indexes"),
        ({"indexes": ["flat", "ivf(nlist=-1)"]}, "indexes[1]: found nlist=-1"),
        ({"dimensions": 0}, "dimensions: found 0"),
        ({"dimensions": ["many"]}, "dimensions[0]: found"),
        ({"retrievers": "bm25(index=flat)"}, "retrievers: found an index for 'bm25'"),
        ({"indexes": "flat", "exclude": {"index": "int8"}}, "exclude.index"),
        ({"indexes": []}, "indexes: found an empty list"),
    ],
)
def test_faults_are_told_where_they_are(fields: dict[str, Any], told: str, island: Dataset) -> None:
    with pytest.raises(SweepError) as caught:
        sweep(island, **fields)
    assert told in str(caught.value)


def test_bm25_has_no_index() -> None:
    with pytest.raises(ConfigurationError, match="found the index int8 with bm25; expected it with dense or hybrid"):
        Cell(CHUNKER, None, parse_retriever("bm25"), index=IndexSpec("int8"))


def test_the_name_of_the_field_is_suggested(island: Dataset, tmp_path: Path) -> None:
    from raglift.sweep import load_sweep

    path = tmp_path / "sweep.yaml"
    path.write_text("dataset: lighthouse\nindex: [flat]\n")
    with pytest.raises(SweepError, match=r'expected one of .*"indexes"'):
        load_sweep(path)


@pytest.fixture(scope="module")
def result(island: Dataset, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return sweep(
        island,
        retrievers=["dense", "bm25"],
        indexes=["flat", "int8", "binary", "ivf(nlist=4,nprobe=1)", "pq(m=300)"],
        dimensions=["all", 8],
        rerankers=["none", "late-interaction"],
        exclude={"dimensions": 8, "reranker": "late-interaction"},
    ).run(tmp_path_factory.mktemp("sweep") / "out", progress=False)


@pytest.mark.slow
def test_an_index_that_cannot_be_built_fails_its_cells_alone(result: SweepResult) -> None:
    assert {str(entry.cell.index) for entry in result.failed} == {"pq(m=300)"}
    assert "found m=300 segments" in str(result.failed[0].error)
    assert len(result.finished) == 4 * 3 + 2


@pytest.mark.slow
def test_each_index_has_a_row_whatever_reranks_its_hits(result: SweepResult) -> None:
    rows = index_rows(result)
    assert [row.losses.index for row in rows] == [
        f"{index}, {dimensions}"
        for index in ("flat", "int8", "binary", "ivf(nlist=4,nprobe=1)")
        for dimensions in ("all dimensions", "8 dimensions")
    ]
    flat = rows[0].losses
    assert [(step.lost, step.hits_lost) for step in flat.steps] == [(0, 0)] * 3
    assert all(row.losses.step("together").before == flat.step("together").before for row in rows)
    figures = [
        (row.losses.step("together").after, -row.losses.cost.bytes, row.losses.cost.queries_per_second)
        for row in rows
        if row.losses.cost is not None and row.losses.cost.queries_per_second is not None
    ]
    won = beats(figures).any(axis=0)
    assert [bool(row.beaten_by) for row in rows] == won.tolist()


@pytest.mark.slow
def test_reranked_cells_keep_what_their_index_lost(result: SweepResult) -> None:
    for entry in result.finished:
        if entry.cell.reranker == "none" or entry.cell.index is None:
            continue
        assert entry.evaluation is not None
        wanted = (entry.cell.index, Dimensions(None), "none")
        cells = {(one.cell.index, one.cell.dimensions, one.cell.reranker): one for one in result.finished}
        source = cells[wanted]
        assert source.evaluation is not None
        depth = entry.evaluation.run.spec["candidates"]
        assert entry.evaluation.index_losses().k == depth
        assert (
            entry.evaluation.failure_analysis(3).of("lost_by_index").facts
            == source.evaluation.index_losses(depth).step("index").lost
        )


@pytest.mark.slow
def test_the_table_of_indexes_is_shown_and_read_back(result: SweepResult) -> None:
    (section,) = index_sections(result)
    shown = as_text([*section.paragraphs, *section.tables])
    assert "ivf(nlist=4,nprobe=1) · 8 dimensions" in " ".join(shown.split())
    assert "What the indexes lose" in str(result)
    again = load_sweep_result(result.folder)
    for row, other in zip(index_rows(again), index_rows(result), strict=True):
        assert row.losses.to_frame().equals(other.losses.to_frame())


@pytest.mark.slow
def test_size_and_search_time_are_costs_and_indexes_are_a_part(result: SweepResult) -> None:
    tradeoff = result.pareto()
    assert {"index_bytes", "search_seconds"} <= {*tradeoff.costs}
    assert {"index", "dimensions"} <= {factor.factor for factor in result.effects().factors}


TEXTS = [f"The {thing} of the {place} is {way}." for thing in "ABCDE" for place in "FGHIJ" for way in "KLMN"]


def words_of_store() -> Any:
    """A store of LangChain that looks at every second vector alone, and so loses half of the hits."""
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    class EverySecond(InMemoryVectorStore):
        def _similarity_search_with_score_by_vector(self, embedding: Any, k: int = 4, **given: Any) -> Any:
            found = super()._similarity_search_with_score_by_vector(embedding, len(TEXTS), **given)
            return [hit for hit in found if int(hit[0].id) % 2][:k]

    store = EverySecond(DeterministicFakeEmbedding(size=16))
    store.add_documents([Document(text, id=str(number)) for number, text in enumerate(TEXTS)])
    return store.as_retriever(search_kwargs={"k": 5})


def words_of_function(query: str) -> list[str]:
    """No vector store."""
    return TEXTS[:5]


def test_a_store_of_the_users_is_compared_with_exact_search_where_that_is_asked(tmp_path: Path) -> None:
    queries = tuple(Query(str(number), text, (Fact((Passage(text),)),)) for number, text in enumerate(TEXTS[:8]))
    systems = {
        "store": {"system": words_of_store, "exact": True},
        "unasked": {"system": words_of_store},
        "function": {"system": words_of_function, "exact": True},
    }
    own = Sweep(dataset=Dataset(queries), systems=systems, ks=[5], candidates=5, match="containment")
    assert [each["exact"] for each in own.to_dict()["systems"] if "exact" in each] == [True, True]
    result = own.run(tmp_path / "out", progress=False)
    (failed,) = result.failed
    assert failed.cell.system == "function"
    assert "exact: found" in str(failed.error)
    (row,) = index_rows(load_sweep_result(tmp_path / "out"))
    assert row.cell == "store · none"
    together = row.losses.step("together")
    assert (together.before, together.after, together.lost) == (8, 4, 4)
    assert "over the vectors of the store" in str(result)


def test_exact_is_true_or_false() -> None:
    with pytest.raises(SweepError, match=r'systems\.mine\.exact: found "yes"; expected true or false'):
        Sweep(dataset="lighthouse", systems={"mine": {"system": "a:b", "exact": "yes"}})
