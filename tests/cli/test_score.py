"""`raglift score`: judged ids as trec_eval does, and questions with passages as an evaluation."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from raglift.results.evaluation import load_evaluation

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bm25.trec").write_text("q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq2 Q0 x 1 1 bm25\n")
    (tmp_path / "dense.jsonl").write_text('{"query_id": "q1", "hits": ["b", "a"]}\n{"query_id": "q2", "hits": ["c"]}\n')
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\nq2 0 c 1\nq3 0 d 1\n")
    return tmp_path


def arguments(folder: Path, *runs: str) -> list[object]:
    return ["score", folder / "qrels.txt", *(folder / run for run in runs)]


def test_a_table_with_one_column_a_run(run, folder: Path) -> None:
    code, out, err = run(*arguments(folder, "bm25.trec", "dense.jsonl"), "--metrics", "recip_rank,ndcg_cut_10,P_5")
    assert (code, err) == (0, "")
    assert out.splitlines()[:4] == [
        "                              bm25   dense",
        "MRR                         0.3333  0.5000",
        "NDCG@10                     0.3333  0.5436",
        "Precision@5                 0.0667  0.1333",
    ]


def test_a_baseline_is_the_first_column(run, folder: Path) -> None:
    expected = run(*arguments(folder, "bm25.trec", "dense.jsonl"))
    assert run(*arguments(folder, "dense.jsonl"), "--baseline", folder / "bm25.trec") == expected


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
            "per_query": {"q1": {"ap": 1.0}, "q2": {"ap": 0.0}},
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
        (["-o", "runs/new"], "--output: found it with labels that are judged ids"),
        (["--all", "--overwrite"], "--overwrite: found it with labels that are judged ids"),
        (["--all"], "--all: found it with labels that are judged ids"),
    ],
)
def test_what_it_cannot_do_is_said(run, folder: Path, options: list[str], found: str) -> None:
    code, out, err = run(*arguments(folder, "bm25.trec"), *options)
    assert (code, out) == (2, "")
    assert found in err


# Questions with passages.


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    lines = [{"question": f"When is lamp {lamp} lit?", "passages": [f"lamp {lamp} is lit at dusk"]} for lamp in "abc"]
    return write(tmp_path / "labels.jsonl", *lines)


def line(lamp: str, *texts: str) -> dict[str, Any]:
    return {"question": f"When is lamp {lamp} lit?", "texts": [f"Here lamp {text} is lit at dusk." for text in texts]}


def test_files_are_compared_at_the_depth_that_all_return(run, labels: Path) -> None:
    old = write(labels.with_name("old.jsonl"), line("a", "b", "a", "c"), line("b", "c"), {"id": "q3", "texts": []})
    new = write(labels.with_name("new.jsonl"), line("a", "a", "b"), line("b", "b"))
    code, out, err = run("score", labels, new, "--baseline", old, "--json", "-q", "--metrics", "recall")
    found = json.loads(out)
    assert (code, err, [one["name"] for one in found["runs"]]) == (0, "", ["old", "new"])
    found_at_once = {"recall@1": 1, "recall@2": 1}
    assert found["runs"][1]["per_query"] == {
        "q1": found_at_once,
        "q2": found_at_once,
        "q3": {"recall@1": 0, "recall@2": 0},
    }
    assert [one["query_ids"] for one in found["runs"][1]["failures"]] == [["q3"]]
    assert found["runs"][0]["failures"] == []
    assert found["comparison"]["baseline"] == "old"
    row = next(row for row in found["comparison"]["rows"] if row["metric"] == "recall@2" and row["system"] == "new")
    assert (row["mean"], row["baseline_mean"], row["n"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3), 3)

    shown = run("score", labels, new, "--baseline", old)[1]
    assert ["Where recall was lost" in shown, "new" in shown, "no ranking of this question" in shown] == [True] * 3


def test_hits_are_kept_as_a_run(run, labels: Path, tmp_path: Path) -> None:
    hits = write(tmp_path / "hits.jsonl", line("a", "b", "a"))
    code, _, err = run("score", labels, hits, "-o", tmp_path / "run", "--answered-only")
    evaluation = load_evaluation(tmp_path / "run")
    assert (code, err) == (0, f"saved to {tmp_path / 'run'}\n")
    assert len(evaluation.dataset) == 1
    assert "2 labelled questions without a line are left out" in evaluation.notes
    assert evaluation.scores.mean("retrieve", "rr@2") == 0.5
    assert run("score", labels, hits, hits.rename(tmp_path / "b.jsonl"), "-o", "x")[0] == 2


def test_labels_are_told_by_the_first_line_that_can_be_read(run, labels: Path) -> None:
    hits = write(labels.with_name("hits.jsonl"), line("a", "a"))
    packed, broken, empty = (labels.with_name(name) for name in ("labels.jsonl.gz", "broken.jsonl", "empty.jsonl"))
    packed.write_bytes(gzip.compress(labels.read_bytes()))
    assert run("score", packed, hits, "--answered-only")[0] == 0
    broken.write_bytes(b"{x\n" + labels.read_bytes())
    assert run("score", broken, hits)[2].splitlines()[0] == f"raglift: error: {broken}: 1 fault; nothing was loaded"
    empty.touch()
    assert ['"grade"' in (said := run("score", empty, hits)[2]), '"passages"' in said] == [True, True]


def test_examples_are_written_and_can_be_scored(run, tmp_path: Path) -> None:
    folder = tmp_path / "museum"
    code, out, _ = run("score", "--example", folder)
    assert (code, out.splitlines()[:-1]) == (0, sorted(map(str, folder.iterdir())))
    scored = run("score", folder / "labels.jsonl", folder / "hits.jsonl", "--baseline", folder / "baseline.jsonl")
    assert (scored[0], scored[2]) == (0, "")
    assert run("score", "--example", folder)[0] == 2


@pytest.mark.parametrize("given", [[], ["labels.jsonl"]])
def test_missing_files_are_said(run, given: list[str]) -> None:
    code, _, err = run("score", *given)
    assert (code, "found none; expected a file of labels and a file of hits" in err) == (2, True)
