"""benchmarks/bm25_languages.py: BM25 on collections whose figures are published."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

CORPORA = Path(os.environ.get("RAGLIFT_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    return script("bm25_languages")


def there(name: str) -> Path:
    path = CORPORA / name
    if not path.exists():
        pytest.skip(f"{path} is not there: see the docstring of benchmarks/bm25_languages.py")
    return path


@pytest.mark.slow
def test_scifact_has_the_figures_that_anserini_publishes(benchmark: Any) -> None:
    collection = benchmark.scifact(there("scifact"))
    published = benchmark.PUBLISHED["scifact"]
    ndcg, recall, empty = benchmark.figures(collection, benchmark.ranked(collection, benchmark.ANSERINI))
    assert ndcg == pytest.approx(published[benchmark.NDCG], abs=0.002)
    assert recall == pytest.approx(published[benchmark.RECALL], abs=0.005)
    ndcg, _, _ = benchmark.figures(collection, benchmark.ranked(collection, "bm25"))
    assert ndcg >= 0.675
    assert empty == 0


@pytest.mark.slow
@pytest.mark.parametrize(("language", "least"), [("en", 0.95), ("th", 0.9), ("zh", 0.95)])
def test_questions_are_answered_in_every_script(benchmark: Any, language: str, least: float) -> None:
    collection = benchmark.xquad(there(f"xquad/xquad.{language}.json"))
    ndcg, _, empty = benchmark.figures(collection, benchmark.ranked(collection, "bm25"))
    assert ndcg >= least
    assert empty == 0


def test_a_word_is_no_whole_clause_in_chinese(benchmark: Any) -> None:
    tea = benchmark.Collection("tea", {"a": "绿茶的产地", "b": "咖啡的产地"}, {"1": "绿茶产地"}, {"1": ["a"]})
    assert benchmark.ranked(tea, "bm25") == {"1": ["a", "b"]}
    assert benchmark.ranked_by_words(tea) == {"1": []}
    assert benchmark.figures(tea, {"1": ["b", "a"]})[1:] == (1.0, 0)
