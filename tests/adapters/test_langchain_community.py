"""Classes of langchain-community, which is no longer maintained: run in an environment that has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PINNED = ("langchain-community==0.4.2", "rank-bm25==0.2.2", "httpx-sse==0.4.3", "pydantic-settings==2.16.3")


@pytest.mark.full
def test_classes_of_langchain_community_are_measured_as_they_answer(tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path)]
    subprocess.run([*install, *PINNED], check=True)
    tests = Path(__file__).with_name("langchain_community_classes.py")
    ignored = "ignore:`langchain-community` is being sunset:DeprecationWarning"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", ignored, str(tests)],
        cwd=tests.parents[2],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
