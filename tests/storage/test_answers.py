"""Answers that are kept come back as they were; what cannot be read is asked again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from raglift.errors import CacheError
from raglift.storage.answers import Answer, AnswerStore
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking
from raglift.utilities.cache import Cache

KEY = b"k" * 16


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    cache = Cache(tmp_path / "answers.sqlite")
    yield cache
    cache.close()


def test_hits_come_back_with_texts_ids_places_and_scores() -> None:
    chunks = [
        Chunk("The lamp\ud800 is lit.", id="c1", doc_id="d", start=3, end=17, metadata={"page": 2, "tags": ["a"]}),
        Chunk("", doc_id=None),
    ]
    ranking = Ranking.of([(chunks[0], 0.1 + 0.2), (chunks[1], None), (chunks[1], math.inf)])
    assert Answer.from_bytes(Answer(ranking, 0.25).to_bytes()) == Answer(ranking, 0.25)


def test_what_json_has_not_comes_back_as_a_saved_evaluation_has_it() -> None:
    chunk = Chunk("a", metadata={"seen": date(2026, 1, 2), "size": np.int64(3), "share": math.nan})
    kept = Answer.from_bytes(Answer(Ranking.of([(chunk, np.float32(0.1))]), 0.0).to_bytes()).value
    assert kept[0].chunk.metadata == {"seen": "2026-01-02", "size": 3, "share": "nan"}
    assert kept[0].score == float(np.float32(0.1))


def test_a_number_that_is_not_one_stays_so() -> None:
    kept = Answer.from_bytes(Answer(Ranking.of([(Chunk("a"), math.nan)]), 0.0).to_bytes()).value
    assert math.isnan(kept[0].score or 0)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"hits": [[1]], "seconds": 0}'])
def test_an_entry_that_cannot_be_read_is_none(cache: Cache, content: bytes) -> None:
    cache.put_many({KEY: content})
    assert AnswerStore(cache).find([KEY]) == {}


def test_a_file_that_cannot_be_written_is_told_in_words_that_are_true_of_answers(cache: Cache) -> None:
    cache.close()
    with pytest.raises(CacheError, match=r"answers\.sqlite: the answers of the system cannot be kept or read there"):
        AnswerStore(cache).keep(KEY, Answer(Ranking(()), 0.0))
