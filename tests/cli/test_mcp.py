"""MCP on the command line: servers as systems, and how processes end."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("mcp")

Run = Callable[..., tuple[int, str, str]]
RAW = Path(__file__).parents[1] / "retrieval" / "services" / "raw_server.py"


def reference(*words: str) -> str:
    return f"mcp:{shlex.join([sys.executable, '-S', str(RAW), *words])}"


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"id": "1", "query": "lamp", "relevant": ["lamp 0"]}\n')
    return path


def test_a_server_that_cannot_be_asked_ends_with_one_line_and_measures_nothing(
    labels: Path, tmp_path: Path, run: Run
) -> None:
    folder = tmp_path / "run"
    code, _, said = run("evaluate", labels, "--system", reference("two searches"), "-o", folder)
    assert code == 2
    assert said.startswith("raglift: error: the MCP server")
    assert "search_notes, findNotes, delete_notes" in said
    assert not folder.exists()


def test_ctrl_c_ends_an_evaluation_and_its_server(labels: Path) -> None:
    command = [sys.executable, "-m", "raglift", "evaluate", str(labels), "--system", reference("hangs", str(labels))]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not servers(str(labels), process.pid) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    found = servers(str(labels), process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "raglift: stopped" in said
    assert found
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)


def servers(word: str, parent: int) -> list[int]:
    """Return the processes that another one started for a server with a word in its command."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            is_one = path.name.isdigit() and word in (path / "cmdline").read_text()
            if is_one and int((path / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(path.name))
        except OSError:
            continue
    return found


@pytest.mark.full
def test_ctrl_c_ends_the_server_for_agents_at_a_terminal(tmp_path: Path) -> None:
    terminal, side = pty.openpty()
    command = [sys.executable, "-m", "raglift", "mcp", str(tmp_path)]
    process = subprocess.Popen(command, stdin=side, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "for a client that starts it; Ctrl-C stops" in process.stderr.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=10)
    os.close(side)
    os.close(terminal)
    assert (process.returncode, out) == (130, "")
