"""Pipes in place of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raglift.results.evaluation import Evaluation

Run = Callable[..., tuple[int, str, str]]
TREC = "q1 Q0 d1 1 1.0 x\nq2 Q0 d3 1 1.0 x\n"
QRELS = "q1 0 d1 1\nq2 0 d2 1\n"
QUERIES = '{"id": "q1", "query": "When is the lamp lit?", "relevant": ["The lamp is lit at dusk."]}\n'
SYSTEM = 'def find(query, k=5):\n    return ["The lamp is lit at dusk.", "Fog horn."][:k]\n'


@pytest.fixture
def place(evaluation: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a saved run, rankings, labels, queries, a file of the user's own, and a link in a circle."""
    evaluation.save(tmp_path / "run")
    for name, text in (("r.trec", TREC), ("r.qrels", QRELS), ("q.jsonl", QUERIES), ("notes.txt", "my own notes\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "piped_system.py").write_text(SYSTEM, encoding="utf-8")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def piped() -> Iterator[Callable[[str], str]]:
    """Give the path of a pipe that holds a text, as the shell's `<(…)` does."""
    opened: list[int] = []

    def pipe(text: str) -> str:
        reader, writer = os.pipe()
        opened.append(reader)
        with os.fdopen(writer, "wb") as file:  # short enough to fit into the pipe
            file.write(text.encode())
        return f"/dev/fd/{reader}"

    yield pipe
    for reader in opened:
        os.close(reader)


# Reading.


@pytest.mark.slow
@pytest.mark.parametrize("form", ["trec", "jsonl"])
def test_rankings_and_labels_are_read_from_pipes(place: Path, piped: Callable[[str], str], run: Run, form: str) -> None:
    lines = '{"query_id": "q1", "id": "d1", "score": 1}\n{"query_id": "q2", "id": "d3", "score": 1}\n'
    given = piped(TREC if form == "trec" else lines)
    code, out, err = run("score", piped(QRELS), given, "--from", form, "--names", "x")
    assert (code, err) == (0, "")
    assert out == run("score", place / "r.qrels", place / "r.trec", "--names", "x")[1]
