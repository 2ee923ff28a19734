"""benchmarks/fuzzing.py at a tiny size: what was done before counts, what breaks a reader is kept."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    return script("fuzzing")


def run(benchmark: Any, out: Path, examples: int) -> int:
    return benchmark.main(
        ["--examples", str(examples), "--readers", "corpus.toml", "--processes", "1", "--out", str(out)]
    )


@pytest.mark.full
def test_a_run_resumes_where_it_stopped(benchmark, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(benchmark, "CHUNK", 10)
    assert run(benchmark, tmp_path, 20) == 0
    assert "| corpus.toml | 20 |" in capsys.readouterr().out
    lines = (tmp_path / "chunks.jsonl").read_text().splitlines()
    broken = json.loads(lines[1]) | {"outcomes": {"fault": 10}}
    (tmp_path / "chunks.jsonl").write_text(f"{lines[0]}\n{json.dumps(broken)}\n")
    assert run(benchmark, tmp_path, 20) == 0
    again = (tmp_path / "chunks.jsonl").read_text().splitlines()
    assert (again[0], again[2:]) == (lines[0], [lines[1]])  # what had faults, and no other, with the same damages
    assert "| all | 20 |" in capsys.readouterr().out


def test_without_hypothesis_nothing_is_begun_and_the_extra_is_named(
    benchmark, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert run(benchmark, tmp_path / "out", 10) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "dev extra" in line
    assert not (tmp_path / "out").exists()


def test_a_process_that_dies_is_a_fault_and_its_input_is_kept(benchmark, tmp_path: Path) -> None:
    folder, out = tmp_path / "work", tmp_path / "out"
    (folder / "corpus-toml" / "input").mkdir(parents=True)
    (folder / "corpus-toml" / "input" / "corpus.toml").write_text("a = 1")
    benchmark._keep_crash(folder, out, benchmark.Chunk("corpus.toml", 3, 10), -signal.SIGSEGV)
    (kept,) = (out / "faults").iterdir()
    assert (kept / "corpus.toml").read_text() == "a = 1"
    assert "ended with -11 in chunk 3" in (kept / "kind.txt").read_text()


def test_the_smallest_input_of_a_kind_is_kept(benchmark, tmp_path: Path) -> None:
    keep = benchmark._Keeper(tmp_path, "a reader", {})
    error = type("Broken", (Exception,), {"kind": "KeyError"})("KeyError")
    for data in (b"abc", b"abcd", b"a"):
        keep(error, {"a/b.json": data})
    assert [path.read_bytes() for path in sorted(tmp_path.glob("faults/*/a/b.json"))] == [b"abc", b"a"]
