"""`raglift gate`: a saved run passes or fails, and its exit code says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from junitparser import JUnitXml

import raglift as rl
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query

pytestmark = pytest.mark.slow

SWEEP = {
    "dataset": "lighthouse",
    "retrievers": ["bm25"],
    "chunkers": ["recursive:1000/100", "recursive:500/0"],
    "rerankers": ["none"],
    "ks": [1, 10],
    "candidates": 10,
}


@pytest.fixture
def runs(ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of saved runs: `main`, `worse`, and `part`, which lacks two queries of both."""
    ranked([1] * 30).save(tmp_path / "main")
    ranked([1] * 15 + [3] * 15).save(tmp_path / "worse")
    ranked([1] * 28).save(tmp_path / "part")
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "raglift", "gate", *arguments]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", env={**os.environ, **environment}, check=False
    )


@pytest.mark.full
def test_the_exit_codes_of_the_real_command(runs) -> None:
    passed = process("main", "--min", "mrr@3=0.9", "--max", "failures=0")
    failed = process("worse", "--min", "mrr@3=0.9")
    mistake = process("main", "--min", "mrr@3=0.9", "--max", "p95_latency=0.5s")
    incomplete = process("part", "--baseline", "main", "--no-regression", "rr@3")
    assert [one.returncode for one in (passed, failed, mistake, incomplete)] == [0, 1, 2, 3]
    assert passed.stdout.startswith("main: PASSED (2 checks)\n")
    assert failed.stdout.startswith("worse: FAILED (1 of 1 check)\n")
    assert (mistake.stdout, mistake.stderr.count("\n")) == ("", 1)
    assert "--latency 50" in mistake.stderr
    assert "2 questions missing in the run: q0028, q0029" in incomplete.stdout
    assert passed.stderr == failed.stderr == incomplete.stderr == ""


def test_the_verdict_stands_when_nobody_reads_the_output(runs) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "raglift", "gate", "worse", "--min", "mrr@3=0.9", "--junit", "gate.xml"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
    assert Path("gate.xml").is_file()


def test_it_prints_what_the_library_prints(run, runs) -> None:
    options = ("--no-regression", "rr@3", "--no-regression", "recall@1", "--margin", "0.02", "--seed", "7")
    code, out, err = run("gate", "worse", "--min", "rr@3=0.9", "--baseline", "main", *options, "--confidence", "0.9")
    expected = rl.gate(
        rl.load_evaluation("worse"),
        minimum={"rr@3": 0.9},
        baseline=rl.load_evaluation("main"),
        no_regression=["rr@3", "recall@1"],
        margin=0.02,
        seed=7,
        confidence=0.9,
        name="worse",
    )
    assert (code, out, err) == (1, f"{expected}\n", "")


def test_json_is_complete(run, runs) -> None:
    code, out, _ = run(
        "gate", "worse", "--min", "ndcg@3=0.9", "--baseline", "main", "--no-regression", "rr@3", "--json", "--name", "x"
    )
    told = json.loads(out)
    assert (code, told["exit_code"], told["outcome"], told["name"]) == (1, 1, "failed", "x")
    assert (told["queries"], told["expected"], told["missing"], told["failed"]) == (30, 30, [], [])
    (check,) = told["checks"]
    assert (check["name"], check["passed"], check["bound"], check["n"]) == (
        "ndcg@3",
        False,
        0.9,
        30,
    )
    assert check["worst"][0] == {"query_id": "q0015", "value": 0.5}
    (regression,) = told["regressions"]
    assert (regression["metric"], regression["passed"], regression["before"]) == ("rr@3", False, 1.0)
    assert regression["difference"]["n"] == 30
    flip = regression["regressed"][0]
    assert (flip["query_id"], flip["before"]) == ("q0015", 1.0)
    assert [hit["matches"] for hit in flip["hits_before"]] == [True, False, False]
    assert [hit["matches"] for hit in flip["hits_after"]] == [False, False, True]
    assert flip["hits_after"][2]["text"] == "the stone with the number 0015 lies at the ford"


def test_files_are_written(run, runs) -> None:
    code, _, _ = run("gate", "worse", "--min", "rr@3=0.9", "--junit", "gate.xml", "--markdown", "gate.md")
    assert code == 1
    (suite,) = JUnitXml.fromfile("gate.xml")
    assert (suite.tests, suite.failures) == (1, 1)
    assert Path("gate.md").read_text(encoding="utf-8").startswith("### ❌ worse: FAILED (1 of 1 check)\n")
    unwritable = ("--junit", "nowhere/gate.xml", "--markdown", "gate.md")
    code, out, err = run("gate", "main", "--min", "rr@3=0.9", *unwritable)
    assert (code, out.startswith("main: PASSED")) == (2, True)
    assert "nowhere/gate.xml: cannot be written" in err
    assert Path("gate.md").read_text(encoding="utf-8").startswith("### ✅ main: PASSED")


