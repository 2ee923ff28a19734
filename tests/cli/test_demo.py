"""`raglift demo`: what it prints, writes and leaves alone."""

from __future__ import annotations

import json
import re
import shlex
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path

import pytest

from raglift.cli import demo
from raglift.errors import ConfigurationError
from raglift.report.page import rendering
from raglift.types.anchors import Resolution
from raglift.types.dataset import Dataset


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the demonstration runs in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.mark.full
def test_demo_prints_a_verdict_five_metrics_and_what_to_do_next_in_25_lines(run, folder: Path) -> None:
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) <= 25
    verdict = r"^The reranker helped: the right passage comes first for \d+% of questions"
    assert re.search(verdict, out, re.MULTILINE)
    metrics = ["NDCG@10", "Recall@10", "MRR@10", "HitRate@10", "Precision@10"]
    assert [line.split()[0] for line in out.splitlines() if line.startswith(tuple(metrics))] == metrics
    assert re.search(r"50 facts .*: \d+ found by rank 10", out)
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


@pytest.mark.slow
def test_without_the_models_or_the_pages_libraries_the_demo_shows_what_bm25_found(
    run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "CORPUS", "lighthouse")
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    code, out, err = run("demo", "--retriever", "bm25", "--open")
    page = folder / "raglift-demo" / "report.html"
    assert (code, err, opened) == (0, "", [page.as_uri()])
    assert "\nReport: raglift-demo/report.html\n" in out
    for package in ("torch", "faiss", "jinja2"):
        monkeypatch.setitem(sys.modules, package, None)
    rendering._environment.cache_clear()
    code, out, err = run("demo", "--open")
    first, second = err.splitlines()
    assert (code, len(opened)) == (0, 1)
    assert re.match("BM25 alone: .* needs the package .*, which is not installed", first), err
    assert re.match("no report: .* needs the package 'jinja2', which is not installed", second), err
    assert "Report:" not in out
    assert "lighthouse: " in out
    code, out, _ = run("demo", "--retriever", "bm25", "--json")
    assert (code, json.loads(out)["queries"]) == (0, 43)


@pytest.mark.slow
def test_the_demo_says_before_it_measures_that_its_folder_cannot_be_written(run, folder: Path) -> None:
    (folder / "file").write_text("mine", encoding="utf-8")
    (folder / "raglift-demo").mkdir()
    (folder / "raglift-demo" / "report.html").write_text("mine", encoding="utf-8")
    for output, said in (
        ("file/demo", "expected a place that can be written to: .*/file is none"),
        ("raglift-demo", "is not a report of raglift, and so is not overwritten"),
    ):
        code, out, err = run("demo", "--retriever", "bm25", "-o", output)
        assert (code, out) == (2, "")
        assert re.search(said, err)


@pytest.mark.slow
def test_what_was_measured_is_shown_also_where_it_cannot_be_saved(
    run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "CORPUS", "lighthouse")
    monkeypatch.setattr(demo, "evaluate", in_a_folder_that_is_taken(folder / "raglift-demo", demo.evaluate))
    code, out, err = run("demo", "--retriever", "bm25")
    assert code == 2
    assert "Where the 50 facts" in out
    assert err.startswith("raglift: error: raglift-demo/run: ")


def in_a_folder_that_is_taken(folder: Path, evaluate):
    """Return an evaluation during which somebody puts a file where its folder would be."""

    def measured(*arguments, **options):
        folder.write_text("mine", encoding="utf-8")
        return evaluate(*arguments, **options)

    return measured


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--question", "q1", "--all"), "walkthrough: found --question and --all; expected one of them"),
        (("--question", "How old is the cat?"), "--question: 'How old is the cat?' is not in lighthouse; expected "),
    ],
)
def test_a_walkthrough_needs_questions_of_the_corpus(run, options: tuple[str, ...], said: str) -> None:
    code, out, err = run("walkthrough", "--corpus", "lighthouse", *options)
    assert (code, out) == (2, "")
    assert said in err


def test_a_question_is_found_by_its_id_or_its_text_however_it_is_typed() -> None:
    dataset = Dataset.from_dict({"Who “keeps” it?": ["the keeper"], "???": ["the log"]})
    first, second = dataset.queries
    assert demo._find(dataset, 'who "keeps"  it') == demo._find(dataset, first.id) == first
    assert demo._find(dataset, "???") == second
    without = replace(dataset, resolution=Resolution(queries_left_out=("why",)))
    with pytest.raises(ConfigurationError, match="'why' is left out, because none of its labels resolves"):
        demo._find(without, "why")
