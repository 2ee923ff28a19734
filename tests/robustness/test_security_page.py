"""SECURITY.md: each test that it names is there, and each part of it names one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from raglift.apps.review.server import MOST_BYTES
from raglift.base.limits import VARIABLE, most_bytes
from raglift.storage.rankings.read_tables import LONGEST_OBJECT, LONGEST_ROW, MOST_FAULTS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)
PARTS = {part.splitlines()[0]: part for part in re.split(r"^##+ ", TEXT, flags=re.MULTILINE)[1:]}
WITHOUT = {"Reporting a vulnerability", "What is not trusted"}


@pytest.mark.parametrize("path", sorted({path for path, _ in NAMED}))
def test_each_test_that_is_named_is_there(path: str) -> None:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    there = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    assert {name for of, name in NAMED if of == path} <= there


def test_nothing_else_looks_like_the_name_of_a_test() -> None:
    assert TEXT.count("::") == len(NAMED) > 60


def test_every_part_that_states_something_names_a_test() -> None:
    assert [name for name, part in PARTS.items() if name not in WITHOUT and "tests/" not in part] == []


def test_the_limits_are_those_of_the_code() -> None:
    assert most_bytes() == 2 * 2**30
    assert "| 2 GiB |" in TEXT
    assert VARIABLE in TEXT
    assert (LONGEST_ROW, LONGEST_OBJECT) == (2**20, 128 * 2**20)
    assert MOST_BYTES == 2**20
    assert f"| {MOST_FAULTS:,} |" in TEXT


def test_every_test_of_hazards_is_named() -> None:
    """What is tried and not told would be told nobody."""
    helpers = {"test_security_page.py"}
    files = [path for path in Path(__file__).parent.glob("test_*.py") if path.name not in helpers]
    named = {Path(path).name for path, _ in NAMED}
    assert {path.name for path in files} <= named
