"""benchmarks/sweep.py at a tiny size: the sweep, the loop and the models alone find the same, and get their ratios."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


@pytest.mark.full
def test_each_contestant_gets_a_line_with_its_ratio(
    script, book_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGLIFT_CORPORA", str(book_path.parents[1]))
    benchmark = script("sweep")
    monkeypatch.setattr(benchmark, "SIZES", ((1000, 0), (2000, 0)))
    monkeypatch.setattr(benchmark, "CANDIDATES", 3)
    monkeypatch.setattr(benchmark, "KS", (1, 3))
    assert benchmark.main(["--characters", "6000", "--queries", "2", "--repetitions", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("6,000 characters, 2 queries, 2 chunk sizes × 3 retrievers × 2")
    assert re.search(r"of the first ten hits .*, (100\.0|9\d\.\d)% are the loop's as well", out)
    for name in ("straightforward loop", "models alone"):
        assert re.search(rf"  {name} +[\d.]+ s .* [\d.]+ × the sweep", out)
    assert re.search(r"the sweep takes [\d.]+ × the time of the models alone", out)


def test_without_the_book_it_says_how_to_get_it(
    script, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAGLIFT_CORPORA", str(tmp_path))
    assert script("sweep").main([]) == 1
    assert "raglift corpus fetch war_and_peace" in capsys.readouterr().out
