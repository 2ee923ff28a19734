"""benchmarks/loading.py at a tiny size: both ways read everything that was saved, and the ratios are those told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import raglift as rl


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    return script("loading")


@pytest.mark.slow
def test_both_ways_read_every_hit(benchmark, tmp_path: Path) -> None:
    benchmark.save_run(tmp_path / "run", 12)
    found = [benchmark.measured(way, tmp_path / "run") for way in benchmark.WAYS]
    assert [each["count"] for each in found] == [12 * benchmark.HITS] * 2
    assert all(each["seconds"] > 0 and each["memory"] >= 0 for each in found)
    loaded = rl.load_evaluation(tmp_path / "run")
    assert len({hit.chunk.id for trace in loaded.run.traces for hit in trace.stages[0].ranking}) > benchmark.HITS


def test_a_line_tells_the_ratios_to_the_peer(benchmark, tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "file").write_bytes(b"x")
    figures = {"raglift": (3.0, 50.0), "json and pyarrow": (2.0, 100.0)}

    def report_of(command: list[str], **_: object) -> Any:
        processor, memory = figures[command[3]]
        found = {"seconds": 9.0, "processor": processor, "memory": memory}
        return type("Done", (), {"stdout": benchmark.json.dumps(found)})

    monkeypatch.setattr(benchmark.subprocess, "run", report_of)
    benchmark.report("a file", tmp_path / "file", 1)
    assert "raglift takes 1.5 times as long, and 50% of the memory" in capsys.readouterr().out
