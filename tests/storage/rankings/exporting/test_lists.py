"""Rankings that are lists of ids, to files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.errors import ConfigurationError, DatasetError
from raglift.storage.rankings.exporting import write_qrels, write_run
from raglift.storage.rankings.read import read_qrels, read_run

names = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="\ufeff"), min_size=1
)
rankings = st.dictionaries(names, st.lists(names, min_size=1, unique=True, max_size=6), min_size=1, max_size=5)
grades = st.dictionaries(names, st.dictionaries(names, st.integers(0, 4), min_size=1), min_size=1, max_size=5)


@pytest.mark.parametrize("ending", ["trec", "parquet", "trec.gz"])
@given(given=rankings, labels=grades)
@settings(max_examples=20, deadline=None)
def test_what_is_written_is_read_back(
    ending: str,
    given: dict[str, list[str]],
    labels: dict[str, dict[str, int]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("written")
    assert dict(read_run(write_run(given, folder / f"run.{ending}")).items()) == given
    found = read_qrels(write_qrels(labels, folder / f"qrels.{ending}"))
    assert {query: dict(of_query) for query, of_query in found.items()} == labels


def test_scores_are_kept_where_they_tell_the_order(tmp_path: Path) -> None:
    path = write_run({"q": ["a", "b"]}, tmp_path / "run.trec", scores={"q": [0.5, 0.25]}, tag="my system")
    assert path.read_text() == "q Q0 a 1 0.5 my%20system\nq Q0 b 2 0.25 my%20system\n"
    write_run({"q": ["a", "b"]}, path, scores={"q": [0.25, 0.5]}, overwrite=True)
    assert path.read_text() == "q Q0 a 1 2.0 raglift\nq Q0 b 2 1.0 raglift\n"


def test_a_compressed_text_is_one(tmp_path: Path) -> None:
    path = write_run({"q": ["a"]}, tmp_path / "run.trec.gz")
    assert gzip.decompress(path.read_bytes()) == b"q Q0 a 1 1.0 raglift\n"


def test_a_set_of_ids_is_relevant(tmp_path: Path) -> None:
    assert write_qrels({"q": ["a", "b"]}, tmp_path / "qrels").read_text() == "q 0 a 1\nq 0 b 1\n"


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("mine")
    with pytest.raises(DatasetError, match="something there already; expected the path of a new file, or overwrite"):
        write_run({"q": ["a"]}, path)
    with pytest.raises(DatasetError, match="expected the path of a file"):
        write_qrels({"q": ["a"]}, tmp_path, overwrite=True)
    assert path.read_text() == "mine"
    write_run({"q": ["a"]}, path, overwrite=True)
    assert [found.name for found in tmp_path.iterdir()] == ["run.trec"]


def test_every_fault_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    with pytest.raises(DatasetError, match="2 faults") as refused:
        write_run({"q": "abc", "r": ["a", 3]}, path)  # type: ignore[list-item]
    assert "expected a list of ids" in str(refused.value)
    with pytest.raises(DatasetError, match="found 1 scores; expected as many as ids, 2"):
        write_run({"q": ["a", "b"]}, path, scores={"q": [1.0]})
    with pytest.raises(DatasetError, match=r"found 1\.5; expected a grade"):
        write_qrels({"q": {"a": 1.5}}, path)  # type: ignore[dict-item]
    with pytest.raises(DatasetError, match="3 faults") as refused:
        write_run({"q 1": ["a", ""], "q2": ["b c", "a"]}, path)
    assert not path.exists()


def test_rankings_are_not_written_as_json_lines(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"form: found run\.jsonl; expected one of trec, parquet"):
        write_run({"q": ["a"]}, tmp_path / "run.jsonl")


def test_half_a_character_is_written_only_escaped(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="an id that UTF-8 can hold"):
        write_run({"q": ["a\ud800"]}, tmp_path / "run.parquet")
    assert (
        write_run({"q": ["a\ud800"]}, tmp_path / "run.trec", escape_ids=True).read_text().startswith("q Q0 a%ED%A0%80")
    )
