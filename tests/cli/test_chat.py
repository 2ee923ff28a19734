"""`raglift chat`, mostly as a process of its own: on a pseudo-terminal, and in pipes."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raglift.base.retrying import RetryPolicy
from raglift.cli import chat as command_module
from raglift.testing.openai_server import Answer, OpenAIServer

Run = Callable[..., tuple[int, str, str]]
MAIN = [sys.executable, "-c", "from raglift.cli import main; main()"]
FAST = ["chat", "lighthouse", "--retriever", "bm25", "--reranker", "none", "-k", "3", "--context", "2"]
SLOW_ANSWER = Answer(text="Climbing takes 112 steps [1] and then nine rungs [2].", seconds_per_piece=0.5)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def environment(server: OpenAIServer) -> dict[str, str]:
    return {
        **os.environ,
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "test",
        "TERM": "xterm",
        "COLUMNS": "80",
    }


@pytest.fixture
def chat(run: Run, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process, with lines on its standard input."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "test")

    def command(*arguments: str, given: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        return run(*FAST, *arguments)

    return command


def test_a_pipe_keeps_to_the_width_that_columns_says(chat: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    code, out, _ = chat(given="tower-steps\n/help\n")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 60


def test_questions_from_a_pipe_are_headings_with_whole_lines_and_nothing_else(
    chat: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    code, out, err = chat(given="tower-steps\n\nwho cooks?\nexit\nnever asked\n")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "how many steps are there in the tower" in lines
    assert "who cooks?" in lines
    assert "never asked" not in out
    assert "? " not in {line[:2] for line in lines}
    assert "\x1b" not in out
    assert max(map(len, lines)) > 100
    assert "Metrics at k = 3" in lines
    assert sum(line.startswith("openai:gpt-4o-mini, from the first 2 hits:") for line in lines) == 2


def test_questions_on_the_command_line_need_no_input(chat: Run) -> None:
    code, out, _ = chat("--question", "tower-steps", "--question", "who cooks?", given="never asked\n")
    assert code == 0
    assert "who cooks?" in out
    assert "never asked" not in out


def test_json_is_one_object_a_question(chat: Run, server: OpenAIServer) -> None:
    server.answer_next(Answer(text="There are 112 [1][7]."), Answer(status=401))
    code, out, _ = chat("--json", given="tower-steps\nwho cooks?\n")
    first, second = map(json.loads, out.splitlines())
    assert code == 0
    assert first["id"] == "tower-steps"
    assert first["stages"][0]["scores_are"] == "bm25"
    assert len(first["stages"][0]["hits"]) == 3
    assert first["metrics"]["retrieve"]["hit_rate@3"] in (0, 1)
    assert first["answer"]["text"] == "There are 112 [1][7]."
    assert first["answer"]["citations"][0]["chunk_id"] == first["stages"][0]["hits"][0]["chunk_id"]
    assert first["answer"]["unknown"] == [7]
    assert first["prompt"].startswith("answer@")
    assert second["id"] is None
    assert second["metrics"] is None
    assert "401" in second["answer"]["error"]


@pytest.mark.slow
def test_a_provider_with_a_bad_day_ends_answers_and_not_the_session(
    chat: Run, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_module, "RETRY_POLICY", RetryPolicy(attempts=4, first_wait=0))
    server.answer_next(
        *[Answer(status=429)] * 4,
        *[Answer(status=500)] * 4,
        Answer(text="There are one hundred and twelve. " * 20, cut_off=True),
        Answer(refusal="I cannot help with that."),
        Answer(text="All is well [1]."),
    )
    code, out, err = chat(given="one lamp\ntwo lamps\nthree lamps\nfour lamps\nfive lamps\n")
    assert (code, err) == (0, "")
    said = [line for line in out.splitlines() if line.startswith("! ")]
    assert [bool(re.search(what, line)) for what, line in zip(("429", "500", "broke off", "refuse"), said, strict=True)]
    assert out.count("There are one hundred and twelve.") > 1
    assert "(what came stays)" in out
    assert "All is well [1]." in out


@pytest.mark.parametrize("way", ["options", "pipe"])
def test_where_no_question_is_answered_the_exit_code_says_so(chat: Run, server: OpenAIServer, way: str) -> None:
    server.answer_next(*[Answer(status=401)] * 2)
    questions = ["one lamp", "two lamps"]
    options = [f"--question={question}" for question in questions] if way == "options" else []
    code, out, err = chat(*options, given="".join(f"{question}\n" for question in questions))
    assert (code, out.count("Is the API key right")) == (1, 2)
    assert err == "raglift: 2 questions asked, and none came to an answer: see above\n"


def test_without_a_key_retrieval_continues_and_says_once_what_to_set(
    chat: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.chdir(tmp_path)
    code, out, err = chat(given="tower-steps\nwho cooks?\n")
    assert code == 0
    assert err.count("\n") == 1
    assert err.startswith("retrieval only, no answers: ")
    assert "set OPENAI_API_KEY" in err
    assert "Metrics at k = 3" in out
    assert "from the first" not in out


def test_no_model_may_be_asked_for(chat: Run, server: OpenAIServer) -> None:
    assert chat("--model", "none", given="tower-steps\n")[2] == ""
    assert server.requests == []


def test_documents_alone_can_be_asked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.md").write_text("The lamp was lit in 1871.", encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO("lamp\n"))
    code, out, _ = run("chat", "--documents", tmp_path, *FAST[2:], "--model", "none")
    assert code == 0
    assert "notes.md 0–25" in out


def test_a_system_of_ones_own_can_be_asked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_chat_system.py").write_text("def retriever(query):\n    return [query + ' is answered here']\n")
    monkeypatch.chdir(tmp_path)
    arguments = ("--system", "own_chat_system:retriever", "--reranker", "none", "--model", "none")
    code, out, _ = run("chat", *arguments, "--question", "why")
    assert code == 0
    assert "why is answered here" in out


@pytest.mark.parametrize("option", [("-k", "0"), ("--context", "0"), ("--profile", "x"), ("--temperature", "hot")])
def test_options_that_cannot_be_used_end_with_one_message(chat: Run, option: tuple[str, str]) -> None:
    code, out, err = chat(*option, given="who cooks?\n")
    assert (code, out) == (2, "")
    assert err.startswith("raglift: error: ")


@pytest.mark.slow
def test_pieces_are_on_standard_output_before_the_last_is_sent_and_ctrl_c_keeps_them(
    server: OpenAIServer, environment: dict[str, str]
) -> None:
    server.answer_next(SLOW_ANSWER)
    with subprocess.Popen(
        [*MAIN, *FAST, "--question", "tower-steps"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout
        seen = read_until(process.stdout.fileno(), "Climbing takes")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    answer = (seen + out.decode()).partition("hits:")[2]
    assert "! stopped: this is what came" in answer
    assert "rungs" not in answer
    assert err.decode().strip() == "raglift: stopped: what was found and answered stands above"


@pytest.mark.slow
def test_ctrl_c_while_the_system_is_made_ends_as_other_commands_do(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import os, signal, time\ndef system():\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(20)\n"
    )
    command = [*MAIN, "chat", "--system", "interrupted:system", "--model", "none", "--question", "why"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 130
    assert "raglift: stopped" in done.stderr
    assert done.stdout == ""


class Terminal:
    """The command on a pseudo-terminal."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.leader, follower = pty.openpty()
        self.process = subprocess.Popen(
            [*MAIN, *arguments], stdin=follower, stdout=follower, stderr=follower, env=environment
        )
        os.close(follower)

    def type(self, text: str) -> None:
        os.write(self.leader, text.encode())

    def until(self, text: str) -> str:
        return read_until(self.leader, text)

    def interrupted_at_the_prompt(self) -> str:
        """Press Ctrl-C until there is a prompt again: readline may miss one just as it begins to wait."""
        for _ in range(100):
            self.process.send_signal(signal.SIGINT)
            if select.select([self.leader], [], [], 0.5)[0]:
                return self.until("\r\n? ")
        pytest.fail("Ctrl-C at the prompt did nothing")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.leader)


