"""Systems that misbehave: each fails as the one query that it is, in time, and nothing after it notices."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.errors import MetricFailed
from raglift.metrics.registry import MEASURES

from .users_code import BAD, DATASET, GOOD, HALTED, SYSTEMS, TIMEOUT, answer, halt

ROOT = Path(__file__).parents[2]
MODES = ("plain", "notebook")
LIMIT = 90.0
SLACK = 2.0
"""Seconds that a busy machine may take longer for what takes milliseconds."""

pytestmark = pytest.mark.slow


def run(mode: str) -> tuple[list[dict[str, Any]], str]:
    """Return the lines that the program printed before it ended or was killed, and what it said."""
    command = [sys.executable, "-m", "tests.robustness.users_code", mode]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"killed after {LIMIT:g} s"
    return [json.loads(line) for line in out.splitlines()], err


@pytest.fixture(scope="module")
def measured() -> dict[str, tuple[list[dict[str, Any]], str]]:
    with ThreadPoolExecutor(len(MODES)) as both:
        return dict(zip(MODES, both.map(run, MODES), strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_that_misbehaves(measured: Any, name: str, mode: str) -> None:
    rows = [row for row in measured[mode][0] if row["system"] == name]
    assert rows, f"the process hung: {measured[mode][1]}"
    expected = SYSTEMS[name][1]
    for row in rows:
        if expected is None:
            assert row["errors"] == {}
        else:
            assert expected in row["errors"][BAD]
            assert len(row["errors"][BAD]) < 500
        assert row["seconds"] < TIMEOUT + SLACK
        for good in GOOD:
            seconds, errors = row["after"][good]
            assert errors == {}, f"{good}, measured afterwards"
            assert seconds < SLACK, f"{good}, measured afterwards"


@pytest.mark.parametrize("mode", MODES)
def test_the_process_ends_and_says_nothing_of_what_was_abandoned(measured: Any, mode: str) -> None:
    rows, err = measured[mode]
    assert rows[-1]["system"] == "all"
    assert err == ""


INTERRUPTED = """
import asyncio, os, signal, sys, threading, time
import raglift as rl
from tests.robustness.users_code import DATASET, SYSTEMS, answer

started = time.perf_counter()

def press():
    global started
    time.sleep(0.4)
    started = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)

async def good(query):
    return answer(query)

def measure(system, **options):
    return rl.evaluate(system, DATASET, ks=(1,), metrics=["hit_rate"], progress=False, **options)

async def cell():
    measure(system, concurrency=2)

measure(good), measure(answer)
for name in sys.argv[2:]:
    system = SYSTEMS[name][0]
    threading.Thread(target=press, daemon=True).start()
    try:
        asyncio.run(cell()) if sys.argv[1] == "notebook" else measure(system, concurrency=2)
    except KeyboardInterrupt:
        print("stopped" if time.perf_counter() - started < 1.5 else "late", end=" ")
    started = time.perf_counter()
    found = [measure(each, timeout=20).run.traces for each in (good, answer)]
    ok = not any(trace.error for traces in found for trace in traces)
    print(ok and time.perf_counter() - started < 1.5, flush=True)
"""
WITHOUT_END = ["async: blocks", "async: swallows its cancellation", "async: stops its loop", "hangs"]


@pytest.mark.parametrize("mode", [MODES[0], *(pytest.param(mode, marks=pytest.mark.full) for mode in MODES[1:])])
def test_ctrl_c_stops_a_system_without_a_timeout_and_the_next_evaluations_work(mode: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, mode, *WITHOUT_END]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (["stopped True"] * len(WITHOUT_END), "")


NATIVE = """
import sys, torch
import raglift as rl
from raglift.records.dataset import Dataset

torch.set_num_threads(1)
matrix = torch.rand(300, 300)

def search(query):
    while query == "question 1":
        matrix @ matrix
    return ["answer"]

async def asearch(query):
    return search(query)

dataset = Dataset.from_dict({f"question {number}": ["answer"] for number in range(3)})
for system in (search, asearch):
    rl.evaluate(system, dataset, ks=(1,), metrics=["hit_rate"], timeout=0.3, progress=False)
print("ends")
"""


def test_a_program_ends_while_calls_that_timed_out_are_in_native_code() -> None:
    done = subprocess.run([sys.executable, "-c", NATIVE], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")


OTHER_EXCEPTIONS = """
from tests.robustness.users_code import Halt, halt, raising

search = raising(halt)

def always(query):
    raise halt()

def build():
    raise halt()
"""


@pytest.mark.parametrize(
    ("name", "module", "said"),
    [
        pytest.param("always", "", "retrieve: {halted}", id="for each query"),
        pytest.param("build", "", "build() failed: {halted}", id="when it is made"),
        pytest.param(
            "search",
            "raise halt()",
            "failed: {halted}",
            id="when it is imported",
        ),
    ],
)
def test_an_exception_that_is_no_exception_of_pythons_is_one_line(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, said: str
) -> None:
    source = f"halting_{abs(hash((name, module)))}"
    (tmp_path / f"{source}.py").write_text(OTHER_EXCEPTIONS + module, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    code, out, err = run("evaluate", "lighthouse", "--system", f"{source}:{name}")
    assert code == 2
    assert said.format(halted=HALTED) in err
    assert "\x1b" not in out + err
    assert not [line for line in err.splitlines() if line.startswith("FORGED")]


def test_a_metric_that_raises_an_exception_that_is_none_of_pythons_is_an_error_of_the_metric() -> None:
    @rl.metrics.metric("halting")
    def halting(ranking: Any) -> float:
        raise halt()

    try:
        with pytest.raises(MetricFailed, match="Halt"):
            rl.evaluate(answer, DATASET, ks=(1,), metrics=["halting"], progress=False)
    finally:
        del MEASURES["halting"]


# Metadata that cannot be written.


def odd_metadata() -> dict[str, object]:
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    deep: list[object] = []
    for _ in range(2000):
        deep = [deep]
    return {"cyclic": cyclic, "deep": deep, "repr raises": Unprintable()}


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("kind", odd_metadata())
def test_metadata_that_cannot_be_written_costs_no_run_and_is_asked_for_once(kind: str, tmp_path: Path) -> None:
    gold = "the gold passage that answers it in full"
    data = rl.Dataset.from_dict({f"question {number}": [gold] for number in range(4)})
    asked: list[str] = []

    def system(query: str) -> list[dict[str, object]]:
        asked.append(query)
        return [{"text": gold, "metadata": {"source": "a.md", "odd": odd_metadata()[kind]}}]

    for _ in range(2):
        evaluation = rl.evaluate(system, data, ks=(1,), progress=False, answers=tmp_path / "answers")
    evaluation.save(tmp_path / "run")
    traces = rl.load_evaluation(tmp_path / "run").run.traces
    assert [trace.error for trace in traces] == [None] * 4
    assert traces[0].stages[0].ranking[0].chunk.metadata["source"] == "a.md"
    assert len(asked) == 4
