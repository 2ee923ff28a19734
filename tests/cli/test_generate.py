from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.apps.generation.engine import generate
from raglift.apps.generation.questions import DEFAULT_STYLES
from raglift.cli.labels import Generate
from raglift.datasets.loading import load_dataset
from raglift.llm.language_models import DEFAULT_MODEL
from raglift.testing.openai_server import OpenAIServer

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]


def test_a_corpus_becomes_a_file_that_can_be_evaluated(question_writer: OpenAIServer, run: Run, tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    code, said, told = run("labels", "generate", "lighthouse", "-n", "10", "-o", queries)
    assert code == 0, told
    assert "openai:gpt-4o-mini: 24 prompts, about" in told
    assert "up to 3 times as much" in told
    assert f"wrote 10 questions to {queries}" in told
    assert "lighthouse-synthetic: 10 of 10 questions, by openai:gpt-4o-mini, seed 0" in said
    assert len(load_dataset(queries, documents="lighthouse")) == 10
    code, said, _ = run("labels", "check", queries, "--documents", "lighthouse", "--strict", "--embedding", "none")
    assert code == 0
    assert "is broken; 0 warnings" in said


def test_what_help_says_is_what_holds() -> None:
    given = inspect.signature(Generate).parameters
    assert ",".join(given["styles"].default) == DEFAULT_STYLES
    assert given["model"].default == DEFAULT_MODEL
    asked = inspect.signature(generate).parameters
    assert all(given[name].default == asked[name].default for name in ("n", "seed", "passage_size", "model"))
    assert asked["styles"].default == DEFAULT_STYLES


def test_json_and_a_folder(question_writer: OpenAIServer, run: Run, tmp_path: Path) -> None:
    source = tmp_path / "texts"
    source.mkdir()
    for document in load_dataset("lighthouse").documents[:4]:
        (source / Path(document.id).name).write_text(document.text, encoding="utf-8")
    out = tmp_path / "made"
    code, said, error = run("labels", "generate", source, "-n", "3", "--output", out, "--styles", "natural", "--json")
    assert code == 0, error
    told = json.loads(said)
    assert (told["dataset"], told["requested"], told["accepted"]) == ("texts-synthetic", 3, 3)
    dataset = load_dataset(out)
    assert (len(dataset), len(dataset.documents)) == (3, 4)


def test_when_nothing_is_kept_the_report_says_why(question_writer: OpenAIServer, run: Run, tmp_path: Path) -> None:
    question_writer.replies = lambda messages, schema: {"question": "", "quotes": []}
    out = tmp_path / "queries.jsonl"
    code, said, told = run("labels", "generate", "lighthouse", "-n", "2", "--output", out)
    assert code == 1
    assert "question too short (" in said
    assert "no question was accepted, so" in told
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--output: found none; expected a .jsonl file or a new folder"),
        (["--output", "queries.csv"], "expected a .jsonl file or a new folder"),
        (["--output", "there.jsonl"], "already there; expected a new name, or --overwrite"),
        (["--output", "there"], "a folder that is not there yet: none is replaced"),
        (["--output", "there.jsonl/q.jsonl"], "expected a place that can be written to"),
        (["--output", "q.jsonl", "--styles", "riddle"], "styles: found 'riddle'"),
    ],
)
def test_command_lines_that_make_no_sense(
    arguments: list[str],
    message: str,
    question_writer: OpenAIServer,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.jsonl").touch()
    Path("there").mkdir()
    code, _, told = run("labels", "generate", "lighthouse", *arguments)
    assert code == 2
    assert message in told
    assert question_writer.requests == []


@pytest.mark.full
def test_a_killed_run_resumes_where_it_stopped(question_writer: OpenAIServer, run: Run, tmp_path: Path) -> None:
    right: Any = question_writer.replies
    answered: list[str] = []

    def slow(messages: Any, schema: Any) -> Any:
        time.sleep(0.1)
        answered.append(messages[-1]["content"])
        return right(messages, schema)

    question_writer.replies = slow
    arguments = ["labels", "generate", "lighthouse", "-n", "12", "--concurrency", "2", "--output"]
    program = [sys.executable, "-m", "raglift", *arguments, str(tmp_path / "killed.jsonl")]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while len(answered) < 14 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed.jsonl").exists()
    time.sleep(0.3)
    before = len(answered)
    code, _, told = run(*arguments, tmp_path / "again.jsonl")
    assert code == 0, told
    # What was under way when it was killed is asked again, and nothing else
    assert len(answered) - len(set(answered)) <= 2
    assert 14 <= before < len(set(answered))
    code, said, _ = run(*arguments, tmp_path / "whole.jsonl")
    assert code == 0
    assert "0 input and 0 output tokens billed" in " ".join(said.split())
    assert (tmp_path / "whole.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()


def test_an_estimate_asks_nothing_and_writes_nothing(question_writer: OpenAIServer, run: Run, tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    code, out, err = run("labels", "generate", "lighthouse", "-n", "10", "-o", queries, "--estimate")
    assert (code, out, queries.exists(), question_writer.requests) == (0, "", False, [])
    assert "openai:gpt-4o-mini: 24 prompts, about" in err
    assert "up to 3 times as much where few are" in err
