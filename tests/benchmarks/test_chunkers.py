"""benchmarks/chunkers.py: chunkers by name, measured at a number of hits and at a budget of tokens."""

from __future__ import annotations

from typing import Any

import pytest

import raglift as rl
from raglift.adapters import chunker_by_name
from raglift.components import BM25Retriever
from raglift.metrics.parsing import parse_depth


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    return script("chunkers")


def test_a_row_is_what_evaluating_the_chunks_gives(benchmark: Any) -> None:
    data = rl.load_dataset("lighthouse")
    row = benchmark.measured(data, "markdown:400+headings", [benchmark.BM25])
    chunks = chunker_by_name("markdown:400+headings").split(data.documents)
    alone = rl.evaluate(
        BM25Retriever(chunks), data, match="coverage", metrics=["ndcg"], ks=(10, parse_depth("tokens(2000)"))
    )
    assert row.chunks == len(chunks)
    assert row.found[benchmark.BM25] == {
        metric: pytest.approx(alone.scores.mean("retrieve", metric)) for metric in benchmark.METRICS
    }
    assert benchmark.line_of(row).startswith(f"| `markdown:400+headings` | {len(chunks):,} | ")


def test_every_chunker_of_the_table_is_one(benchmark: Any) -> None:
    assert len({str(chunker_by_name(name)) for name in benchmark.CHUNKERS}) == len(benchmark.CHUNKERS)
