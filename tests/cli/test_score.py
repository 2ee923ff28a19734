"""`raglift files score`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


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


def test_each_query_then_the_means(run, folder: Path) -> None:
    _, out, _ = run(
        *arguments(folder, "dense.jsonl"), "--metrics", "map,ndcg(gain=exponential)@3", "-q", "--names", "mine"
    )
    assert out.splitlines()[:3] == [
        "query                              mine",
        "q1     AP                        0.5000",
        "q1     NDCG(gain=exponential)@3  0.6309",
    ]
    assert "MAP" in out


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


@pytest.mark.slow
def test_trec_evals_lines_come_from_a_real_process(folder: Path) -> None:
    options = ["--format", "trec", "-q", "--metrics", "num_q,num_rel,map,ndcg@10"]
    command = [sys.executable, "-m", "raglift", *map(str, arguments(folder, "bm25.trec")), *options]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.stderr == b""
    assert done.stdout == (
        b"num_rel               \tq1\t1\n"
        b"map                   \tq1\t1.0000\n"
        b"ndcg_cut_10           \tq1\t1.0000\n"
        b"num_rel               \tq2\t1\n"
        b"map                   \tq2\t0.0000\n"
        b"ndcg_cut_10           \tq2\t0.0000\n"
        b"num_q                 \tall\t3\n"
        b"num_rel               \tall\t3\n"
        b"map                   \tall\t0.3333\n"
        b"ndcg_cut_10           \tall\t0.3333\n"
    )


def test_without_metrics_it_is_trec_evals_own_set(run, folder: Path) -> None:
    _, out, _ = run(*arguments(folder, "bm25.trec"), "--format", "trec", "--answered-only")
    assert out.splitlines()[:2] == ["runid                 \tall\tbm25", "num_q                 \tall\t2"]
    assert len(out.splitlines()) == 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--format", "xml"], "--format: found 'xml'"),
        (["--format", "json"], "expected one of table, trec"),
        (["--format", "trec", "--json"], "--json: found it with --format trec"),
        (["--metrics", "num_ret"], "'num_ret', which is printed with --format trec alone"),
        (["--metrics", "iprec_at_recall"], "'iprec_at_recall', which is printed with --format trec alone"),
        (["--metrics", "bpref"], "bpref: found labels that say of nothing that it is irrelevant; expected some"),
        (["--metrics", ""], "--metrics: found ''; expected at least one"),
        (["--metrics", " , ", "--format", "trec"], "--metrics: found ' , '; expected at least one"),
        (["--metrics", "relstring"], "'relstring', which is a text and no number"),
        (["--metrics", "prefs_simp", "--format", "trec"], "for preferences or several judges; expected one for qrels"),
        (["--metrics", "rbp", "--format", "trec"], "'rbp', which trec_eval 9 does not have; expected trec_eval 10"),
        (["--format", "trec", "--trec-eval", "8"], "--trec-eval: found 8; expected one of 9, 10"),
        (["--trec-eval", "10"], "--trec-eval: found 10 with --format table; expected it with --format trec"),
        (["--metrics", "span_recall@5"], "found ids alone"),
        (["--profile", "unknown"], "profile: found 'unknown'"),
        (["--from", "csv"], "form: found 'csv'"),
        (["--format", "trec", "--profile", "autorag"], "expected one of default, trec"),
    ],
)
def test_what_it_cannot_do_is_said(run, folder: Path, options: list[str], found: str) -> None:
    code, out, err = run(*arguments(folder, "bm25.trec"), *options)
    assert (code, out) == (2, "")
    assert found in err


def test_two_runs_in_trec_evals_format_are_refused(run, folder: Path) -> None:
    code, _, err = run(*arguments(folder, "bm25.trec", "dense.jsonl"), "--format", "trec")
    assert code == 2
    assert "expected one" in err


def test_faults_of_a_file_are_listed(run, folder: Path) -> None:
    (folder / "bad.trec").write_text("q1 Q0 a 1 x t\nq1 Q0 b\n")
    code, _, err = run(*arguments(folder, "bad.trec"))
    assert code == 2
    assert "bad.trec:1: score" in err
    assert "bad.trec:2: found 3 columns" in err


def test_measures_of_trec_eval_stand_in_tables(run, folder: Path) -> None:
    asked = "relative_P_5,set_map,11pt_avg,iprec_at_recall_0.30,Rprec_mult_0.20,unj_5,gm_map,recip_rank"
    code, out, _ = run(*arguments(folder, "bm25.trec"), "--metrics", asked)
    assert code == 0
    titles = [line.split("  ")[0] for line in out.splitlines()[1:9]]
    assert titles == [
        *("RelativePrecision@5", "SetAP", "ElevenPointAvg", "IPrec(recall=0.3)"),
        *("RPrecisionMult(multiple=0.2)", "Unjudged@5", "GMAP", "MRR"),
    ]


def test_the_version_of_trec_eval_is_chosen(run, folder: Path) -> None:
    code, out, _ = run(
        *arguments(folder, "bm25.trec"), "--format", "trec", "--trec-eval", "10", "--metrics", "rbp,unj_5"
    )
    assert code == 0
    assert [line.split("\t")[0].strip() for line in out.splitlines()] == ["rbp", "unj_5"]
