"""benchmarks/overhead.py at a tiny size: it measures what it says, and prints a row a figure."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    module = script("overhead")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DOCUMENTS", 5)
        yield module


@pytest.fixture
def in_this_process(benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = {"time": benchmark.times, "memory": benchmark.memory}
    monkeypatch.setattr(benchmark, "in_a_process", lambda what, size: measures[what](size))


@pytest.mark.full
def test_each_figure_has_a_row_with_each_size_and_the_ratios(benchmark, in_this_process, capsys) -> None:
    assert benchmark.main(["--sizes", "10", "20", "40", "--repetitions", "1"]) == 0
    _, times, memory = capsys.readouterr().out.strip("\n").split("\n\n")
    for table, rows in ((times, benchmark.TIMES), (memory, benchmark.MEMORY)):
        head, *lines = table.splitlines()
        assert head.split("  ")[-1].strip() == "40 : 20"
        assert [line[:38].strip() for line in lines] == list(rows.values())
        for line in lines:
            *_, middle, last, to_first, to_middle = [float(figure) for figure in line[38:].split()]
            assert last >= 0
            assert to_first > 0
            assert to_middle == pytest.approx(last / middle, rel=0.5)  # the figures are rounded
