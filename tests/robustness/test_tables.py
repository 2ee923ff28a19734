"""Files of labels as users have them: what is repeated counts once, and who wrote a question is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raglift.datasets import load_dataset
from raglift.errors import DatasetError
from raglift.running.evaluation import evaluate


def table(folder: Path, text: str) -> Path:
    path = folder / "labels.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def faults_of(path: Path, **options: Any) -> str:
    with pytest.raises(DatasetError) as raised:
        load_dataset(path, **options)
    return str(raised.value)


def test_a_grade_of_0_is_judged_irrelevant_and_another_grade_of_the_same_row_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path, "id,query,passage,grade\n1,When?,at noon,0\n1,When?,at noon,1\n")
    assert "labels.csv:3: passage: found the grade 1, for a passage that has 0 in line 2" in faults_of(path)


# What is repeated is one fact: else finding one of two facts would be a recall of 2/3.

LAMP, FOG = "the lamp is lit at dusk", "the horn gives two blasts"


def as_csv(folder: Path) -> Path:
    return table(folder, "id,query,passage\n" + f"1,When?,{LAMP}\n" * 2 + f"1,When?,{FOG}\n")


def as_llama_index(folder: Path) -> Path:
    path = folder / "rag.json"
    path.write_text(json.dumps({"examples": [{"query": "When?", "reference_contexts": [LAMP, LAMP, FOG]}]}))
    return path


def as_pairs(folder: Path) -> Path:
    value = {"queries": {"1": "When?"}, "corpus": {"a": LAMP, "b": FOG}, "relevant_docs": {"1": ["a", "a", "b"]}}
    path = folder / "pairs.json"
    path.write_text(json.dumps(value))
    return path


def autorag(folder: Path, groups: Any) -> Path:
    pq.write_table(pa.table({"qid": ["1"], "query": ["When?"], "retrieval_gt": [groups]}), folder / "qa.parquet")
    pq.write_table(pa.table({"doc_id": ["a", "b"], "contents": [LAMP, FOG]}), folder / "corpus.parquet")
    return folder


def as_autorag(folder: Path) -> Path:
    return autorag(folder, [["a"], ["a", "a"], ["b"]])


FORMS = [as_csv, as_llama_index, as_pairs, as_autorag]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__.removeprefix("as_"))
def test_repeated_labels_are_one_fact(form: Callable[[Path], Path], tmp_path: Path) -> None:
    dataset = load_dataset(form(tmp_path))
    evaluation = evaluate(lambda query: [LAMP], dataset, metrics=["recall@5"], progress=False)
    assert evaluation.scores.mean("retrieve", "recall@5") == 0.5


# LlamaIndex: who wrote a question, and who is not a person.


# A label that nobody can see is none.
