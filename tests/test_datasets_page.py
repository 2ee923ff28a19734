"""The examples of docs/datasets.md run, in order, on the fixtures of the formats."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from raglift.dataset.formats import FORMATS
from raglift.dataset.formats.fit import DROPPABLE

PAGE = (Path(__file__).parents[1] / "docs" / "datasets.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(Path(__file__).parent / "dataset" / "fixtures", tmp_path / "fixtures"))


def test_the_python_holds(folder: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= len(FORMATS)
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_commands_run(folder: Path) -> None:
    (block,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    commands = re.findall(r"^\$ raglift (.*)$", block, re.MULTILINE)
    outputs = []
    for command in commands:
        call = [sys.executable, "-m", "raglift", *shlex.split(command)]
        outputs.append(subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True).stdout)
    assert len(outputs) == 4
    assert outputs[0] in block


def test_every_format_and_everything_that_may_be_dropped_is_told_of() -> None:
    assert all(f"| `{name}` |" in PAGE for name in FORMATS)
    assert all(f"`{name}`" in PAGE for name in DROPPABLE)
