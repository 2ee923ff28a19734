from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import raglift as rl

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[1] / "datasets" / "fixtures"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def convert(run: Run) -> Run:
    """Run `raglift labels convert`."""
    return partial(run, "labels", "convert")


def test_json_says_what_was_written(convert: Run, tmp_path: Path) -> None:
    _, out, _ = convert(FIXTURES / "beir", "-o", tmp_path / "beir", "--json")
    written = {"path": str(tmp_path / "beir"), "read_as": "beir", "format": "jsonl", "queries": 3, "documents": 5}
    assert json.loads(out) == {**written, "notes": []}


def test_from_one_format_to_another_and_back(convert: Run, tmp_path: Path) -> None:
    assert convert(FIXTURES / "beir", "-o", tmp_path / "own")[0] == 0
    assert convert(tmp_path / "own", "-o", tmp_path / "back", "--from", "jsonl", "--to", "beir")[0] == 0
    facts = [query.facts for query in rl.load_dataset(FIXTURES / "beir")]
    assert [query.facts for query in rl.load_dataset(tmp_path / "back")] == facts


def test_what_the_formats_need(convert: Run, tmp_path: Path) -> None:
    trec = FIXTURES / "trec"
    arguments = ("--topics", trec / "topics.tsv", "--documents", trec / "documents.jsonl")
    assert "3 questions and 3 documents" in convert(trec / "qrels.txt", "-o", tmp_path / "trec", *arguments)[1]
    columns = ("--column", "question=Question", "--column", "passage=Evidence", "--delimiter", ";")
    columns += tuple(part for name in ("No.", "Source", "Helps", "Group") for part in ("--column", f"ignore={name}"))
    assert convert(FIXTURES / "csv" / "labels.csv", "-o", tmp_path / "csv", *columns)[0] == 0
    assert len(rl.load_dataset(tmp_path / "csv").query("q1").facts) == 2
    assert convert(FIXTURES / "beir", "-o", tmp_path / "train", "--split", "train")[0] == 0
    assert rl.load_dataset(tmp_path / "train").queries[0].id == "5"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "beer"), "found 'beer', which is not written; expected one of 'jsonl', 'beir'"),
        (("--from", "beer"), 'nearest: "beir"'),
        (("--to", "beir"), "a fact with 2 alternatives"),
        (("--column", "Question"), "expected a field and its path: question=Question"),
        (("--decode", "passage"), "--decode: found 'passage'; expected a field and how it is read: passage=json"),
        (("--split", "dev"), "found split= with format 'autorag'; expected documents"),
    ],
)
def test_mistakes_end_with_one_message_and_nothing_written(
    arguments: tuple[str, ...], message: str, convert: Run, tmp_path: Path
) -> None:
    code, out, err = convert(FIXTURES / "autorag", "-o", tmp_path / "out", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("raglift: error: ")
    assert message in err
    assert not list(tmp_path.iterdir())
