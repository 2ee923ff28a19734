from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pytest

from raglift.retrieval.rerankers import Pair, PairReranker
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking
from raglift.utilities.cache import Cache

Item = TypeVar("Item")
Result = TypeVar("Result")
PAIRS = [(query, "x" * number) for query in ("first", "second") for number in range(12)]


class Lengths(PairReranker):
    """Scores a pair by its length, eight pairs at a time; stops before the part of that number."""

    identity = "lengths"

    def __init__(self, cache: Cache, stop_at: int | None = None) -> None:
        super().__init__(batch_size=1, cache=cache)
        self.scored: list[Pair] = []
        self.stop_at = stop_at

    def score(self, batch: Sequence[Pair]) -> list[float]:
        if self.stop_at is not None and len(self.scored) == 8 * self.stop_at:
            raise KeyboardInterrupt
        self.scored.extend(batch)
        return [float(len(query) + len(text)) for query, text in batch]


class Backwards:
    """Finishes the last batch first."""

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[Item, Result]]:
        for item in reversed(items):
            yield item, function(item)


def test_an_interrupted_run_keeps_its_finished_batches_and_repeats_none() -> None:
    cache = Cache(None)
    stopped, resumed = Lengths(cache, stop_at=2), Lengths(cache)
    with pytest.raises(KeyboardInterrupt):
        stopped.scores(PAIRS)
    assert resumed.scores(PAIRS) == Lengths(Cache(None)).scores(PAIRS)
    assert sorted(stopped.scored + resumed.scored) == sorted(PAIRS)


def test_workers_may_finish_in_any_order_and_each_distinct_pair_is_scored_once() -> None:
    reranker = Lengths(Cache(None))
    assert reranker.scores(PAIRS * 2, workers=Backwards()) == Lengths(Cache(None)).scores(PAIRS)
    assert sorted(reranker.scored) == sorted(PAIRS)


def test_no_pairs_have_no_scores_and_what_a_model_reads_in_part_may_be_unknown() -> None:
    reranker = Lengths(Cache(None))
    assert reranker.scores([]) == {}
    ranking = Ranking.of([(Chunk("the lamp"), None)])
    assert reranker.read_in_part(["who"], [ranking]) is None
    assert reranker.read_in_part(["who"], [ranking]) is None, "the cache has it too"
    assert reranker.scored == []
