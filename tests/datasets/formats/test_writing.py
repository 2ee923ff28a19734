from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.datasets.formats.writing import write_dataset
from raglift.datasets.loading import load_dataset
from raglift.errors import DatasetError, LabelWarning
from raglift.types.checking import has_words
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Annotator, Fact, Passage, Query, distinct_facts

SOURCES: list[tuple[str, dict[str, Any]]] = [
    ("beir", {}),
    ("trec", {}),
    ("squad/dev-v2.0.json", {}),
    ("autorag", {}),
    ("llama-index/qa_dataset.json", {}),
    ("ragas/testset.csv", {}),
]


@pytest.mark.parametrize(("source", "options"), SOURCES)
def test_every_dataset_fits_raglifts_own_folder(
    source: str, options: dict[str, Any], fixtures: Path, tmp_path: Path
) -> None:
    dataset = load_dataset(fixtures / source, name="own", **options)
    path = write_dataset(dataset, tmp_path / "own")
    assert load_dataset(path) == dataset
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("source", ["beir", "hub", "trec"])
def test_whole_documents_fit_beir(source: str, fixtures: Path, tmp_path: Path) -> None:
    dataset = load_dataset(fixtures / source, name="d")
    assert load_dataset(write_dataset(dataset, tmp_path / "beir", format="beir"), name="d") == dataset


DOCUMENT = Document("tides.md", "High water is at noon. Low water is at six.")
SPAN = Passage("High water", "tides.md", 0, 10)
WHOLE = Passage(DOCUMENT.text, "tides.md", 0, len(DOCUMENT.text))
LITERAL = Passage("water")
JUDGE = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")


def dataset_of(*facts: Fact, **fields: Any) -> Dataset:
    return Dataset((Query("q1", "When?", facts, **fields),), (DOCUMENT,), "tides")


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (dataset_of(Fact((SPAN,))), "found a text, a span or a chunk id; expected a whole document, as BEIR has it"),
        (dataset_of(Fact((WHOLE, LITERAL))), "a fact with 2 alternatives"),
        (dataset_of(Fact((WHOLE,)), Fact((replace(WHOLE, grade=2),))), "relevant[1]: found a document of this query"),
        (replace(dataset_of(), documents=()), "documents: found none"),
        (replace(dataset_of(Fact((Passage(chunk_id="c1"),))), documents=()), "documents: found none"),
        (Dataset((Query("q", "\ud800"),), (DOCUMENT,)), "queries: [0].query: found"),
        (dataset_of(filter={"year": 1871}), "filter: found"),
        (dataset_of(answerable=False), "answerable: found false"),
        (Dataset((Query("q\t1", "When?"),), (DOCUMENT,)), "expected an id without tabs and line ends"),
        (Dataset((Query("q", "When?"),), (Document("a\nb", "x"),)), "documents: [0].id"),
    ],
)
def test_what_beir_cannot_hold_is_not_written(dataset: Dataset, message: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="nothing was written") as caught:
        write_dataset(dataset, tmp_path / "out", format="beir")
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["jsonl", "beir"])
def test_metadata_that_json_would_not_give_back(name: Any, tmp_path: Path) -> None:
    dataset = Dataset((Query("q", "When?"),), (replace(DOCUMENT, metadata={"pair": (1, 2)}),))
    with pytest.raises(DatasetError, match=r"documents: \[0\]\.metadata: found \"pair\""):
        write_dataset(dataset, tmp_path / "out", format=name)


def test_beir_has_no_place_for_annotators(tmp_path: Path) -> None:
    signed = dataset_of(Fact((replace(WHOLE, annotator=JUDGE),)), annotator=JUDGE)
    with pytest.warns(LabelWarning, match="BEIR has no place for who gave labels"):
        path = write_dataset(signed, tmp_path / "tides", format="beir")
    assert load_dataset(path) == dataset_of(Fact((WHOLE,)))
    assert load_dataset(write_dataset(signed, tmp_path / "own" / "tides")) == signed


def test_nothing_that_is_there_is_replaced(tmp_path: Path) -> None:
    dataset = dataset_of(Fact((SPAN,)))
    path = write_dataset(dataset, tmp_path / "new" / "own")
    with pytest.raises(DatasetError, match="something there already; expected a new or empty folder"):
        write_dataset(dataset, path)
    (tmp_path / "empty").mkdir()
    assert load_dataset(write_dataset(dataset, tmp_path / "empty"), name="tides") == dataset
    (tmp_path / "file").write_text("", encoding="utf-8")
    for target, message in (("file", "something there already"), ("file/folder", "cannot be written")):
        with pytest.raises(DatasetError, match=message):
            write_dataset(dataset, tmp_path / target)


# Everything that separates, quotes or encodes something in one of the formats
SPECIAL = "aB9 é;,|\t\n\r\"'\\\\{}<>[]&#=\u2028\ufeff\U0001f40b"


def words(without: str = "") -> st.SearchStrategy[str]:
    special = st.sampled_from([letter for letter in SPECIAL if letter not in without])
    others = st.characters(exclude_categories=["Cs"], exclude_characters="\0" + without)
    return st.text(special | others, min_size=1, max_size=12).filter(has_words)


@st.composite
def datasets(draw: st.DrawFn, kind: str) -> Dataset:
    """Datasets that a format can hold."""
    names = words("\t\r\n") if kind == "beir" else words()
    ids = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    documents = tuple(Document(doc_id, draw(words())) for doc_id in ids)

    def passage() -> Passage:
        document = draw(st.sampled_from(documents))
        whole = Passage(document.text, document.id, 0, len(document.text))
        text = Passage(draw(words()))
        others = [whole, text, replace(text, doc_id=document.id), Passage(chunk_id=draw(words()))]
        return replace(draw(st.sampled_from(others)) if kind == "jsonl" else whole, grade=draw(st.integers(1, 3)))

    def fact() -> Fact:
        return Fact(tuple(dict.fromkeys(passage() for _ in range(draw(st.integers(1, 3 if kind == "jsonl" else 1))))))

    queries = []
    for query_id in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        most = 2 if kind == "jsonl" else 1
        facts = distinct_facts(fact().passages for _ in range(draw(st.integers(0, most))))
        queries.append(Query(query_id, draw(words()), facts))
    return Dataset(tuple(queries), documents, "d")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl", "beir"])
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_dataset_that_fits_is_read_back(kind: Any, data: st.DataObject) -> None:
    dataset = data.draw(datasets(kind))
    with tempfile.TemporaryDirectory() as folder:
        assert load_dataset(write_dataset(dataset, Path(folder) / "written", format=kind), name="d") == dataset
