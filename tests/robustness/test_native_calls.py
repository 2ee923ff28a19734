"""The command is stopped, or gives up, while a system's calls are in PyTorch's own code."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SYSTEM = """
from pathlib import Path
import torch

torch.set_num_threads(1)
matrix = torch.rand(300, 300)

def retrieve(query):
    Path("asked").touch()
    while True:
        matrix @ matrix

async def aretrieve(query):
    retrieve(query)
"""


@pytest.fixture
def start(tmp_path: Path):
    (tmp_path / "native.py").write_text(SYSTEM)

    def run(system: str, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "raglift", "evaluate", "lighthouse", "--system", f"native:{system}"]
        return subprocess.Popen(
            [*command, "--reranker", "none", "--concurrency", "3", *options],
            cwd=tmp_path,
            env=os.environ | {"RAGLIFT_PROGRESS": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


@pytest.mark.parametrize("system", [pytest.param("retrieve", marks=pytest.mark.full), "aretrieve"])
def test_ctrl_c_is_told_in_one_line(start, tmp_path: Path, system: str) -> None:
    process = start(system)
    deadline = time.monotonic() + 120
    while not (tmp_path / "asked").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == (
        "\nraglift: stopped: the answers of the system are not kept; with -o FOLDER each is kept as it comes, "
        "and --resume continues from there\n"
    )


def test_an_error_is_told_in_one_line(start) -> None:
    process = start("retrieve", "--timeout", "0.2", "--on-error", "raise")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("raglift: error: ")
    assert "no answer within the timeout of 0.2 seconds" in err
