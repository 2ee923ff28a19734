"""Users' own systems are killed, interrupted and crashed while they are asked: what they answered is not asked again.

The questions are counted by the system itself, in a file. The one under way when a process dies may be asked twice.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import raglift as rl

pytestmark = pytest.mark.slow

SYSTEM = """
import asyncio, os, sys, time
from datetime import date
from pathlib import Path

TEXTS = ["The lamp is lit at dusk and put out at dawn.", "The horn gives two blasts.", "The boat brings coal."]
PAUSE = float(os.environ.get("PAUSE", "0"))


def note(query):
    with open("asked", "a", encoding="utf-8") as file:
        file.write(query + "\\n")


def hits(query, k):
    if "lens" in query:
        raise KeyError(query)
    found = sorted(TEXTS, key=lambda text: -len(set(text.lower().split()) & set(query.lower().split())))
    return [
        {"id": f"c{TEXTS.index(text)}", "text": text, "score": 1 / (3 + rank), "seen": date(2026, 1, 1 + rank)}
        for rank, text in enumerate(found[:k])
    ]


def search(query, k):
    note(query)
    time.sleep(PAUSE)
    return hits(query, k)


async def asearch(query, k):
    note(query)
    await asyncio.sleep(PAUSE)
    return hits(query, k)
"""
SWEEP = """
dataset: lighthouse
systems: {{slow: {system}, other: "own:other"}}
ks: [1, 3]
primary: ndcg@3
"""
OTHER = """
from system import hits


def other(query, k):
    return hits(query, k)
