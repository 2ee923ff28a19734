"""benchmarks/languages.py: retrievers on collections whose figures are published."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

CORPORA = Path(os.environ.get("RAGLIFT_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    return script("languages")


def there(name: str) -> Path:
    path = CORPORA / name
    if not path.exists():
        pytest.skip(f"{path} is not there: see the docstring of benchmarks/languages.py")
    return path


@pytest.mark.full
def test_bm25_has_the_figures_that_anserini_publishes_of_scifact(benchmark: Any) -> None:
    collection = benchmark.scifact(there("scifact"))
    published = benchmark.PUBLISHED["scifact"][benchmark.ANSERINI]
    found = benchmark.figures(collection, benchmark.ranked(collection, benchmark.ANSERINI))
    assert found[benchmark.NDCG] == pytest.approx(published[benchmark.NDCG], abs=0.002)
    assert found[benchmark.RECALL] == pytest.approx(published[benchmark.RECALL], abs=0.005)
    rankings = benchmark.ranked(collection, "bm25")
    assert benchmark.figures(collection, rankings)[benchmark.NDCG] >= 0.675
    assert all(rankings.values())


@pytest.mark.full
@pytest.mark.parametrize("name", ["scifact", "xquad/xquad.en.json"])
def test_bge_small_in_integers_is_near_its_published_figures(benchmark: Any, name: str) -> None:
    path = there(name)
    collection = benchmark.scifact(path) if path.is_dir() else benchmark.xquad(path)
    found = benchmark.figures(collection, benchmark.ranked(collection, benchmark.BGE))
    published = benchmark.PUBLISHED[collection.name][benchmark.BGE]
    assert found[benchmark.NDCG] == pytest.approx(published[benchmark.NDCG], abs=0.005)


@pytest.mark.full
@pytest.mark.parametrize("name", ["scifact", "xquad/xquad.en.json", "xquad/xquad.zh.json"])
def test_minilm_has_the_figures_that_mteb_publishes(benchmark: Any, name: str) -> None:
    path = there(name)
    collection = benchmark.scifact(path) if path.is_dir() else benchmark.xquad(path)
    rankings = benchmark.ranked(collection, benchmark.DENSE)
    found = benchmark.figures(collection, rankings)
    worst, best = (
        benchmark.figures(collection, benchmark.in_order_of_ties(rankings, collection, relevant_first=first))
        for first in (False, True)
    )
    for metric, published in benchmark.PUBLISHED[collection.name][benchmark.DENSE].items():
        if worst == best:
            assert round(found[metric], 4) == round(published, 4)
        else:
            assert found[metric] == pytest.approx(published, abs=0.0005)
            assert worst[metric] - 5e-6 <= published <= best[metric] + 5e-6