def read_until(source: int, wanted: str, seconds: float = 60.0) -> str:
    """Read what a process prints until it printed something."""
    seen, end = b"", time.monotonic() + seconds
    while wanted not in seen.decode(errors="replace"):
        ready, _, _ = select.select([source], [], [], max(0.0, end - time.monotonic()))
        part = os.read(source, 4096) if ready else b""
        assert part, f"waited for {wanted!r}; came: {seen.decode(errors='replace')}"
        seen += part
    return seen.decode(errors="replace")


@pytest.mark.slow
def test_a_session_at_a_terminal_survives_ctrl_c(server: OpenAIServer, environment: dict[str, str]) -> None:
    server.answer_next(SLOW_ANSWER, Answer(text="Climbing takes 112 steps [1]."))
    terminal = Terminal(FAST, environment)
    try:
        opening = terminal.until("\r\n? ")
        assert "/quit leaves" in opening
        assert "answers: openai:gpt-4o-mini, from the first 2 hits" in opening
        terminal.type("tower-steps\n")
        answering = terminal.until("Climbing takes")
        terminal.process.send_signal(signal.SIGINT)
        answering += terminal.until("\r\n? ")
        assert "! stopped: this is what came" in answering
        assert "rungs" not in answering.partition("hits:")[2]
        assert "\r\n/quit leaves\r\n" in terminal.interrupted_at_the_prompt()
        terminal.type("tower-steps\n")
        whole = terminal.until("\r\n? ")
        assert "Climbing takes 112 steps [1]." in whole
        assert "stopped" not in whole
        terminal.type("\x04")
        assert terminal.process.wait(timeout=30) == 0
    finally:
        terminal.close()


