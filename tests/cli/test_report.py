"""`raglift report`: saved runs become a page, Markdown or tables."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

import raglift as rl
from raglift.repairing import Repairs
from raglift.sweep.engine import run_sweep
from raglift.sweep.specification.record import Sweep
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query

pytestmark = pytest.mark.slow


@pytest.fixture
def runs(ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of saved runs: `base` and `reranked`."""
    tags = [["hard"], ["easy"], []] * 10
    ranked([2] * 30, tags=tags).save(tmp_path / "base")
    ranked([2] * 30, reranked=[1] * 25 + [3] * 5, tags=tags).save(tmp_path / "reranked")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """The folder of a sweep of two cells, next to the runs."""
    text = "The lamp is lit at dusk. The horn sounds in fog. The boat brings coal. The keeper trims the wick."
    answers = ("The lamp is lit at dusk.", "The boat brings coal.")
    queries = tuple(Query(f"q{place}", answer, (Fact((Passage(answer),)),)) for place, answer in enumerate(answers))
    dataset = Dataset(queries, (Document("log", text),), "island")
    chunkers = ["recursive:30/0", "recursive:60/0"]
    wanted = Sweep(dataset=dataset, chunkers=chunkers, retrievers=["bm25"], ks=(1,), candidates=3, primary="ndcg@1")
    return run_sweep(wanted, tmp_path / "sweep", progress=False).folder


def page(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_one_run_becomes_the_page_that_the_library_writes(run, runs: Path) -> None:
    code, out, err = run("report", "reranked", "--primary", "rr@3", "--confidence", "0.9", "--seed", "2")
    assert (code, out, err) == (0, "", "written to report.html\n")
    path = rl.load_evaluation("reranked").report(runs / "other.html", primary="rr@3", confidence=0.9, seed=2)
    assert page(runs / "report.html") == page(path)
    assert "after [90%]" in page(path)


def test_several_runs_become_a_comparison(run, runs: Path) -> None:
    options = ("--names", "old, new", "--baseline", "new", "--primary", "rr@3", "-o", "out.html")
    code, _, err = run("report", "base", "reranked", *options)
    assert (code, err) == (0, "written to out.html\n")
    written = page(runs / "out.html")
    assert "2 systems compared" in written
    assert "old is worse than new" in written


def test_a_sweeps_folder_becomes_its_page(run, runs: Path, sweep: Path) -> None:
    code, _, err = run("report", sweep, "--primary", "recall@1", "--baseline", "recursive:60/0 · bm25 · none")
    assert (code, err) == (0, "written to report.html\n")
    assert "2 of 2 configurations measured" in page(runs / "report.html")
    assert ">Recall@1</button>" in page(runs / "report.html")
    assert run("report", sweep, "--seed", "3", "-o", "seeded.html")[0] == 0
    assert ">NDCG@1</button>" in page(runs / "seeded.html")
    code, _, err = run("report", sweep, "base")
    assert code == 2
    assert f"found the folder of a sweep, {sweep}, among 2 folders; expected it alone, or cells of it" in err


def test_other_formats_by_ending_or_by_name(run, runs: Path) -> None:
    code, out, _ = run("report", "reranked", "--format", "markdown")
    assert (code, out) == (0, rl.load_evaluation("reranked").to_markdown())
    code, out, err = run("report", "reranked", "-o", "short.md")
    assert (code, out, err) == (0, "", "written to short.md\n")
    code, out, _ = run("report", "base", "reranked", "--primary", "rr@3", "--format", "markdown")
    assert (code, out) == (0, rl.compare(["base", "reranked"], primary="rr@3").to_markdown())
    code, _, err = run("report", "base", "reranked", "--primary", "rr@3", "-o", "results.csv")
    assert (code, err) == (0, "written to results.csv and results.queries.csv\n")
    assert set(pd.read_csv(runs / "results.csv")["system"]) == {"base", "reranked"}
    assert run("report", "base", "--format", "parquet")[0] == 0
    assert len(pd.read_parquet(runs / "report.queries.parquet")) == 30 * 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "nowhere: found no such folder; expected that of a saved evaluation"),
        (["base", "-o", "."], "found a folder; expected the name of a file"),
        (["base", "-o", "no/such/report.html"], "found no folder"),
        (["base", "--format", "pdf"], "--format: found 'pdf'; expected one of html, markdown, csv, parquet"),
        (["base", "--format", "csv", "-o", "report.html"], "found the ending '.html'; expected .csv or .parquet"),
        (["base", "--baseline", "base"], "report: found --baseline with one run"),
        (["base", "--primary", "ndcg@10"], "primary: found ndcg@10, which was not scored"),
        (["base", "reranked", "--names", "one"], "names: found 1; expected 2"),
        (["base", "--confidence", "2"], "confidence: found 2"),
        (["base", "--format", "markdown", "-o", "base"], "base: found something there; expected a free name"),
    ],
)
def test_bad_input_is_one_clear_message(run, runs: Path, arguments: list[str], told: str) -> None:
    code, out, err = run("report", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert err.startswith("raglift: error: ")
    assert sorted(path.name for path in runs.iterdir()) == ["base", "reranked"]


def test_a_folder_of_runs_becomes_an_index_with_a_page_for_each(run, runs: Path, sweep: Path) -> None:
    (runs / "broken").mkdir()
    (runs / "broken" / "run.json").write_text("{", encoding="utf-8")
    assert run("report", ".")[0] == 0
    written = page(runs / "index.html")
    for name in ("base", "reranked"):
        assert f'<a href="reports/{name}.html">{name}</a>' in written
        assert (runs / "reports" / f"{name}.html").is_file()
    assert "broken is not shown: " in written
    assert "raglift report sweep" in written
    before = (runs / "reports" / "base.html").stat().st_mtime_ns
    assert run("report", ".", "--output", "reports/all.html")[0] == 0
    assert '<a href="base.html">base</a>' in page(runs / "reports" / "all.html")
    assert (runs / "reports" / "base.html").stat().st_mtime_ns == before
    Repairs("bm25", 3, 1, (), (), ()).save(runs / "base")
    os.utime(runs / "base" / "repairs.json", ns=(before + 10**9, before + 10**9))
    assert run("report", ".")[0] == 0
    assert "Why facts are lost" in page(runs / "reports" / "base.html")
    assert run("report", ".", "--baseline", "base")[0] == 2
    assert run("report", "broken", "--overwrite")[0] == 2
    (runs / "all" / "unread").mkdir(parents=True)
    (runs / "broken" / "run.json").rename(runs / "all" / "unread" / "run.json")
    code, _, err = run("report", "all")
    assert (code, "all: found no run that can be read; the first: unread is not shown: " in err) == (2, True)