def test_on_github_there_are_annotations_and_a_summary(run, runs, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = runs / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    arguments = ("gate", "worse", "--min", "rr@3=0.9")
    code, out, _ = run(*arguments)
    assert "::" not in out
    assert summary.read_text(encoding="utf-8") == "before\n"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, out, _ = run(*arguments)
    assert code == 1
    first, *_, last = out.splitlines()
    assert first.startswith("::stop-commands::")
    assert last.startswith(
        "::error title=raglift gate%3A rr@3 (worse)::rr@3 is 0.667 over 30 questions; expected ≥ 0.9"
    )
    assert summary.read_text(encoding="utf-8").startswith("before\n### ❌ worse: FAILED")
    code, out, err = run(*arguments, "--json")
    assert json.loads(out)["exit_code"] == 1
    assert err.startswith("::error ")
    code, out, _ = run(*arguments, "--no-github")
    assert "::" not in out
    monkeypatch.delenv("GITHUB_ACTIONS")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    code, out, _ = run(*arguments, "--github")
    assert "::error " in out


def test_a_labelled_set_says_what_the_whole_is(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.chdir(tmp_path)
    code, _, _ = run("evaluate", "lighthouse", "--retriever", "bm25", "--reranker", "none", "--output", "run")
    assert code == 0
    code, out, _ = run("gate", "run", "--min", "ndcg@10=0.2", "--dataset", "lighthouse")
    assert (code, "lighthouse: 43 questions, none missing" in out) == (0, True)
    code, _, err = run("gate", "run", "--min", "ndcg@10=0.2", "--documents", ".")
    assert (code, "--documents: found it without --dataset" in err) == (2, True)
    code, _, err = run("gate", "run", "--min", "ndcg@10=0.2", "--dataset", "nowhere.jsonl")
    assert (code, "nowhere.jsonl" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("main",), "found nothing to check; expected a bound, as --min ndcg@10=0.75"),
        (("main", "--min", "0.75"), "--min: found '0.75'; expected NAME=BOUND, as ndcg@10=0.75"),
        (("main", "--min", "rr@3=0.1", "--min", "rr@3=0.2"), "--min: found 'rr@3' twice"),
        (("main", "--min", "rr@9=0.5"), "its 6 candidates do not reach it"),
        (("main", "--baseline", "worse"), "expected one, as --no-regression ndcg@10"),
        (("main", "--no-regression", "rr@3"), "--no-regression: found no baseline"),
        (("nowhere", "--min", "rr@3=0.5"), "nowhere: found no such folder"),
        (("main", "--baseline", "main", "--no-regression", "rr@3", "--no-regression", "rr@3"), "found rr@3 twice"),
        (
            ("main", "--baseline", "main", "--no-regression", "rr@3", "--margin", "3"),
            "--margin: found 3; expected a share below 1",
        ),
        ((), "Missing argument"),
    ],
)
def test_mistakes_are_no_verdict(run, runs, arguments, told: str) -> None:
    code, out, err = run("gate", *arguments)
    assert (code, out) == (2, "")
    assert told in err


def test_runs_by_labels_of_two_versions_of_the_documents_are_no_verdict(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = "The lamp is lit at dusk, and burns until dawn."
    for name, doc_id in (("old", "lamp.md"), ("new", "guide/lamp.md")):
        document = Document(doc_id, answer)
        passage = Passage(answer, doc_id, 0, len(answer))
        data = Dataset((Query("lamp", "When is it lit?", (Fact((passage,)),)),), (document,))
        rl.evaluate(lambda _, at=doc_id: [Chunk(answer, doc_id=at)], data, metrics=["rr"], ks=[1]).save(name)
        recorded = rl.load_evaluation(name).run.spec["dataset"]
        assert {"hash", "labels", "documents"} <= recorded.keys()
    code, out, err = run("gate", "new", "--baseline", "old", "--no-regression", "rr@1")
    assert (code, out) == (2, "")
    for said in ("the labels of 1 question differ", "raglift labels update OLD NEW", "--runs BEFORE AFTER"):
        assert said in err
    # The runs of an earlier raglift say less of their dataset
    head = json.loads(Path("old/run.json").read_text(encoding="utf-8"))
    for name in ("labels", "documents"):
        del head["spec"]["dataset"][name]
    Path("old/run.json").write_text(json.dumps(head), encoding="utf-8")
    code, _, err = run("gate", "new", "--baseline", "old", "--no-regression", "rr@1")
    assert (code, "the labels of 1 question differ" in err, "labels update" in err) == (2, True, False)
    assert run("gate", "old", "--min", "rr@1=1")[0] == 0


FILES = ("--junit", "gate.xml", "--markdown", "gate.md")


def test_files_do_not_tell_of_an_earlier_run_where_nothing_was_decided(run, runs, monkeypatch) -> None:
    assert run("gate", "main", "--min", "rr@3=0.9", *FILES)[0] == 0
    assert "main: PASSED" in Path("gate.md").read_text(encoding="utf-8")
    code, out, _ = run("gate", "nowhere", "--min", "rr@3=0.9", *FILES)
    assert (code, out) == (2, "")
    markdown = Path("gate.md").read_text(encoding="utf-8")
    assert markdown.startswith("### ❌ nowhere: NOT DECIDED: ")
    assert "found no such folder" in markdown
    (suite,) = JUnitXml.fromfile("gate.xml")
    assert (suite.tests, suite.failures, suite.errors) == (1, 0, 1)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(runs / "summary.md"))
    code, out, err = run("gate", "main", "--min", "rr@9=0.9", "--name", "now", "--junit", "nowhere/gate.xml")
    assert code == 2
    assert "its 6 candidates do not reach it" in err
    assert out.startswith("::error title=raglift gate%3A not decided (now)::rr@9: ")
    assert (runs / "summary.md").read_text(encoding="utf-8").startswith("### ❌ now: NOT DECIDED: ")


def test_a_fault_of_ours_is_no_verdict_either(run, runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raglift.cli.gate.gate", lambda *_, **__: 1 / 0)
    code, out, err = run("gate", "main", "--min", "rr@3=0.9", *FILES)
    assert (code, out) == (2, "")
    assert err.startswith("Traceback")
    markdown = Path("gate.md").read_text(encoding="utf-8")
    assert markdown.startswith("### ❌ main: NOT DECIDED: ")
    assert "ZeroDivisionError: division by zero" in markdown
