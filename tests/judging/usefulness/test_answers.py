"""Answers from a file: read, or every fault at once."""

import pytest

from raglift.errors import DatasetError
from raglift.judging.usefulness_records import read_answers


def test_answers_are_read_by_id(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "q1", "answer": "The keeper."}\n\n{"id": "q2", "answer": "At dusk."}\n')
    assert read_answers(path) == {"q1": "The keeper.", "q2": "At dusk."}


def test_every_fault_is_listed(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(
        '{"id": "q1", "answer": "The keeper."}\n{"id": "q1", "answer": "x"}\n{"id": 7, "answer": " "}\n{"id": "q3"}\n'
        '{"id": "q4", "answer": "x", "anser": 1}\nno\n'
    )
    with pytest.raises(DatasetError) as raised:
        read_answers(path)
    found = [str(fault) for fault in raised.value.faults]
    assert [line.split(": ")[0] + ": " + line.split(": ")[1] for line in found] == [
        "answers.jsonl:2: id",
        "answers.jsonl:3: id",
        "answers.jsonl:3: answer",
        "answers.jsonl:4: answer",
        "answers.jsonl:5: anser",
        "answers.jsonl:6: column 1",
    ]


def test_an_empty_file_and_none_at_all_are_faults(tmp_path):
    (tmp_path / "answers.jsonl").write_text("\n")
    with pytest.raises(DatasetError, match="no answers"):
        read_answers(tmp_path / "answers.jsonl")
    with pytest.raises(DatasetError, match=r"nothing\.jsonl"):
        read_answers(tmp_path / "nothing.jsonl")
