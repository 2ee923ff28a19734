"""benchmarks/model_time.py and accelerator.py at a tiny size: every contestant gets a line with its ratio."""

from __future__ import annotations

import re

import pytest


@pytest.mark.full
def test_queries_and_late_interaction_get_their_ratios(script, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = script("model_time")
    assert benchmark.main(["--queries", "60", "--asked", "6", "--repetitions", "1", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"sentence-transformers, sorted by length +\d+ µs a query   raglift is [\d.]+ times as fast", out)
    assert re.search(r"one at a time +\d+ µs a query   raglift is [\d.]+ times as fast", out)
    assert re.search(r"  raglift +0 of \d+ rankings of 10; a similarity by at most 0\.0e\+00", out)
    assert re.search(r"evaluate takes [\d.]+ × its model's time", out)
