"""Nuggets in raglift's own files, and AutoNuggetizer's."""

import json
from pathlib import Path

import pytest

from raglift.datasets.formats.catalogue import write_dataset
from raglift.datasets.loading import load_dataset
from raglift.errors import DatasetError
from raglift.records.dataset import Dataset
from raglift.records.labels import Fact, Passage, Query
from raglift.running.options import dataset_hash

LAMP = "The lamp burns whale oil"


def own(folder: Path, *relevant: object) -> Path:
    path = folder / "queries.jsonl"
    path.write_text(json.dumps({"id": "q", "query": "How?", "relevant": list(relevant)}) + "\n", encoding="utf-8")
    return path


def test_a_fact_as_an_object(tmp_path: Path) -> None:
    given = {"nugget": LAMP, "importance": "okay", "weight": 0.7, "passages": [LAMP, {"chunk": "c", "partial": True}]}
    (query,) = load_dataset(own(tmp_path, given, "other words"))
    assert query.facts == (
        Fact((Passage(LAMP), Passage(chunk_id="c", partial=True)), "okay", 0.7, LAMP),
        Fact((Passage("other words"),)),
    )
    folder = write_dataset(Dataset((query,)), tmp_path / "again")
    assert json.loads((folder / "queries.jsonl").read_text(encoding="utf-8"))["relevant"] == [given, "other words"]
    assert load_dataset(folder).queries == (query,)


@pytest.mark.parametrize(
    ("fact", "field", "found"),
    [
        ({"importance": "nice", "passages": ["a b"]}, "importance", '"nice"'),
        ({"weight": 0, "passages": ["a b"]}, "weight", "0"),
        ({"weight": True, "passages": ["a b"]}, "weight", "true"),
        ({"importance": "vital"}, "passages", "null"),
        ({"importance": "vital", "passages": []}, "passages", "an empty list"),
        ({"importance": "vital", "passages": ["a b"], "grade": 2}, "grade", "grade"),
        ({"text": "a b", "partial": "yes"}, "partial", '"yes"'),
    ],
)
def test_a_fact_that_is_none_is_a_fault_with_its_place(fact, field, found, tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as raised:
        load_dataset(own(tmp_path, fact))
    (fault,) = raised.value.faults
    assert field in fault.where
    assert found in fault.found


@pytest.mark.parametrize(
    "fields", [{"importance": "nice"}, {"weight": -1.0}, {"weight": float("nan")}, {"nugget": " "}], ids=str
)
def test_a_fact_in_python_is_checked_likewise(fields) -> None:
    with pytest.raises(DatasetError):
        Fact((Passage("a b"),), **fields)


def test_other_labels_keep_their_hash_and_nuggets_have_their_own() -> None:
    plain = Dataset((Query("q", "How?", (Fact((Passage(LAMP),)),)),))
    assert dataset_hash(plain) == "1d566eebd97cb921"
    for fields in ({"importance": "vital"}, {"weight": 2.0}, {"nugget": "it burns oil"}):
        assert dataset_hash(Dataset((Query("q", "How?", (Fact((Passage(LAMP),), **fields),)),))) != dataset_hash(plain)
    partial = Dataset((Query("q", "How?", (Fact((Passage(LAMP, partial=True),)),)),))
    assert dataset_hash(partial) != dataset_hash(plain)


def test_a_format_without_a_place_for_them_says_so(tmp_path: Path) -> None:
    dataset = Dataset((Query("q", "How?", (Fact((Passage(LAMP),), "okay"),)),))
    with pytest.raises(DatasetError, match="nuggets"):
        write_dataset(dataset, tmp_path / "labels.csv", format="csv")
    path = write_dataset(dataset, tmp_path / "labels.csv", format="csv", drop=("nuggets",))
    assert load_dataset(path).queries[0].facts == (Fact((Passage(LAMP),)),)


# AutoNuggetizer's files.


def test_nuggets_are_facts_of_their_own_words(fixtures: Path, tmp_path: Path) -> None:
    dataset = load_dataset(fixtures / "nuggets" / "nuggets.jsonl")
    first, second = dataset
    assert (first.id, first.text, len(first.facts), second.id) == ("2024-1", "How is the lamp kept?", 4, "2024-2")
    assert first.facts[0] == Fact((Passage(LAMP),), "vital", nugget=LAMP)
    assert first.facts[2].importance == "okay"
    path = write_dataset(dataset, tmp_path / "written.jsonl", format="nuggets")
    assert path.read_text(encoding="utf-8") == (fixtures / "nuggets" / "nuggets.jsonl").read_text(encoding="utf-8")


def test_segments_that_support_a_nugget_are_its_evidence(fixtures: Path) -> None:
    first, second = load_dataset(fixtures / "nuggets" / "assigned.jsonl")
    assert [fact.passages for fact in first.facts] == [
        (Passage(chunk_id="seg#1"),),
        (Passage(chunk_id="seg#1", partial=True),),
        (Passage(chunk_id="seg#2", partial=True),),
        (Passage("Its light is seen for twelve miles"),),  # no segment supports it: it counts as missed
    ]
    assert first.judged_irrelevant == (Passage(chunk_id="seg#3", grade=0),)
    assert second.judged_irrelevant == (Passage(chunk_id="seg#9", grade=0),)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"nuggets": [{"text": "a", "importance": "must"}]}, "importance"),
        ({"nuggets": [{"text": "a", "importance": "vital", "assignment": "yes"}]}, "assignment"),
        ({"nuggets": [{"text": "a", "importance": "vital", "assignment": "support"}]}, "docid"),
        ({"nuggets": "none"}, "nuggets"),
        ({"qid": None}, "qid"),
        ({"query": 3}, "query"),
    ],
)
def test_faults_of_nugget_files_name_their_place(change, field, tmp_path: Path) -> None:
    line = {"qid": "1", "query": "How?", "nuggets": [{"text": "a", "importance": "vital"}]} | change
    path = tmp_path / "nuggets.jsonl"
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(DatasetError) as raised:
        load_dataset(path, format="nuggets")
    assert any(field in fault.where for fault in raised.value.faults)
