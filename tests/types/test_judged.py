"""How hits were chosen for judging: declared in Python and in files, kept with runs, set by raglift's own grading."""

import json

import pytest

import raglift as rl
from raglift.errors import DatasetError
from raglift.types import Dataset, Fact, Passage, Query

LIT = Fact((Passage("The lamp is lit at dusk."),))
QUERIES = (Query("q1", "When is the lamp lit?", (LIT,), judged="pool"), Query("q2", "Who lights it?"))


def test_a_dataset_is_a_pool_or_a_sample_if_all_labelled_queries_are() -> None:
    assert Dataset(QUERIES).judged == "pool"
    assert Dataset((*QUERIES, Query("q3", "When?", (LIT,)))).judged is None
    assert Dataset((*QUERIES, Query("q3", "When?", (LIT,), judged="sample"))).judged is None
    declared = Dataset(QUERIES).with_judged("sample")
    assert [query.judged for query in declared] == ["sample", "sample"]
    assert declared.with_judged(None).judged is None


def test_a_file_of_queries_and_a_saved_run_keep_it(tmp_path) -> None:
    rl.write_dataset(Dataset(QUERIES), tmp_path / "data")
    loaded = rl.load_dataset(tmp_path / "data")
    assert loaded.queries == QUERIES
    rl.evaluate(lambda _: ["The lamp is lit at dusk."], loaded).save(tmp_path / "run")
    assert rl.load_evaluation(tmp_path / "run").dataset.judged == "pool"


def test_something_else_is_refused(tmp_path) -> None:
    with pytest.raises(DatasetError, match="'pool' or 'sample'"):
        Query("q1", "When?", judged="all")
    file = tmp_path / "queries.jsonl"
    file.write_text(json.dumps({"id": "q1", "query": "When?", "judged": ["pool"]}))
    with pytest.raises(DatasetError, match="'pool' or 'sample'"):
        rl.load_dataset(file)
