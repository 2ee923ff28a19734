"""`raglift demo`: what it prints, writes and leaves alone."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from raglift.cli import demo


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the demonstration runs in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.mark.parametrize(
    ("corpus", "questions", "facts"),
    [
        pytest.param("lighthouse", 40, 50, marks=pytest.mark.slow),  # embedded by other tests already
        pytest.param(demo.CORPUS, 100, 389, marks=pytest.mark.full),
    ],
)
def test_demo_prints_a_verdict_five_metrics_and_what_to_do_next_in_25_lines(
    corpus: str, questions: int, facts: int, run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "CORPUS", corpus)
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) <= 25
    verdict = rf"^The reranker helped: the right passage comes first for \d+ of {questions} questions"
    assert re.search(verdict, out, re.MULTILINE)
    metrics = ["NDCG@10", "Recall@10", "MRR@10", "HitRate@10", "Precision@10"]
    assert [line.split()[0] for line in out.splitlines() if line.split("@")[0] in {"NDCG", "Recall", "MRR"}] == metrics[
        :3
    ]
    assert all(out.count(metric) == 1 for metric in metrics)
    assert re.search(rf"What became of the {facts} facts that the questions need: \d+ found by rank 10", out)
    assert "\x1b" not in out
    assert "\nReport: raglift-demo/report.html\n" in out
    assert (folder / "raglift-demo" / "report.html").read_bytes().startswith(b"<!DOCTYPE html>")
    explain = next(line.split()[1:] for line in out.splitlines() if line.startswith("  raglift explain "))
    assert run(*explain)[0] == 0


@pytest.mark.full
def test_an_earlier_demo_is_replaced_and_other_files_stay(run, folder: Path) -> None:
    for _ in range(2):
        code, out, _ = run("demo", "--retriever", "bm25", "-o", "new folder")
        assert code == 0
    assert "\nReport: new folder/report.html\n" in out
    assert shlex.split(out[out.index("raglift explain") :])[2] == "new folder/run"
    page = folder / "new folder" / "report.html"
    page.write_text("mine", encoding="utf-8")
    code, out, err = run("demo", "--retriever", "bm25", "-o", "new folder")
    assert (code, out) == (2, "")
    assert "is not a report of raglift, and so is not overwritten" in err
    assert page.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("raglift-demo", "found the file raglift-demo; expected a folder"),
        ("raglift-demo/run/notes.txt", "something there already"),
    ],
)
def test_demo_refuses_a_folder_of_other_files_before_it_measures(made: str, said: str, run, folder: Path) -> None:
    (folder / made).parent.mkdir(parents=True, exist_ok=True)
    (folder / made).write_text("mine", encoding="utf-8")
    code, out, err = run("demo", "--retriever", "bm25")
    assert (code, out) == (2, "")
    assert said in err
