"""Results as CSV and Parquet."""

import dataclasses

import pandas as pd
import pytest

from raglift.analysis.frames import export
from raglift.errors import ConfigurationError, RunError
from raglift.results.comparison import compare


@pytest.fixture
def evaluation(ranked):
    return ranked([1, 3, None, RuntimeError("no index"), 2], reranked=[1, 1, None, None, 3], unlabelled=[4])


@pytest.fixture
def comparison(ranked):
    return compare({"one": ranked([1, 3, 2]), "two": ranked([2, 1, 2])}, primary="rr@3")


def read(path):
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def plain(frame):
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_evaluation_comes_back_as_it_was(evaluation, tmp_path, suffix):
    table, queries = export(evaluation, tmp_path / "out" / f"results{suffix}")
    assert [table.name, queries.name] == [f"results{suffix}", f"results.queries{suffix}"]
    assert plain(read(table)) == plain(evaluation.to_frame())
    # An empty text and a missing one are the same in CSV: nothing has tags here
    told = plain(evaluation.per_query())
    assert plain(read(queries)) == [row | {"tags": row["tags"] or (None if suffix == ".csv" else "")} for row in told]
    assert sorted(path.name for path in table.parent.iterdir()) == sorted([queries.name, table.name])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_comparison_has_its_systems_query_by_query(comparison, tmp_path, suffix):
    table, queries = export(comparison, tmp_path / f"results{suffix}")
    assert plain(read(table)) == plain(comparison.to_frame())
    rows = read(queries)
    assert rows.columns[0] == "system"
    assert rows.groupby("system")["query_id"].nunique().to_dict() == {"one": 3, "two": 3}
    of_two = rows[(rows["system"] == "two") & (rows["metric"] == "rr@3")]
    assert of_two["value"].tolist() == [0.5, 1.0, 0.5]


@pytest.mark.parametrize("text", ['a "quoted", cell', "two\nlines", "carriage\rreturn", "=1+1"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_texts_are_written_as_they_are(evaluation, tmp_path, text, suffix):
    _, queries = export(asked(evaluation, text), tmp_path / f"results{suffix}")
    assert read(queries)["query"].iloc[0] == text


def test_a_lone_surrogate_is_replaced(evaluation, tmp_path):
    for suffix in (".csv", ".parquet"):
        _, queries = export(asked(evaluation, "x\ud800"), tmp_path / f"results{suffix}")
        assert read(queries)["query"].iloc[0] == "x�"


def asked(evaluation, text):
    first, *others = evaluation.dataset.queries
    dataset = dataclasses.replace(evaluation.dataset, queries=(dataclasses.replace(first, text=text), *others))
    return dataclasses.replace(evaluation, dataset=dataset)


def test_what_is_there_is_kept_unless_it_may_be_replaced(evaluation, tmp_path):
    (tmp_path / "results.queries.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match=r"results\.queries\.csv: found a file; expected a free name"):
        export(evaluation, tmp_path / "results.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["results.queries.csv"]
    export(evaluation, tmp_path / "results.csv", overwrite=True)
    assert (tmp_path / "results.queries.csv").read_text(encoding="utf-8").startswith('"query_id",')


def test_another_ending_is_refused(evaluation, tmp_path):
    with pytest.raises(ConfigurationError, match=r"found the ending '\.xlsx'; expected \.csv or \.parquet"):
        export(evaluation, tmp_path / "results.xlsx")