@pytest.mark.slow
def test_a_prompt_never_lands_in_what_is_redirected(environment: dict[str, str]) -> None:
    """Typed at a terminal, written to a file: the prompt goes to standard error."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*MAIN, *FAST], stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    os.close(follower)
    os.write(leader, b"who cooks?\nexit\n")
    out, err = process.communicate(timeout=60)
    os.close(leader)
    assert process.returncode == 0
    assert "\n? " not in out.decode()
    assert err.decode().count("\n? ") == 2
    assert "\nwho cooks?\n" in out.decode()


@pytest.mark.full
def test_the_real_book_is_asked_and_the_answer_rests_on_its_reranked_chunks(
    run: Run,
    server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    corpora_folder: Path,
    first_walk: subprocess.CompletedProcess[str],
    book_cache: Path,
) -> None:
    environment = {
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "test",
        "RAGLIFT_CORPORA": str(corpora_folder),
        "RAGLIFT_CACHE": str(book_cache),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    server.answer_next(Answer(text="Prince Nicholas Bolkónski [1]."))
    depth = ("-k", "5", "--candidates", "50")
    code, out, err = run("chat", *depth, "--dtype", "float32", "--question", "king-of-prussia")
    assert (code, err) == (0, "")
    assert "labelled question king-of-prussia" in out
    before, after = out.split("Reranked: ")
    assert before.count("  cosine   0.") == 5
    assert "← label 1" in before
    assert re.search(r"^  1 \(was +5\)  score .* war_and_peace 219,933–220,895 .*← label 1$", after, re.MULTILINE)
    assert "  HitRate@5     1 → 1\n" in after
    assert "  RR@5          0.20 → 1.00\n" in after
    assert re.search(r"^\[1\] war_and_peace 219,933–220,895 “", after, re.MULTILINE)
    told = server.requests[0].body["messages"][-1]["content"]
    assert told.index("Prince Nicholas Andréevich Bolkónski’s estate") < told.index("<<<passage 2 ")
    assert "passage 6" not in told
