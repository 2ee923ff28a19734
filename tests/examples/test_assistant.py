"""The assistant in `examples`, as a user runs it: real embeddings and cross-encoder, a model on this machine."""

from __future__ import annotations

import os
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import raglift as rl
from raglift.testing.openai_server import Answer, OpenAIServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "assistant.py"
QUESTION = "how many steps are there in the tower"


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    """Run the file as a script in this process, which need not import PyTorch for it alone; returns what it printed."""

    def asked(*arguments: str, **variables: str) -> tuple[str, str]:
        for name in [name for name in os.environ if name.startswith("OPENAI_")]:
            monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *arguments])
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        return capsys.readouterr()

    return asked


def test_it_is_short_enough_to_be_read() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.slow
def test_without_a_key_it_names_the_variable(ask: Callable[..., tuple[str, str]]) -> None:
    with pytest.raises(SystemExit, match=r"^assistant: set OPENAI_API_KEY"):
        ask(QUESTION)


@pytest.mark.slow
def test_it_answers_from_the_five_best_passages(ask: Callable[..., tuple[str, str]]) -> None:
    with OpenAIServer(key="secret-of-the-test") as server:
        server.answer_next(Answer(text="There are 112 steps and a ladder [1]."))
        out, err = ask(
            QUESTION, "--corpus", "lighthouse", OPENAI_API_KEY="secret-of-the-test", OPENAI_BASE_URL=server.base_url
        )
        (request,) = server.requests
    first, *sources = [line for line in out.splitlines() if line]
    assert first == "There are 112 steps and a ladder [1]."
    assert [line[:3] for line in sources] == ["[1]", "[2]", "[3]", "[4]", "[5]"]
    system, user = (message["content"] for message in request.body["messages"])
    assert "I do not know." in system
    assert user.endswith(f"Question: {QUESTION}")
    texts = {document.id: document.text for document in rl.load_dataset("lighthouse").documents}
    for line in sources:
        found = re.match(r"\[\d\] (\S+) ([\d,]+)–([\d,]+)", line)
        assert found
        start, end = (int(offset.replace(",", "")) for offset in found.groups()[1:])
        assert texts[found[1]][start:end] in user
    assert "secret-of-the-test" not in out + err
