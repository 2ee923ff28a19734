from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from raglift.datasets.loading import load_dataset
from raglift.types.labels import Fact, Passage


@pytest.fixture
def folder(fixtures: Path, tmp_path: Path) -> Path:
    """A copy that a test can damage."""
    return Path(shutil.copytree(fixtures / "beir", tmp_path / "beir"))


def append(path: Path, *lines: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")


def test_a_folder_is_recognized_and_read(fixtures: Path) -> None:
    dataset = load_dataset(fixtures / "beir")
    assert (dataset.name, len(dataset.documents)) == ("beir", 5)
    season, oysters = dataset.document_by_id["18670"], dataset.document_by_id["4983"]
    assert season.text.startswith("Closed seasons in British fisheries A closed season keeps")
    assert oysters.metadata == {"url": "https://example.org/oysters", "title": "Oyster beds of the Marrow estuary"}
    assert dataset.query("1").facts == (
        Fact((Passage(season.text, "18670", 0, len(season.text), grade=2),)),  # the score
        Fact((Passage(oysters.text, "4983", 0, len(oysters.text)),)),
    )
    assert [passage.doc_id for passage in dataset.query("1").judged_irrelevant] == ["5836"]  # score 0


def test_a_judged_document_without_words_is_labelled_by_its_id(fixtures: Path) -> None:
    query = load_dataset(fixtures / "beir").query("3")
    assert query.judged_irrelevant == (Passage(chunk_id="19238", grade=0),)
    assert query.tags == ("claim",)


def test_queries_of_other_splits_are_left_out_and_unjudged_ones_unlabelled(fixtures: Path) -> None:
    assert [query.id for query in load_dataset(fixtures / "beir")] == ["1", "3", "9"]  # 5 is judged in train
    train = load_dataset(fixtures / "beir", split="train")
    assert [(query.id, query.is_labelled) for query in train] == [("5", True), ("9", False)]


def test_every_fault_is_located(folder: Path, faults: Callable[..., str]) -> None:
    append(
        folder / "corpus.jsonl", '{"_id": "4983", "text": "again"}', '{"_id": 7, "title": 3, "text": "x"}', "{", "[]"
    )
    append(folder / "corpus.jsonl", '{"_id": "8"}', '{"text": "x"}', '{"_id": "9", "text": "x", "metadata": []}')
    append(folder / "queries.jsonl", '{"_id": "1", "text": "again"}', '{"_id": "x"}', '{"_id": "y", "text": ""}')
    append(
        folder / "qrels" / "test.tsv", "1\t18670\t3", "2\t4983\t1", "1\t77\t1", "1\t4983", "1\t4983\thigh", "1\t4983\t1"
    )
    message = faults(folder)
    for expected in (
        "beir (read as BEIR): 15 faults;",
        'corpus.jsonl:6: found the id "4983" of corpus.jsonl:1; expected a unique id',
        "corpus.jsonl:7: title: found 3; expected a text",
        "corpus.jsonl:8: column 2: found the end of the line",
        "corpus.jsonl:9: found a list of 0; expected a JSON object",
        "corpus.jsonl:10: text: found no such field",
        "corpus.jsonl:11: _id: found no such field",
        "corpus.jsonl:12: metadata: found a list of 0; expected an object",
        'queries.jsonl:5: found the id "1" of queries.jsonl:1',
        "queries.jsonl:6: text: found no such field",
        "queries.jsonl:7: text: found an empty text",
        'qrels/test.tsv:7: found the grade 3 for "18670", which has 2 on line 2',
        'qrels/test.tsv:8: found the unknown query id "2"; expected an id of queries',
        'qrels/test.tsv:9: found the unknown document id "77"; expected an id of corpus',
        "qrels/test.tsv:10: found 2 cells; expected 3",
        'qrels/test.tsv:11: score: found "high"; expected an integer',
    ):
        assert expected in message


def test_what_is_missing_is_named(folder: Path, faults: Callable[..., str]) -> None:
    assert 'found no split "dev"; expected split= one of "test", "train"' in faults(folder, split="dev")
    (folder / "corpus.jsonl").unlink()
    assert "found no corpus among" in faults(folder, format="beir")
    texts = {doc_id: f"text {doc_id}" for doc_id in ("18670", "4983", "5836", "7912", "19238")}
    given = load_dataset(folder, format="beir", documents=texts)
    assert given.query("3").facts == (Fact((Passage("text 7912", "7912", 0, 9),)),)
    (folder / "qrels" / "test.tsv").write_text("1\t4983\t2\n3\t4983\t1\n", encoding="utf-8")
    message = faults(folder, format="beir", documents=texts)
    assert 'qrels/test.tsv:1: found the columns "1", "4983", "2"; expected query-id, corpus-id, score' in message
