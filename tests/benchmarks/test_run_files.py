"""benchmarks/run_files.py at a tiny size: every form gives the values of pytrec_eval, and differences are seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pytrec_eval")


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    return script("run_files")


@pytest.mark.slow
def test_every_way_but_ranx_gives_the_same_means(benchmark, tmp_path: Path) -> None:
    benchmark.write(tmp_path, 20, 200)
    found = {name: benchmark.measured(name, tmp_path) for name in benchmark.FILES if not name.startswith("ranx")}
    benchmark.assert_equal(found)
    assert len(found) == 5
    ours = found["raglift, TREC"]
    assert all(0 < ours[metric] < 1 for metric in benchmark.METRICS)
    assert ours["seconds"] > 0
    assert ours["memory"] >= 0


@pytest.mark.slow
def test_a_line_tells_the_ratios_to_raglift(benchmark, tmp_path: Path, monkeypatch, capsys) -> None:
    benchmark.write(tmp_path, 2, 100)
    means = dict.fromkeys(benchmark.METRICS, 0.5)
    figures = {"raglift": (1.0, 50.0), "pytrec_eval": (2.0, 100.0), "ranx": (4.0, 500.0)}

    def report_of(command: list[str], **_: object) -> Any:
        seconds, memory = figures[command[3].partition(",")[0]]
        found = {"seconds": seconds, "processor": 9.0, "memory": memory, **means}
        return type("Done", (), {"stdout": benchmark.json.dumps(found)})

    monkeypatch.setattr(benchmark.subprocess, "run", report_of)
    benchmark.report("2 queries × 100 hits", tmp_path, 1)
    out = capsys.readouterr().out
    assert "raglift is 2.0 times as fast, in 50% of the memory" in out
    assert "raglift is 4.0 times as fast, in 10% of the memory" in out
