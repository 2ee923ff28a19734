"""benchmarks/size.py: its chunks and its table, over few of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BOOK = Path(os.environ.get("RAGLIFT_CORPORA", "corpora")) / "war_and_peace" / "2600-0.txt"


@pytest.fixture(scope="module")
def size(script):
    return script("size")


def test_figures_grow_in_a_straight_line_from_the_first_size_to_the_last(size, capsys: pytest.CaptureFixture) -> None:
    size.line([10.0, 100.0], [100_000, 1_000_000], "seconds")
    name, *figures, growth, planned = capsys.readouterr().out.split()
    assert (name, figures, growth, planned) == ("seconds", ["10.0", "100"], "10.0x", "1,000")


@pytest.mark.slow
@pytest.mark.skipif(not BOOK.is_file(), reason="the text of War and Peace is not here")
def test_chunks_are_distinct_and_long_and_evaluated_again_from_the_cache(size, tmp_path: Path) -> None:
    import raglift as rl

    book = rl.load_dataset(size.CORPUS)
    documents = [*size.documents_for(300, book)]
    texts = [chunk.text for chunk in size.distinct_chunks(documents, 300)]
    assert len({*texts}) == len(texts) == 300
    assert min(map(len, texts)) >= 200
    first, again = (size.measured(300, None, tmp_path / "cache.sqlite") for _ in range(2))
    assert (first["chunks"], first["computed"], again["computed"]) == (300, 300, 0)
    assert first["recall"] == again["recall"]
    assert first["peak"]["all"] >= first["at_first"] > 0
