"""The assistant in `examples`, as a user runs it: real embeddings and cross-encoder, a model on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import raglift as rl
from raglift.testing.openai_server import Answer, OpenAIServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "assistant.py"
QUESTION = "how many steps are there in the tower"


def asked(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments],
        env={**environment, "PYTHONIOENCODING": "utf-8", **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


def test_it_is_short_enough_to_be_read() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.slow
def test_without_a_key_it_names_the_variable() -> None:
    done = asked(QUESTION)
    assert done.returncode == 1
    assert done.stderr.startswith("assistant: set OPENAI_API_KEY")


@pytest.mark.slow
def test_it_answers_from_the_five_best_passages(tiny_cross_encoder: Path) -> None:
    options = ("--corpus", "lighthouse", "--reranker", str(tiny_cross_encoder))
    with OpenAIServer(key="secret-of-the-test") as server:
        server.answer_next(Answer(text="There are 112 steps and a ladder [1]."))
        done = asked(QUESTION, *options, OPENAI_API_KEY="secret-of-the-test", OPENAI_BASE_URL=server.base_url)
        (request,) = server.requests
    assert done.returncode == 0, done.stderr
    first, *sources = [line for line in done.stdout.splitlines() if line]
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
    assert "secret-of-the-test" not in done.stdout + done.stderr
