"""`raglift evaluate`: what becomes of a run that a user's system or metric ends."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from raglift.cli.evaluate import depths, numbers_of_hits
from raglift.errors import ConfigurationError
from raglift.results import load_evaluation

Run = Callable[..., tuple[int, str, str]]

SYSTEM = """
import os
import sys

ASKED = []


def search(query):
    ASKED.append(query)
    if len(ASKED) == {after}:
        {end}
    return ["the " + word for word in query.split()]
"""
METRIC = """
from raglift.metrics import metric


@metric("{name}")
def broken(ranking):
    return 1 / 0


def search(query):
    return ["the " + word for word in query.split()]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a labelled set of three queries."""
    words = ("lamp", "horn", "boat")
    lines = [json.dumps({"id": word, "query": f"find {word}", "relevant": [f"the {word}"]}) for word in words]
    (tmp_path / "labels.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def system(folder: Path, name: str, end: str, *, after: int) -> tuple[str, ...]:
    """Write a system that ends at a query; return the command that evaluates it."""
    (folder / f"{name}.py").write_text(SYSTEM.format(end=end, after=after), encoding="utf-8")
    return ("evaluate", "labels.jsonl", "--system", f"{name}:search", "--reranker", "none", "--concurrency", "1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("raise KeyboardInterrupt", 130, "raglift: stopped: "),
        ("sys.exit(0)", 2, "raglift: error: the system ended the process, as sys.exit(0) does; expected an answer; "),
    ],
)
def test_a_run_that_its_system_ends_says_which_answers_are_kept(
    run: Run, folder: Path, end: str, code: int, said: str
) -> None:
    command = system(folder, f"ends_{code}", end, after=2)
    found, out, err = run(*command)
    assert (found, out) == (code, "")
    assert f"{said}the answers of the system are not kept; with -o FOLDER each is kept as it comes" in err
    at_once = system(folder, f"ends_{code}_at_once", end, after=1)
    _, _, err = run(*at_once, "-o", "first")
    assert f"{said}the system had not answered anything yet, so there is nothing to resume" in err
    assert not Path("first.unfinished").exists()
    command = system(folder, f"ends_{code}_later", end, after=2)
    _, _, err = run(*command, "-o", "later")
    assert f"{said}each answer that came is kept in later.unfinished: the same command with --resume" in err
    found, _, err = run(*command, "-o", "later")
    assert (found, err.partition("; ")[0]) == (
        2,
        "raglift: error: later.unfinished: found answers of a run that was stopped",
    )
    found, _, err = run(*command, "-o", "later", "--resume")
    assert (found, err) == (0, "saved to later\n")
    assert load_evaluation("later").scores.mean("retrieve", "recall@2") == 1.0
    assert not Path("later.unfinished").exists()


@pytest.mark.slow
def test_what_was_retrieved_is_saved_where_a_metric_fails(run: Run, folder: Path) -> None:
    (folder / "fails_once.py").write_text(METRIC.format(name="fails_once"), encoding="utf-8")
    command = ("evaluate", "labels.jsonl", "--reranker", "none", "-k", "3", "--metrics", "mrr,fails_once")
    code, out, err = run(*command, "--system", "fails_once:search", "-o", "kept run")
    assert (code, out) == (2, "")
    assert "fails_once@3" in err
    assert "the metric's own function failed: ZeroDivisionError" in err
    again = "raglift rescore 'kept run' --metrics mrr,fails_once -k 3"
    assert f"without fails_once@3; when it is mended: {again}\n" in err
    assert load_evaluation("kept run").scores.mean("retrieve", "mrr@3") == pytest.approx(1 / 2)
    assert not Path("kept run.unfinished").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "act", ["print('noise')", "os.write(1, b'noise')", "sys.stdout.close()", "sys.stdout = None", "os.close(1)"]
)
def test_what_a_system_does_to_standard_output_does_not_touch_the_results(folder: Path, act: str) -> None:
    command = (sys.executable, "-m", "raglift", *system(folder, "odd", act, after=1), "--json")
    done = subprocess.run(command, capture_output=True, check=True)
    assert json.loads(done.stdout)["queries"] == 3
    assert (b"noise" in done.stderr) == ("noise" in act)


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&- >&-", ">&-", "<&- >&- 2>&-"])
def test_a_run_needs_neither_input_nor_output(folder: Path, closed: str) -> None:
    command = (sys.executable, "-m", "raglift", *system(folder, "prints", "print('noise')", after=1), "-o", "run")
    subprocess.run(["sh", "-c", f"{shlex.join(command)} {closed}"], check=True)
    assert (folder / "run" / "run.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--resume",), "--resume: found it without --output; expected the folder that the run is saved to"),
        (("--repeats", "2"), "--repeats: found 2 without --system; expected it with an agent of your own"),
    ],
)
def test_options_of_a_users_system_are_refused_without_one(
    run: Run, folder: Path, options: tuple[str, ...], said: str
) -> None:
    code, out, err = run("evaluate", "labels.jsonl", *options)
    assert (code, out) == (2, "")
    assert f"raglift: error: {said}" in err


@pytest.mark.parametrize("texts", [("0",), (), ("1", "tokens(x)"), ("-3",)])
def test_depths_are_integers_of_1_or_more(texts: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match=r"-k: found .*; expected integers of 1 or more with commas"):
        depths(texts)


def test_hits_are_not_counted_in_tokens() -> None:
    assert numbers_of_hits(("1", "5")) == (1, 5)
    with pytest.raises(ConfigurationError, match=r"-k: found '1,tokens\(20\)'; expected integers with commas, as"):
        numbers_of_hits(("1", "tokens(20)"))
