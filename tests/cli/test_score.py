"""`raglift score`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bm25.trec").write_text("q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq2 Q0 x 1 1 bm25\n")
    (tmp_path / "dense.jsonl").write_text('{"query_id": "q1", "hits": ["b", "a"]}\n{"query_id": "q2", "hits": ["c"]}\n')
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\nq2 0 c 1\nq3 0 d 1\n")
    return tmp_path


def arguments(folder: Path, *runs: str) -> list[object]:
    return ["score", *(part for run in runs for part in ("--run", folder / run)), "--qrels", folder / "qrels.txt"]


def test_a_table_with_one_column_a_run(run, folder: Path) -> None:
    code, out, err = run(*arguments(folder, "bm25.trec", "dense.jsonl"), "--metrics", "recip_rank,ndcg_cut_10,P_5")
    assert (code, err) == (0, "")
    assert out.splitlines()[:4] == [
        "                              bm25   dense",
        "MRR                         0.3333  0.5000",
        "NDCG@10                     0.3333  0.5436",
        "Precision@5                 0.0667  0.1333",
    ]


def test_json_has_means_n_and_counts(run, folder: Path) -> None:
    _, out, _ = run(*arguments(folder, "bm25.trec"), "--metrics", "map", "--json", "-q", "--answered-only")
    found = json.loads(out)
    assert found["profile"] == "default"
    assert found["runs"] == [
        {
            "name": "bm25",
            "path": str(folder / "bm25.trec"),
            "hits": 3,
            "metrics": {"ap": {"mean": 0.5, "n": 2}},
            "queries_without_ranking": 0,
            "queries_left_out": 1,
            "rankings_without_labels": 0,
            "notes": [],
            "queries": {"q1": {"ap": 1.0}, "q2": {"ap": 0.0}},
        }
    ]


def test_a_table_of_queries_stands_above_the_means(run, folder: Path) -> None:
    code, out, _ = run(*arguments(folder, "bm25.trec"), "--metrics", "map", "-q")
    queries, _, means = out.partition("\n\n")
    assert code == 0
    assert [line.split() for line in queries.splitlines() if line.startswith("q")] == [
        ["query", "bm25"],
        ["q1", "AP", "1.0000"],
        ["q2", "AP", "0.0000"],
        ["q3", "AP", "0.0000"],
    ]
    assert means == run(*arguments(folder, "bm25.trec"), "--metrics", "map")[1]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--metrics", "num_ret"], "found 'num_ret'"),
        (["--metrics", "bpref"], "bpref: found labels that say of nothing that it is irrelevant; expected some"),
        (["--metrics", ""], "--metrics: found ''; expected at least one"),
        (["--metrics", "span_recall@5"], "found ids alone"),
        (["--profile", "unknown"], "profile: found 'unknown'"),
        (["--from", "csv"], "form: found 'csv'"),
    ],
)
def test_what_it_cannot_do_is_said(run, folder: Path, options: list[str], found: str) -> None:
    code, out, err = run(*arguments(folder, "bm25.trec"), *options)
    assert (code, out) == (2, "")
    assert found in err
