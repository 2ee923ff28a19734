from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from raglift.datasets.formats.catalogue import recognize_format
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, CorpusError, DatasetError


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("beir", "beir"),
        ("hub", "hf"),
        ("trec", "trec"),
        ("squad/dev-v2.0.json", "squad"),
        ("csv/labels.csv", "rows"),
        ("autorag", "autorag"),
        ("autorag/qa.parquet", "autorag"),
        ("llama-index/rag_dataset.json", "llama-index"),
        ("llama-index/qa_dataset.json", "llama-index"),
        ("beir/queries.jsonl", "jsonl"),
        ("beir/qrels/test.tsv", "rows"),
        ("beir/qrels", None),
        ("nowhere", None),
    ],
)
def test_a_format_is_told_by_its_layout(source: str, name: str | None, fixtures: Path) -> None:
    assert recognize_format(fixtures / source, {}) == name


def test_topics_and_columns_tell_it_too(fixtures: Path) -> None:
    qrels = fixtures / "beir" / "qrels" / "test.tsv"
    assert recognize_format(qrels, {"topics": "topics.txt"}) == "trec"
    assert recognize_format(qrels, {"columns": {"question": "query-id"}}) == "rows"


def test_other_names_and_layouts(fixtures: Path, tmp_path: Path) -> None:
    assert recognize_format("hf:mteb/scifact", {}) == "hf"  # type: ignore[arg-type]
    (tmp_path / "labels.dat").touch()
    assert recognize_format(tmp_path / "labels.dat", {"columns": {"question": "q"}}) == "rows"
    for name in ("corpus", "queries"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test.parquet").touch()
    assert recognize_format(tmp_path, {}) == "hf"
    with pytest.raises(DatasetError, match=r"found no such file or folder; expected a dataset in BEIR"):
        load_dataset(tmp_path / "nowhere", format="beir")


def test_a_folder_with_the_files_of_two_formats(fixtures: Path, tmp_path: Path) -> None:
    shutil.copytree(fixtures / "beir", tmp_path / "both")
    shutil.copy(fixtures / "autorag" / "qa.parquet", tmp_path / "both")
    with pytest.raises(ConfigurationError, match="expected format='beir', format='autorag'"):
        load_dataset(tmp_path / "both")
    assert len(load_dataset(tmp_path / "both", format="beir").documents) == 5
    assert len(load_dataset(tmp_path / "both", format="autorag").documents) == 0


def test_json_of_no_known_shape(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"rows": []}', encoding="utf-8")
    with pytest.raises(DatasetError, match='found an object with "rows"; expected a list of records'):
        load_dataset(path)


def test_options_belong_to_formats(fixtures: Path) -> None:
    with pytest.raises(ConfigurationError, match="split= with format 'trec'; expected documents, topics"):
        load_dataset(fixtures / "trec", split="dev")
    with pytest.raises(ConfigurationError, match='nearest: "split"'):
        load_dataset(fixtures / "beir", splits="dev")  # type: ignore[call-arg]
    with pytest.raises(ConfigurationError, match="found split with a corpus of raglift's"):
        load_dataset("lighthouse", split="dev")
    with pytest.raises(CorpusError, match="no such file or folder"):
        load_dataset("lighthous", split="dev")
    with pytest.raises(ConfigurationError, match=r"format: found 'bier'.*nearest"):
        load_dataset(fixtures / "beir", format="bier")  # type: ignore[arg-type]