"""
QUERIES = 43
PAUSE = {"PAUSE": "0.05"}


@dataclass(frozen=True)
class Command:
    """The command line in a folder of its own."""

    folder: Path

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "raglift", *arguments],
            cwd=self.folder,
            env={**os.environ, "RAGLIFT_PROGRESS": "0", "OMP_NUM_THREADS": "1", **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **settings: str) -> tuple[int, str, str]:
        process = self.start(*arguments, **settings)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def stopped(self, how: signal.Signals, questions: int, *arguments: str) -> tuple[int, str]:
        """Run a command until its system was asked so many questions in all; return its exit code, and what it said."""
        process = self.start(*arguments, **PAUSE)
        for _ in range(24_000):
            if len(self.asked) >= questions:
                break
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
        return process.returncode, err

    @property
    def asked(self) -> list[str]:
        path = self.folder / "asked"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str], Command]:
    """Makes a folder with the systems in it."""

    def made(name: str) -> Command:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "system.py").write_text(SYSTEM, encoding="utf-8")
        (folder / "own.py").write_text(OTHER, encoding="utf-8")
        (folder / "mine.yaml").write_text(SWEEP.format(system="system:search"), encoding="utf-8")
        return Command(folder)

    return made


def content(run: Path) -> dict[str, Any]:
    """Return the files of a saved evaluation, without times and what was said about resuming."""
    found: dict[str, Any] = {}
    for path in sorted(run.iterdir()):
        found[path.name] = path.read_bytes()
    traces = [json.loads(line) for line in found["traces.jsonl"].splitlines()]
    for trace in traces:
        for stage in trace["stages"]:
            stage["seconds"] = 0
    head = json.loads(found["run.json"])
    head["spec"]["started"], head["files"] = "", {}  # the times are in the hashes
    for notes in ("notes", "run_notes"):
        head[notes] = [note for note in head[notes] if "earlier attempt" not in str(note)]
    return found | {"traces.jsonl": traces, "run.json": head}


def times_asked(asked: list[str]) -> Counter[str]:
    """Return how often each query was asked that has an answer: one that failed is asked by each attempt."""
    return Counter(query for query in asked if "lens" not in query)


def asked_twice(asked: list[str]) -> dict[str, int]:
    return {query: times for query, times in times_asked(asked).items() if times > 1}


EVALUATE = ("evaluate", "lighthouse", "-k", "1,3", "--output", "runs/one")


THREADS = ("--concurrency", "4")


@pytest.mark.parametrize(
    ("how", "system", "options", "in_flight"),
    [
        pytest.param(signal.SIGKILL, "search", (), 1, id="killed"),
        pytest.param(signal.SIGKILL, "asearch", THREADS, 4, id="killed, async", marks=pytest.mark.full),
    ],
)
def test_an_evaluation_that_is_stopped_asks_nothing_twice(
    make: Callable[[str], Command], how: signal.Signals, system: str, options: tuple[str, ...], in_flight: int
) -> None:
    whole, cut = make("whole"), make("cut")
    line = (*EVALUATE, "--system", f"system:{system}", *options)
    assert whole.run(*line)[0] == 0
    for questions in (15,):
        code, _ = cut.stopped(how, questions, *line, "--resume")
        assert code != 0
    code, out, err = cut.run(*line, "--resume")
    assert code == 0, err
    assert sum(times - 1 for times in asked_twice(cut.asked).values()) <= 2 * in_flight
    assert set(cut.asked) == set(whole.asked)
    assert "answers came from an earlier attempt" in out
    assert content(cut.folder / "runs/one") == content(whole.folder / "runs/one")
    assert [path.name for path in (cut.folder / "runs").iterdir()] == ["one"]


@pytest.mark.full
def test_ctrl_c_of_an_evaluation_says_where_the_answers_are(make: Callable[[str], Command]) -> None:
    command = make("cut")
    line = (*EVALUATE, "--system", "system:search")
    code, err = command.stopped(signal.SIGINT, 10, *line)
    assert code == 130
    assert "runs/one.unfinished" in err
    code, _, err = command.run(*line)
    assert code == 2
    assert len(command.asked) == 10
    code, _, err = command.run(*line, "--overwrite")
    assert (code, len(command.asked)) == (0, 10 + QUERIES)


def test_a_sweep_that_is_gone_on_with_asks_again_what_failed_and_nothing_else(tmp_path: Path) -> None:
    dataset = rl.Dataset.from_dict({f"question {number}": [f"answer {number}"] for number in range(6)})
    asked: list[str] = []
    mended: list[str] = []

    def search(query: str, k: int) -> list[str]:
        asked.append(query)
        if query == "question 3" and not mended:
            raise RuntimeError("no API key")
        return [query.replace("question", "answer")]

    sweep = rl.Sweep(
        dataset=dataset, systems={"mine": search}, rerankers=["none", "cross-encoder"], ks=1, primary="recall@1"
    )

    def recall() -> list[float]:
        found = sweep.run(tmp_path / "sweep", resume=True, progress=False)
        measured = [entry.evaluation for entry in found.finished if entry.evaluation is not None]
        return [evaluation.scores.mean(evaluation.after, "recall@1") for evaluation in measured]

    assert recall() == [5 / 6, 5 / 6]
    asked.clear()
    mended.append("now")
    assert (recall(), asked) == ([1.0, 1.0], ["question 3"])
    asked.clear()
    assert (recall(), asked) == ([1.0, 1.0], [])


def reranker_by(sign: int) -> Any:
    def scores(query: str, texts: list[str]) -> list[float]:
        return [sign * float(query[-1] in text) for text in texts]

    return scores


def scores_times(sign: int, query: str, texts: list[str]) -> list[float]:
    return reranker_by(sign)(query, texts)


@pytest.mark.parametrize("made", [reranker_by, lambda sign: partial(scores_times, sign)], ids=["closure", "partial"])
def test_functions_of_one_name_with_other_settings_do_not_share_answers(made: Any, tmp_path: Path) -> None:
    data = rl.Dataset.from_dict({f"question {number}": [f"the answer {number}"] for number in range(6)})

    def search(query: str) -> list[str]:
        return [f"the answer {number}" for number in range(6)]

    def recall(sign: int) -> float:
        options: Any = {"metrics": ["recall"], "progress": False, "answers": tmp_path / "answers"}
        found = rl.evaluate(search, data, reranker=made(sign), ks=(1,), **options)
        return found.scores.mean("rerank", rl.metrics.Recall @ 1)

    assert [recall(sign) for sign in (1, -1, 1)] == [1.0, 0.0, 1.0]
