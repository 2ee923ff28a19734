"""What can be compared, and what the systems are called."""

from dataclasses import replace
from pathlib import Path

import pytest

from raglift.analysis.shared_queries import baseline_of
from raglift.errors import ConfigurationError
from raglift.results.sources import named_evaluations


def test_evaluations_are_called_by_what_their_stages_do(ranked):
    plain, reranked = ranked([1]), ranked([1], reranked=[2])
    assert list(named_evaluations([plain, reranked], None)) == ["fake", "fake + fake"]
    assert list(named_evaluations([plain, plain, reranked, plain], None)) == [
        "fake",
        "fake #2",
        "fake + fake",
        "fake #3",
    ]


@pytest.mark.slow
def test_saved_ones_are_called_by_their_folders(ranked, tmp_path, monkeypatch):
    for folder in ("one/bm25", "two/bm25", "two/dense"):
        ranked([1]).save(tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    assert list(named_evaluations(["one/bm25", Path("two/dense")], None)) == ["bm25", "dense"]
    assert list(named_evaluations(["one/bm25/", "two/bm25", "two/dense"], None)) == ["one/bm25", "two/bm25", "dense"]
    monkeypatch.chdir(tmp_path / "two" / "dense")
    assert list(named_evaluations([".", "../bm25"], None)) == ["dense", "bm25"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "names: found 1; expected 2"),
        ("ab", "names: found 1; expected 2"),
        (["a", "a"], "names: found 'a' more than once"),
        (["a", " "], "names: found ' '; expected a text"),
        (["a", 2], "names: found 2; expected a text"),
    ],
)
def test_names_that_do_not_fit(ranked, names, message):
    with pytest.raises(ConfigurationError, match=message):
        named_evaluations([ranked([1]), ranked([2])], names)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "found 0 evaluations; expected two or more"),
        (["run"], "found 1 evaluation; expected two or more .*reranker_lift"),
        ("run", "found 1 evaluation; expected two or more"),
        (7, "found a int; expected two or more evaluations"),
        ({"a": 1, "b": 2}, r"evaluations\[0\] \('a'\): found a int; expected an Evaluation"),
        ([None, None], r"evaluations\[0\]: found a NoneType; expected an Evaluation"),
    ],
)
def test_what_is_no_evaluation(given, message):
    with pytest.raises(ConfigurationError, match=message):
        named_evaluations(given, None)


def test_the_baseline_is_the_first_or_one_by_name_or_number():
    names = ["a", "b", "c"]
    assert [baseline_of(names, given) for given in (None, "b", 2, -1)] == ["a", "b", "c", "c"]


@pytest.mark.slow
def test_cells_of_a_sweep_are_called_by_their_parts(ranked, tmp_path):
    cells = []
    for name in ("recursive:200/0 · bm25 · none", "recursive:900/0 · bm25 · none"):
        plain = ranked([1])
        run = replace(plain.run, spec={**plain.run.spec, "sweep": {"name": name}})
        cells.append(replace(plain, run=run).save(tmp_path / f"cells-{len(cells)}"))
    assert list(named_evaluations(cells, None)) == ["recursive:200/0 · bm25 · none", "recursive:900/0 · bm25 · none"]
