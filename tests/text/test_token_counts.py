from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.text.tokens import Encoding, TokenCounts, load_encoding


@pytest.mark.slow
@given(st.lists(st.text(max_size=20), max_size=8))
def test_counts_are_those_of_each_text_by_itself(texts: list[str]) -> None:
    one = load_encoding("cl100k_base")
    assert TokenCounts().of(texts).tolist() == [one.count(text) for text in texts]


def test_each_distinct_text_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    counts = Encoding.counts
    monkeypatch.setattr(Encoding, "counts", lambda self, texts: (counted.extend(texts), counts(self, texts))[1])
    counter = TokenCounts()
    counter.of(["the lamp", "fog", "the lamp"])
    assert counter.of(["fog", "horn", "the lamp"]).tolist() == [2, 1, 2]
    assert counted == ["the lamp", "fog", "horn"]


def test_no_text_needs_no_encoding() -> None:
    assert TokenCounts("no such encoding").of([]).shape == (0,)
