from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.datasets.jsonl import read_queries, write_queries
from raglift.errors import DatasetError
from raglift.types.checking import has_words
from raglift.types.documents import Document
from raglift.types.labels import Annotator, Fact, Passage, Query

DOCUMENTS = (
    Document("tides.md", "High water is at noon.\nLow water is at six."),
    Document("winds é\u2028.md", "The wind is “from” the west.\u2028\x85 Always."),
)
SPAN = Passage("High water", "tides.md", 0, 10)


def written(queries: tuple[Query, ...], folder: Path) -> list[dict[str, Any]]:
    path = write_queries(queries, folder / "queries.jsonl", DOCUMENTS)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def faults_of(query: Query, folder: Path, documents: tuple[Document, ...] = ()) -> str:
    path = folder / "queries.jsonl"
    with pytest.raises(DatasetError, match="nothing was written") as caught:
        write_queries((query,), path, documents)
    assert not path.exists()
    assert not list(folder.iterdir())
    return str(caught.value)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(has_words)


annotators = st.none() | st.builds(Annotator, texts, texts, texts)


@st.composite
def spans(draw: st.DrawFn) -> Passage:
    document = draw(st.sampled_from(DOCUMENTS))
    start = draw(st.integers(0, len(document.text) - 1))
    end = draw(st.integers(start + 1, len(document.text)))
    start, end = (start, end) if has_words(document.text[start:end]) else (0, len(document.text))
    return Passage(document.text[start:end], document.id, start, end)


def passages(grades: st.SearchStrategy[int]) -> st.SearchStrategy[Passage]:
    ids = st.sampled_from([document.id for document in DOCUMENTS])
    forms = st.builds(Passage, texts) | st.builds(Passage, texts, ids) | st.builds(Passage, chunk_id=texts) | spans()
    judged = {"grade": grades, "annotator": annotators}
    return st.builds(replace, forms, **judged)


facts = st.lists(passages(st.integers(1, 1000)), min_size=1, max_size=3).map(lambda found: Fact(tuple(found)))
queries = st.builds(
    Query,
    texts,
    texts,
    st.lists(facts, max_size=3).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
    st.just(True),
    st.lists(passages(st.just(0)), max_size=2).map(tuple),
    annotators,
) | st.builds(Query, texts, texts, answerable=st.just(False))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(queries, min_size=1, max_size=4, unique_by=lambda query: query.id).map(tuple))
def test_what_is_written_is_read_back(given_queries: tuple[Query, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_queries(given_queries, Path(folder) / "queries.jsonl", DOCUMENTS)
        assert read_queries(path, DOCUMENTS) == given_queries


def test_each_form_of_a_label(tmp_path: Path) -> None:
    query = Query(
        "q",
        "Wann ist Hochwasser — hier?",
        (
            Fact((SPAN,)),
            Fact((Passage("noon"), Passage("at six", "tides.md", grade=3), Passage(chunk_id="c7", grade=2))),
        ),
        ("sea",),
        judged_irrelevant=(Passage("west", grade=0), replace(SPAN, grade=0)),
    )
    (line,) = written((query,), tmp_path)
    assert line == {
        "id": "q",
        "query": "Wann ist Hochwasser — hier?",
        "relevant": [
            {"doc": "tides.md", "start": 0, "end": 10},
            ["noon", {"text": "at six", "doc": "tides.md", "grade": 3}, {"chunk": "c7", "grade": 2}],
        ],
        "tags": ["sea"],
        "judged_irrelevant": ["west", {"doc": "tides.md", "start": 0, "end": 10}],
    }
    assert list(line) == ["id", "query", "relevant", "tags", "judged_irrelevant"]
    assert "Wann ist Hochwasser — hier?" in (tmp_path / "queries.jsonl").read_text(encoding="utf-8")


def test_spans_are_resolved_when_the_documents_are_at_hand(tmp_path: Path) -> None:
    other = replace(SPAN, text="Low waters")
    assert "read back as another" in faults_of(Query("q", "When?", (Fact((other,)),)), tmp_path, DOCUMENTS)
    gone = replace(SPAN, doc_id="tide.md")
    assert 'nearest: "tides.md"' in faults_of(Query("q", "When?", (Fact((gone,)),)), tmp_path, DOCUMENTS)


def test_two_queries_of_one_id_are_not_written(tmp_path: Path) -> None:
    twins = (Query("q", "When?"), Query("q", "Who?"))
    with pytest.raises(DatasetError, match=r'\[1\]\.id: found the id "q" of queries\[0\]; expected a unique id'):
        write_queries(twins, tmp_path / "q.jsonl")
    assert not list(tmp_path.iterdir())


def test_an_existing_file_survives_a_fault(tmp_path: Path) -> None:
    path = write_queries((Query("q", "When?"),), tmp_path / "new" / "q.jsonl")
    before = path.read_bytes()
    with pytest.raises(DatasetError):
        write_queries((Query("q", "\ud800"),), path)
    assert path.read_bytes() == before
    write_queries((Query("r", "Who?"),), path)
    assert [query.id for query in read_queries(path)] == ["r"]
    assert [found.name for found in path.parent.iterdir()] == ["q.jsonl"]


def test_without_documents_a_span_brings_its_text(tmp_path: Path) -> None:
    query = Query("q", "When?", (Fact((SPAN, Passage("noon"))),), judged_irrelevant=(replace(SPAN, grade=0),))
    path = write_queries((query,), tmp_path / "q.jsonl")
    value = {"text": "High water", "doc": "tides.md", "start": 0, "end": 10}
    assert json.loads(path.read_text(encoding="utf-8"))["relevant"] == [[value, "noon"]]
    assert read_queries(path) == read_queries(path, DOCUMENTS) == (query,)
