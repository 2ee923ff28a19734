"""benchmarks/README.md: it tells of every benchmark, and shows what the scripts print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def page() -> str:
    return (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_benchmark_is_told_of(page: str) -> None:
    assert set(re.findall(r"\]\((\w+\.py)\)", page)) == {path.name for path in FOLDER.glob("*.py")}


def test_the_tables_are_those_that_are_printed(page: str, script) -> None:
    overhead = script("overhead")
    rows = [line[2:38].strip() for line in page.splitlines() if re.match(r"  \w.{35}(?: +[\d.]+){5}$", line)]
    assert rows == [*overhead.TIMES.values(), *overhead.MEMORY.values()]
    assert len(re.findall(r"^  (?:pytrec_eval|ranx) .*raglift is [\d.]+ times as fast$", page, re.MULTILINE)) == 4


def test_make_bench_runs_what_the_page_says_first(page: str) -> None:
    makefile = (FOLDER.parent / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\nbench:")[2].partition("\n\n")[0]
    run = re.findall(r"benchmarks/(\w+\.py)", recipe)
    listed = re.findall(r"\]\((\w+\.py)\)", page)
    assert run
    assert run == listed[: len(run)]
