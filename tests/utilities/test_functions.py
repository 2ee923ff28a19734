"""What tells whether the code of a user's function has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from raglift.utilities.functions import code_digest

SOURCE = """
from functools import partial
from json import dumps
import helpers

WEIGHTS = {weights}
calls = 0

class Rule:
    least = {least}

    def allows(self, value):
        return value {sign} self.least

class Scorer:
    def __init__(self, p):
        self.p = p

    def __call__(self, value):
        return value * self.p

def made(power):
    def inner(value):
        return value ** power
    return inner

def score(value):
    global calls
    calls += 1
    allowed = [dumps(each) for each in WEIGHTS if Rule().allows(each) and value in {{"a", "b", "c", "d"}}]
    return allowed + helpers.more(value)

METRICS = {{"score": score, "closure": made({power}), "partial": partial(score, {power}), "object": Scorer({power})}}
"""
HELPERS = "def more(value):\n    return [{more}]\n"
WRITTEN = {"weights": "(1, 2)", "least": "1", "sign": ">", "power": "2", "more": "1"}


def digests(folder: Path, **changed: str) -> dict[str, str]:
    """Return the digest of each function of a module, in a process of its own."""
    folder.mkdir()
    written = WRITTEN | changed
    (folder / "helpers.py").write_text(HELPERS.format(**written), encoding="utf-8")
    (folder / "functions_of_a_user.py").write_text(SOURCE.format(**written), encoding="utf-8")
    code = (
        "from raglift.utilities.functions import code_digest\n"
        "import functions_of_a_user as user\n"
        "user.score('a')\n"
        "print(*(f'{name}={code_digest(function)}' for name, function in user.METRICS.items()))"
    )
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return dict(each.split("=") for each in done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "differ"),
    [
        pytest.param({}, set(), id="nothing"),
        pytest.param({"weights": "(1, 3)"}, {"score", "partial"}, id="a constant"),
        pytest.param({"least": "2"}, {"score", "partial"}, id="an attribute of a class"),
        pytest.param({"sign": "<"}, {"score", "partial"}, id="a method"),
        pytest.param({"power": "3"}, {"closure", "partial", "object"}, id="a setting"),
        pytest.param({"more": "2"}, {"score", "partial"}, id="a function of another module"),
    ],
)
def test_what_decides_what_a_function_returns_changes_its_digest(
    tmp_path: Path, changed: dict[str, str], differ: set[str]
) -> None:
    before, after = digests(tmp_path / "before"), digests(tmp_path / "after", **changed)
    assert {name for name in before if before[name] != after[name]} == differ


def raising_to(power: int) -> Callable[[float], float]:
    def raised(value: float) -> float:
        return value**power

    return raised


def counting() -> Callable[[float], float]:
    calls = 0

    def counted(value: float) -> float:
        nonlocal calls
        calls += 1
        return value

    return counted


def test_functions_made_by_one_function_differ_by_what_they_enclose() -> None:
    assert code_digest(raising_to(2)) == code_digest(raising_to(2)) != code_digest(raising_to(3))


def test_what_a_function_counts_does_not_change_its_digest() -> None:
    function = counting()
    before = code_digest(function)
    function(1.0)
    assert code_digest(function) == before


def ping(value: int) -> int:
    return pong(value - 1) if value else 0


def pong(value: int) -> int:
    return ping(value - 1) if value else 1


@pytest.mark.parametrize("function", [ping, len, print, int, partial(max, 1), object(), None, "text".upper, dict.get])
def test_every_object_has_a_digest(function: Any) -> None:
    assert len(code_digest(function)) == 16
