"""`raglift sweep`: plan, run, stop, go on, and print what is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SWEEP = """
dataset: lighthouse
chunkers: [recursive:1000/100, recursive:400/0]
retrievers: bm25
ks: [1, 5]
primary: ndcg@5
"""

SYSTEMS = """
dataset: lighthouse
systems: [a_sleepy_system:quick, a_sleepy_system:slow]
ks: [1, 5]
primary: ndcg@5
"""

SLEEPY = """
import os, time
from pathlib import Path

def quick():
    return lambda question: ["The horn gives two blasts.", "The lamp is lit at dusk."]

def slow():
    def search(question):
        if os.environ.get("SLEEPY"):
            Path("asked").touch()
            time.sleep(0.3)
        return ["The lamp is lit at dusk."]
    return search

def broken():
    raise OSError("no database")
"""


@pytest.fixture
def run(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Run `raglift sweep` in a folder with a sweep; returns (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sizes.yaml").write_text(SWEEP, encoding="utf-8")
    return partial(run, "sweep")


def test_a_sweep_prints_its_plan_then_its_cells_and_where_they_are(run, tmp_path: Path) -> None:
    code, out, err = run("sizes.yaml")
    assert code == 0
    assert "split     recursive:1000/100" in err
    assert err.endswith("kept in runs/sizes\n")
    assert out.startswith(
        "lighthouse: 2 of 2 configurations measured\n"
        "40 labelled questions; by NDCG@5; match by coverage (threshold 0.5); all with bm25, all without a\n"
        "reranker\n\n"
        "Use recursive:1000/100 · bm25: it puts the right passage first for "
    )
    assert "\n400/0 " in out
    assert "\nNext: raglift report runs/sizes shows every question; raglift sweep runs/sizes --all prints " in out
    code, out, _ = run("runs/sizes", "--all")
    assert (code, "\nWins and losses against " in out) == (0, True)
    assert len(list((tmp_path / "runs/sizes/cells").iterdir())) == 2


def test_a_plan_is_all_there_is_with_plan(run, tmp_path: Path) -> None:
    code, out, err = run("sizes.yaml", "--plan")
    assert (code, err) == (0, "")
    assert "retrieve  2 rankings of 43 questions" in out
    code, out, _ = run("sizes.yaml", "--plan", "--json")
    plan = json.loads(out)
    assert (code, len(plan["cells"]), plan["rankings"], plan["finished"]) == (0, 2, 2, 0)
    assert [entry["chunker"] for entry in plan["chunkings"]] == ["recursive:1000/100", "recursive:400/0"]
    assert not (tmp_path / "runs").exists()


def test_results_as_json_are_the_results_and_nothing_else(run) -> None:
    code, out, _ = run("sizes.yaml", "--json", "-o", "here")
    found = json.loads(out)
    assert (code, found["title"], found["primary"], len(found["cells"])) == (0, "lighthouse", "ndcg@5", 2)
    assert found["best"] in [entry["cell"] for entry in found["cells"]]
    (row,) = [row for row in found["cells"][0]["metrics"] if row["metric"] == "ndcg@5"]
    assert (row["n"], row["before"], row["lift"]) == (40, None, None)
    assert 0 < row["mean_low"] < row["mean"] < row["mean_high"] < 1
    (chunker,) = found["effects"]["factors"]
    assert (chunker["factor"], found["effects"]["n"]) == ("chunker", 40)
    assert set(chunker["candidates"]) <= {"recursive:1000/100", "recursive:400/0"}
    assert chunker["differences"][0]["low"] < chunker["differences"][0]["mean"] < chunker["differences"][0]["high"]
    assert run("here", "--json")[:2] == (0, out)


def test_a_folder_that_holds_a_sweep_is_gone_on_with_only_when_asked(run) -> None:
    run("sizes.yaml", "-o", "here")
    code, out, err = run("sizes.yaml", "-o", "here")
    assert (code, out) == (2, "")
    assert "raglift: error: here: found a sweep there already (2 configurations finished)" in err
    assert "--resume" in err
    code, out, err = run("sizes.yaml", "-o", "here", "--resume")
    assert code == 0
    assert "2 finished already" in err
    assert "2 of 2 configurations measured" in out


def test_a_folder_is_printed_as_it_is(run) -> None:
    printed = run("sizes.yaml", "-o", "here")[1]
    assert run("here") == (0, printed, "")
    for option in (["--plan"], ["--resume"], ["--output", "there"]):
        code, out, err = run("here", *option)
        assert (code, out) == (2, "")
        assert f"here: found a folder with {option[0]}; expected the sweep's YAML file" in err
    code, _, err = run(".")
    assert code == 2
    assert "found no sweep.json; expected the folder of a sweep" in err


def test_when_every_cell_fails_that_is_the_end(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_broken_system.py").write_text(SLEEPY, encoding="utf-8")
    (tmp_path / "broken.yaml").write_text(
        SYSTEMS.replace("[a_sleepy_system:quick, a_sleepy_system:slow]", "a_broken_system:broken"), encoding="utf-8"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    code, out, err = run("broken.yaml")
    assert code == 2
    assert "0 of 1 configuration measured" in out
    assert (
        "raglift: error: every configuration failed; the first: ConfigurationError: system: a_broken_system:broken()"
        in err
    )


def test_when_some_cells_fail_the_rest_is_printed_and_the_exit_code_says_so(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_half_broken_system.py").write_text(SLEEPY, encoding="utf-8")
    systems = "[a_half_broken_system:quick, a_half_broken_system:broken]"
    (tmp_path / "half.yaml").write_text(
        SYSTEMS.replace("[a_sleepy_system:quick, a_sleepy_system:slow]", systems), encoding="utf-8"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    code, out, _ = run("half.yaml")
    assert code == 1
    assert "1 of 2 configurations measured" in out
    assert "! 1 configuration failed: ConfigurationError" in out


def start(folder: Path, *arguments: str, **settings: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **settings}
    return subprocess.Popen(
        [sys.executable, "-c", "from raglift.cli import main; main()", "sweep", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path) -> None:
    for _ in range(3000):
        if path.exists():
            return
        time.sleep(0.02)
    pytest.fail(f"{path} was not made")


def test_ctrl_c_says_how_to_resume_and_that_resumes(run, tmp_path: Path) -> None:
    (tmp_path / "a_sleepy_system.py").write_text(SLEEPY, encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(SYSTEMS, encoding="utf-8")
    process = start(tmp_path, "mine.yaml", SLEEPY="1")
    wait_for(tmp_path / "asked")
    # While it runs, nobody else may work there
    code, _, err = run("mine.yaml", "--resume")
    assert code == 2
    assert "runs/mine: another process is working on this sweep" in err
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.endswith("\nraglift: stopped: what is finished is kept in runs/mine: continue with --resume\n")
    assert "Traceback" not in err
    stopped = run("runs/mine")[1]
    assert "1 of 2 configurations measured" in stopped
    assert "! 1 configuration not measured yet: continue with --resume" in stopped
    done = start(tmp_path, "mine.yaml", "--resume")
    out, err = done.communicate(timeout=60)
    assert done.returncode == 0, err
    assert "2 of 2 configurations measured" in out
    assert "1 finished already" in err


def test_the_budget_of_the_option_comes_before_that_of_the_file(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text("dataset: lighthouse\nretrievers: bm25\nbudget: 700\n", encoding="utf-8")
    for options, budget in (((), 700), (("--budget", "900"), 900)):
        code, _, err = run("own.yaml", "-o", f"own{budget}", "--json", *options)
        assert code == 0, err
        sweep = json.loads(Path(f"own{budget}/sweep.json").read_text(encoding="utf-8"))
        assert sweep["sweep"]["budget"] == budget
    code, _, err = run("own.yaml", "--budget", "0")
    assert (code, "--budget: found 0" in err) == (2, True)


def test_what_is_finished_when_ctrl_c_comes_is_kept(run, tmp_path: Path) -> None:
    text = SYSTEMS.replace("a_sleepy_system", "a_stopped_system")
    (tmp_path / "sizes.yaml").write_text(text, encoding="utf-8")
    code = SLEEPY.replace("def search(question):\n", "def search(question):\n        raise KeyboardInterrupt\n")
    (tmp_path / "a_stopped_system.py").write_text(code, encoding="utf-8")
    found, out, err = run("sizes.yaml")
    assert (found, out) == (130, "")
    assert "raglift: stopped: what is finished is kept in runs/sizes: continue with --resume" in err


def test_a_margin_is_a_share(run) -> None:
    code, out, err = run("sizes.yaml", "--margin", "-1")
    assert (code, out) == (2, "")
    assert "margin: found -1" in err
