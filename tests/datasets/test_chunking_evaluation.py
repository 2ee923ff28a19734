from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.datasets.formats.chunking_evaluation import is_chunking_evaluation, read_chunking_evaluation
from raglift.errors import DatasetError

LAMP = "# Lamp\n\nThe lamp was lit at dusk.\nIt burned until “dawn”, with two wicks.\n"
HORN = "The horn is blown every ninety seconds, in fog, day and night."


def reference(text: str, quote: str) -> dict[str, Any]:
    start = text.index(quote)
    return {"content": quote, "start_index": start, "end_index": start + len(quote)}


LIT = reference(LAMP, "The lamp was lit at dusk.")
BURNED = reference(LAMP, "dusk.\nIt burned until “dawn”, with two")
BLOWN = reference(HORN, "every ninety seconds")


def write(folder: Path, rows: list[tuple[str, Any, str]], header: str = "question,references,corpus_id") -> Path:
    (folder / "corpora").mkdir(parents=True)
    (folder / "corpora" / "lamp.md").write_text(LAMP, encoding="utf-8")
    (folder / "corpora" / "horn.md").write_text(HORN, encoding="utf-8")
    with (folder / "questions_df.csv").open("w", encoding="utf-8", newline="") as file:
        file.write(header + "\n")
        for question, references, corpus in rows:
            cell = references if isinstance(references, str) else json.dumps(references)
            csv.writer(file, lineterminator="\n").writerow([question, cell, corpus])
    return folder


def faults_of(folder: Path) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        read_chunking_evaluation(folder)
    return [str(fault) for fault in caught.value.faults]


def test_each_reference_is_a_fact_with_its_place(tmp_path: Path) -> None:
    rows = [
        ("When, and until when?", [LIT, BURNED], "lamp"),
        ("How often?", [BLOWN], "horn"),
        ('A "quoted"\nquestion?', [LIT], "lamp"),
    ]
    data = read_chunking_evaluation(write(tmp_path / "tiny", rows))
    assert data.name == "tiny"
    assert [document.id for document in data.documents] == ["horn.md", "lamp.md"]
    assert [query.id for query in data] == ["lamp-1", "horn-1", "lamp-2"]
    assert [query.tags for query in data] == [("lamp",), ("horn",), ("lamp",)]
    assert data.queries[2].text == 'A "quoted"\nquestion?'
    assert [len(query.facts) for query in data] == [2, 1, 1]
    passages = [passage for fact in data.queries[0].facts for passage in fact.passages]
    assert [(p.text, p.doc_id, p.start, p.end) for p in passages] == [
        (LIT["content"], "lamp.md", LIT["start_index"], LIT["end_index"]),
        (BURNED["content"], "lamp.md", BURNED["start_index"], BURNED["end_index"]),
    ]


def test_load_dataset_knows_the_layout(tmp_path: Path) -> None:
    folder = write(tmp_path / "tiny", [("How often?", [BLOWN], "horn")])
    assert is_chunking_evaluation(folder)
    assert not is_chunking_evaluation(tmp_path)
    assert rl.load_dataset(folder) == read_chunking_evaluation(folder)
    assert rl.load_dataset(folder, name="Horns").name == "Horns"


def test_the_texts_may_be_given(tmp_path: Path) -> None:
    folder = write(tmp_path / "tiny", [("How often?", [BLOWN], "horn")])
    assert rl.load_dataset(folder, documents={"horn.md": HORN}).documents == (rl.Document("horn.md", HORN),)
    with pytest.raises(DatasetError, match=r"as horn\.md has it"):
        rl.load_dataset(folder, documents={"horn.md": "When in doubt, the horn is blown every ninety seconds."})


def test_every_fault_is_listed_with_its_row_and_field(tmp_path: Path) -> None:
    rows = [
        ("What?\nOver two lines", [{**LIT, "start_index": LIT["start_index"] + 1}], "lamp"),
        ("How often?", [BLOWN], "hron"),
        ("", "[{]", "lamp"),
        ("What?", {"content": "x"}, "lamp"),
        ("What?", [LIT, "x", {**LIT, "end_index": 10_000}, {**LIT, "start_index": "8"}], "lamp"),
        ("What?", [{"content": "x", "start": 3}, {**LIT, "extra": 1}, {**LIT, "start_index": -1}], "lamp"),
    ]
    faults = faults_of(write(tmp_path, rows))
    where = [fault.split(": found")[0].removeprefix("questions_df.csv:") for fault in faults]
    assert where == [
        "2: references[0].content",
        "4: corpus_id",
        "5: references",
        "5: question",
        "6: references",
        "7: references[1]",
        "7: references[2]",
        "7: references[3].start_index",
        "8: references[0].start_index",
        "8: references[0].end_index",
        "8: references[0].start",
        "8: references[1].extra",
        "8: references[2].start_index",
    ]
    assert 'expected "he lamp was lit at dusk.", as lamp.md has it from 9 to 33' in faults[0]
    assert 'nearest: "horn"' in faults[1]
    assert "0 ≤ start < end ≤ 74, the length of lamp.md" in faults[6]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("question,references\nWhat?,[]\n", 'questions_df.csv:1: found the columns "question", "references"'),
        ("", "questions_df.csv:1: found the columns (none)"),
        ("question,references,corpus_id\n", "found no questions"),
        ("question,references,corpus_id\nWhat?,[],lamp,4\n", "questions_df.csv:2: found 4 columns; expected 3"),
        ('question,references,corpus_id\n\nWhat?,"[],lamp\n', "questions_df.csv:3: found a row that is not CSV"),
        ("question,references,corpus_id\nWhat?,[],\x00\n", "NUL byte"),
    ],
)
def test_a_file_that_is_no_table_of_questions_is_a_fault(tmp_path: Path, content: str, message: str) -> None:
    folder = write(tmp_path, [])
    (folder / "questions_df.csv").write_text(content, encoding="utf-8", newline="")
    assert message in faults_of(folder)[0]


def test_missing_files_are_faults(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such file or folder"):
        read_chunking_evaluation(tmp_path)
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "lamp.md").write_text(LAMP, encoding="utf-8")
    assert "no readable file" in faults_of(tmp_path)[0]


def test_the_benchmarks_own_files_are_read_whole(corpora_folder: Path) -> None:
    folder = corpora_folder / "chunking_evaluation"
    if not is_chunking_evaluation(folder):
        pytest.skip(f"no chunking evaluation at {folder}")
    data = rl.load_dataset(folder)
    assert (len(data), sum(len(query.facts) for query in data), len(data.documents)) == (472, 790, 5)
