from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.text.tokens import Encoding, TokenCounts, characters_per_token, is_encoding_available, load_encoding


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


def test_an_encoding_that_there_is_not_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r"encoding: found 'cl200'; expected one of .*cl100k_base"):
        load_encoding("cl200")


def test_an_encoding_is_at_hand_if_it_is_known_and_tiktoken_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_encoding_available()
    assert not is_encoding_available("p50k_base")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert not is_encoding_available()


@pytest.mark.slow
def test_the_length_of_tokens_is_that_of_the_first_distinct_texts() -> None:
    counter = TokenCounts()
    assert characters_per_token(["a short text"] * 100, counter) == 4
    words, digits = "lighthouse " * 10_000, "1 2 3 4 5 " * 20_000
    assert characters_per_token([words, words], counter) > 5
    mixed = characters_per_token([words, digits], counter)
    assert 1 < mixed < 5
    assert characters_per_token([words, digits, "漢字" * 100_000], counter) == mixed
