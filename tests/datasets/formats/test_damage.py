"""Whatever is in a file, reading it ends with a dataset or with an error that says what is wrong."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.datasets.loading import load_dataset
from raglift.errors import DatasetError, Fault
from raglift.records.dataset import Dataset

FIXTURES = Path(__file__).parents[1] / "fixtures"
COLUMNS = {"id": "No.", "question": "Question", "passage": "Evidence", "doc": "Source", "grade": "Helps"}
FILES: list[tuple[str, str, dict[str, Any]]] = [
    ("beir", "corpus.jsonl", {"format": "beir"}),
    ("beir", "queries.jsonl", {"format": "beir"}),
    ("beir", "qrels/test.tsv", {"format": "beir"}),
    ("hub", "corpus.jsonl", {"format": "hf"}),
    ("hub", "README.md", {"format": "hf"}),
    ("hub", "qrels/test.jsonl", {"format": "hf"}),
    ("trec", "qrels.txt", {"format": "trec"}),
    ("trec", "topics.tsv", {"format": "trec"}),
    ("trec", "topics.jsonl", {"format": "trec", "topics": "topics.jsonl"}),
    ("trec", "topics.301-303.txt", {"format": "trec", "topics": "topics.301-303.txt"}),
    ("squad", "dev-v2.0.json", {"format": "squad"}),
    ("csv", "labels.csv", {"format": "rows", "columns": {**COLUMNS, "ignore": "Group"}}),
    ("llama-index", "rag_dataset.json", {"format": "llama-index"}),
    ("llama-index", "qa_dataset.json", {"format": "llama-index"}),
    ("ragas", "testset.csv", {"format": "ragas"}),
    ("ragas", "evaluation.json", {"format": "ragas"}),
    ("langsmith", "examples.jsonl", {"format": "langsmith"}),
    ("langfuse", "items.json", {"format": "langfuse"}),
]
PIECES = (
    b"",
    b"\n",
    b"\r",
    b"\t",
    b"\0",
    b'"',
    b"{",
    b"[]",
    b"null",
    b"-1",
    b"1e999",
    b"\xff",
    b"<top>",
    b";",
    b" ",
    b"NaN",
)


@pytest.mark.filterwarnings("ignore::raglift.errors.LabelWarning")
@pytest.mark.parametrize(("folder", "name", "options"), FILES, ids=[name for _, name, _ in FILES])
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_is_no_crash(folder: str, name: str, options: dict[str, Any], data: st.DataObject) -> None:
    content = (FIXTURES / folder / name).read_bytes()
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(begin, min(len(content), begin + 40)))
        content = content[:begin] + data.draw(st.sampled_from(PIECES) | st.binary(max_size=3)) + content[end:]
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(shutil.copytree(FIXTURES / folder, Path(temporary) / folder))
        (copy / name).write_bytes(content)
        given_options = {**options, "topics": copy / options["topics"]} if "topics" in options else options
        faults, dataset = load(copy if folder in ("beir", "hub", "trec") else copy / name, given_options)
    assert all(fault.where and fault.found and fault.expected for fault in faults)
    if dataset is not None:
        assert len({query.id for query in dataset}) == len(dataset) > 0
        assert all(query.text.strip() for query in dataset)
        assert all(fact.passages for query in dataset for fact in query.facts)
    else:
        assert faults


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qa.parquet", "corpus.parquet"])
def test_damaged_parquet_is_no_crash(name: str, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(FIXTURES / "autorag", tmp_path / "autorag"))
    content = (copy / name).read_bytes()
    refused = 0
    for seed in range(150):
        chance = np.random.default_rng(seed)
        damaged = bytearray(content)
        for offset in chance.integers(len(damaged), size=chance.integers(1, 5)):
            damaged[offset] = chance.integers(256)
        (copy / name).write_bytes(damaged)
        faults, dataset = load(copy, {})
        assert bool(faults) == (dataset is None)
        refused += bool(faults)
    assert refused > 50


def load(source: Path, options: dict[str, Any]) -> tuple[tuple[Fault, ...], Dataset | None]:
    """Return the dataset, or what is wrong with it; anything but a DatasetError is an error of the test."""
    try:
        return (), load_dataset(source, **options)
    except DatasetError as error:
        return error.faults, None
