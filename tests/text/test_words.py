"""The words of a text, in any script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.text.words import words_of

TEXTS = {
    "a mark that joins letters": ("O’Neill's U.S.A. e.g. l·l", ["o'neill's", "u.s.a", "e.g", "l·l"]),
    "a mark that joins digits": ("3,000.5 10'000", ["3,000.5", "10'000"]),
    "a mark that joins neither": (
        "a,b 3.x x.3 foo:bar up-to-date",
        ["a", "b", "3", "x", "x", "3", "foo", "bar", "up", "to", "date"],
    ),
    "compatibility forms": ("ⅣＡＢＣ ﬁne ｶﾅ", ["ivabc", "fine", "カナ"]),
    "Chinese": ("检索评价，好", ["检索", "索评", "评价", "好"]),
    "Japanese with Latin": ("評価はTokyoで", ["評価", "価は", "tokyo", "で"]),
    "Korean": ("한국어 검색은", ["한국", "국어", "검색", "색은"]),
    "Thai, by grapheme clusters": ("หนังสือ", ["หนั", "นัง", "งสื", "สือ"]),
    "vowel signs of Hindi": ("हिन्दी में १२", ["हिन्दी", "में", "12"]),
    "Arabic digits": ("صفحة ٣", ["صفحة", "3"]),
    "Greek in capitals": ("ΟΔΥΣΣΕΎΣ", ["οδυσσεύς"]),
    "nothing to read": ("🙂 … !?", []),
}


@pytest.mark.parametrize(("text", "words"), TEXTS.values(), ids=TEXTS)
def test_words_are_those_that_a_search_engine_indexes(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@given(st.text())
def test_the_unicode_form_of_a_text_makes_no_difference(text: str) -> None:
    assert words_of(unicodedata.normalize("NFD", text)) == words_of(unicodedata.normalize("NFC", text))


@given(st.lists(st.text("abcé字ไ한ा٣1.,'", max_size=8), max_size=6))
def test_words_do_not_reach_over_a_space(parts: list[str]) -> None:
    assert words_of(" ".join(parts)) == [word for part in parts for word in words_of(part)]
