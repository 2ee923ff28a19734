"""`raglift search`: run, print, resume, and what is wrong with what was asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from raglift import cli

SPACE = """\
dataset: lighthouse
chunkers:
  - {splitter: recursive, size: {from: 200, to: 800, step: 200}, overlap: [0, 100]}
retrievers: bm25
ks: [5]
metrics: [ndcg]
primary: ndcg@5
candidates: 10
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Run the command line in this process; returns (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.yaml").write_text(SPACE, encoding="utf-8")

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["raglift", "search", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return command


@pytest.mark.slow
def test_a_search_prints_what_to_use_and_how_the_race_went(run, tmp_path: Path) -> None:
    code, out, err = run("space.yaml", "--budget", "share=0.6", "--report", "search.html", "--export-best", "pipeline")
    assert code == 0
    assert out.startswith("lighthouse: best of 8 cells\nby NDCG@5; ")
    assert "budget: 60% of the questions of a full sweep" in out
    assert " has the highest NDCG@5 " in out
    assert "held-out check: not confirmed." in " ".join(out.split())
    assert "Rung by rung" in out
    assert "kept in runs/space\n" in err
    assert "written to search.html" in err
    assert (tmp_path / "pipeline" / "langchain_pipeline.py").is_file()

    code, _, err = run("space.yaml")
    assert code != 0
    assert "runs/space: found a search there already" in err

    code, out, _ = run("space.yaml", "--resume", "--budget", "share=0.6", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["budget"] == "60% of the questions of a full sweep"
    assert told["questions"] <= 0.6 * told["questions_of_a_full_sweep"]
    assert told["recommended"] in {cell["cell"] for cell in told["cells"]}
    assert (told["held_out_check"]["verdict"], len(told["held_out_check"]["held_out"])) == ("not confirmed", 8)
    assert told["recommendation"]["held_out_check"] == told["held_out_check"]
    assert [rung["queries"] for rung in told["rungs"]][-1] == told["queries"] == 32
    assert {cell["fate"] for cell in told["cells"]} <= {"finalist", "dropped", "set aside"}


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ("share=2", "expected a number above 0, at most 1"),
        ("share=0", "expected a number above 0, at most 1"),
        ("minutes=-1", "expected a number above 0"),
        ("cells=2.5", "expected an integer, 1 or more"),
        ("minutes=lots", "expected a number above 0"),
        ("hours=2", "expected one of"),
        ("0.5", "expected one of"),
    ],
)
def test_a_wrong_budget_is_told(run, budget: str, told: str) -> None:
    code, _, err = run("space.yaml", "--budget", budget)
    assert code == 2
    assert f'--budget: found "{budget}"; {told}' in err


def test_a_file_that_is_not_there_or_describes_no_search_is_told(run, tmp_path: Path) -> None:
    code, _, err = run("nowhere.yaml")
    assert code != 0
    assert "nowhere.yaml" in err
    (tmp_path / "space.yaml").write_text("dataset: lighthouse\nbudget: {hours: 2}\n", encoding="utf-8")
    code, _, err = run("space.yaml")
    assert code != 0
    assert "space.yaml:2: budget" in err
