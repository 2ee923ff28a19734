from __future__ import annotations

import ast
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from raglift.text.normalization import NormalizedText, normalize, normalize_with_offsets
from raglift.text.words import words_of

# Each of these is normalized in a way of its own.
EXOTIC = (
    "aAeEhHiIoO ΑαΣσςΥυϊΪ"
    "\u0300\u0301\u0307\u0308\u0313\u0323\u0331\u0338\u0342\u0345"  # marks above, below and through
    "éÉﬁ²Å½İıẞßΐẖǰ"
    "\u1100\u1112\u1161\u1169\u11a8\uac00"  # Hangul: jamo, and a syllable without a final consonant
    "\u09c7\u09be\u0bc6\u0bd7\u0f40\u0f71\u0f73\u0f74"  # Bengali, Tamil, Tibetan: vowel signs in two parts
    "\r\n\t\x0b\x0c\x1c\x85\xa0\u2003\u2028\u2029\u3000"  # white space
    "\u00ad\u200b\ufeff‘’“”″´`–—‑﹘－"  # not white space, and typographic marks
    "漢字🏠\ud800"
    "\u0627\u0622\u0649\u06cc\u0643\u06a9\u0640\u064e\u0653\u0654\u06d5\u0661"  # Arabic: letters, marks, a digit
    "\u05d0\u05b0\u05bc\u05c1\u0915\u093c\u0928\u0929\u0901\u0967"  # Hebrew and Devanagari: points, nukta, candrabindu
    "カｶﾊﾞ゙〜～ｦﾡￂ\u200c\u200d\ufe0f\u2060"  # widths of kana and jamo, joiners, a variation selector
)
ASSIGNED = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) not in ("Cn", "Co")]
MANY_ALIKE = [c for c in ASSIGNED if unicodedata.name(c, "").startswith(("CJK UNIFIED", "HANGUL SYLLABLE", "TANGUT"))]
OTHERS = sorted({*ASSIGNED} - {*MANY_ALIKE})
MARKS = "\u0300\u0301\u0323\u0331\u0344\u0345\u0f71\u0f73\u0f74\u3099ﾞ\u064e\u0653\u0640\u05b0\u093c\u200d\u00ad\u09be"
ROWS = st.lists(
    st.builds(
        lambda letters, marks, count: letters + marks * count,
        st.text(st.sampled_from(EXOTIC), max_size=2),
        st.text(st.sampled_from(MARKS), max_size=4),
        st.sampled_from((0, 1, 5, 7, 10, 15, 29, 30, 31, 60)),
    ),
    max_size=3,
).map("".join)
"""Texts with more marks after one letter than any language has."""
UNICODE = st.text(st.sampled_from(EXOTIC)) | st.text(st.characters(codec=None)) | ROWS


@pytest.mark.parametrize(
    ("written", "normalized"),
    [
        ("", ""),
        (" \r\n\u2028\xa0", ""),
        ("  It was in\r\nJuly,\u20281805\xa0\t", "it was in july, 1805"),
        ("Annette Sche\u0301rer", "annette schérer"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),  # a capital sigma is final only by what follows: ς and σ are one
        ("Ὀδυσσεύς", "ὀδυσσεύσ"),
        ("H\u0331 and \u1e96", "\u1e96 and \u1e96"),  # only the small letter exists in one piece
        ("\u03aa\u0301", "\u0390"),
        ("İstanbul", "i\u0307stanbul"),
        ("don’t—“stop”", "don’t—“stop”"),
        ("co\u00adop", "co\u00adop"),
    ],
)
def test_the_form_in_which_texts_are_compared(written: str, normalized: str) -> None:
    assert normalize(written) == normalized


@pytest.mark.parametrize(
    ("written", "normalized"),
    [
        ("don’t—“stop”", 'don\'t-"stop"'),
        ("don´t, 5′ 3″", "don't, 5' 3\""),
        ("1805–1812 ﹘ 1815－1820", "1805-1812 - 1815-1820"),
        (
            "war--peace, war---peace, war——peace, war \u00ad-\u00ad- peace",
            "war-peace, war-peace, war-peace, war - peace",
        ),
        ("co\u00adoperate", "cooperate"),
        ("e\u00ad\u0301", "é"),
        ("ﬁn Straße ½", "fin strasse 1⁄2"),
        ("ΐ", "ΐ"),
    ],
)
def test_unicode_folding_folds_what_most_readers_do_not_see(written: str, normalized: str) -> None:
    assert normalize(written, unicode_folding=True) == normalized


PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "matching.md"
ROW = re.compile(r"^\| (`[^|]+`) \| (`[^|]+`) \| (yes|no) \| (yes|no) \|", re.MULTILINE)


def test_what_the_page_says_is_the_same_is_the_same() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) >= 20
    for one, other, by_default, with_folding in rows:
        first, second = (ast.literal_eval(written.strip("`")) for written in (one, other))
        assert (normalize(first) == normalize(second)) == (by_default == "yes"), (one, other)
        same = normalize(first, unicode_folding=True) == normalize(second, unicode_folding=True)
        assert same == (with_folding == "yes"), (one, other)


@pytest.mark.slow
def test_the_page_names_every_character_that_is_white_space() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("White space is")[2].partition("\n\n")[0]
    named: set[str] = set()
    for first, last in re.findall(r"U\+([0-9A-F]{4})(?:\s+to\s+U\+([0-9A-F]{4}))?", section.partition("Not among")[0]):
        named |= set(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    assert named == {letter for letter in map(chr, range(sys.maxunicode + 1)) if letter.isspace()}
    others = re.findall(r"U\+([0-9A-F]{4})", section.partition("Not among")[2])
    assert len(others) >= 3
    assert not any(chr(int(code, 16)).isspace() for code in others)


@pytest.mark.parametrize("unicode_folding", [False, True])
@given(text=UNICODE)
@example(text="İ\u0331")
@example(text="\u0345\u0301Α")
def test_normalizing_twice_changes_nothing(text: str, unicode_folding: bool) -> None:
    once = normalize(text, unicode_folding=unicode_folding)
    assert normalize(once, unicode_folding=unicode_folding) == once


@pytest.mark.parametrize("unicode_folding", [False, True])
@given(text=UNICODE)
def test_composed_or_not_and_any_white_space_are_the_same(text: str, unicode_folding: bool) -> None:
    expected = normalize(text, unicode_folding=unicode_folding)
    assert normalize(unicodedata.normalize("NFD", text), unicode_folding=unicode_folding) == expected
    assert normalize(f"\r\n{text}\u3000", unicode_folding=unicode_folding) == expected


@pytest.mark.slow
@pytest.mark.parametrize("unicode_folding", [False, True])
@pytest.mark.parametrize(
    "characters",
    [
        pytest.param(OTHERS[::7], id="a seventh of the others"),
        pytest.param(OTHERS, id="others", marks=pytest.mark.full),
        pytest.param(MANY_ALIKE, id="ideographs and syllables", marks=pytest.mark.full),
    ],
)
def test_every_character_is_normalized_alike_with_and_without_offsets(
    characters: list[str], unicode_folding: bool
) -> None:
    for character in characters:
        once = normalize(character, unicode_folding=unicode_folding)
        assert normalize_with_offsets(character, unicode_folding=unicode_folding).text == once
        assert normalize(once, unicode_folding=unicode_folding) == once


@pytest.mark.slow
@pytest.mark.parametrize("unicode_folding", [False, True])
@given(text=UNICODE)
@settings(max_examples=300)
@example(text="\u0f40\u0f74\u0f73")
@example(text="İ\u0331\u0323")
@example(text="H\u0331")
@example(text="a\u00ad \u00ad ﬃ‗b")
def test_offsets_do_not_change_the_text(text: str, unicode_folding: bool) -> None:
    normalized = normalize_with_offsets(text, unicode_folding=unicode_folding)
    assert normalized.text == normalize(text, unicode_folding=unicode_folding)
    assert len(normalized.starts) == len(normalized.ends) == len(normalized.text)


def test_unicode_folding_keeps_the_places_of_words() -> None:
    source = "“Die  Straße” — im Ofﬁce"
    normalized = normalize_with_offsets(source, unicode_folding=True)
    assert normalized.text == '"die strasse" - im office'
    for word, written in (("strasse", "Straße"), ("im", "im"), ("office", "Ofﬁce")):
        start = normalized.text.index(word)
        begin, end = normalized.source_span(start, start + len(word))
        assert source[begin:end] == written


@pytest.mark.parametrize(
    ("source", "word", "written"),
    [
        ("燈塔看守人（Ｊｏｎａｓ）修剪燈芯。", "jonas", "Ｊｏｎａｓ"),
        ("灯台守はﾗﾝﾌﾟの芯を切る。", "ランプ", "ﾗﾝﾌﾟ"),
        ("الحارِسُ يُنَظِّفُ المِصباح", "ينظف", "يُنَظِّفُ"),
        ("हर शाम फ़िल्म दिखाते हैं", "फिल्म", "फ़िल्म"),
        ("the wick -- and the lamp", "-", "--"),
    ],
)
def test_folded_characters_lead_back_to_exactly_what_they_were(source: str, word: str, written: str) -> None:
    folded = normalize_with_offsets(source, unicode_folding=True)
    start = folded.text.index(word)
    begin, end = folded.source_span(start, start + len(word))
    assert source[begin:end] == written


@pytest.mark.slow
@given(UNICODE, st.data())
@settings(max_examples=300)
def test_a_normalized_span_leads_to_a_source_span_that_holds_it(text: str, data: st.DataObject) -> None:
    normalized = normalize_with_offsets(text)
    span = data.draw(spans_of(normalized))
    if span is None:
        return
    begin, end = normalized.source_span(*span)
    assert 0 <= begin < end <= len(text)
    assert normalized.text[slice(*span)].strip() in normalize(text[begin:end])


@pytest.mark.parametrize("unicode_folding", [False, True])
@given(text=UNICODE)
def test_offsets_rise(text: str, unicode_folding: bool) -> None:
    normalized = normalize_with_offsets(text, unicode_folding=unicode_folding)
    assert (normalized.starts < normalized.ends).all()
    assert (normalized.starts[1:] >= normalized.starts[:-1]).all()
    assert (normalized.ends[1:] >= normalized.ends[:-1]).all()


@st.composite
def spans_of(draw: st.DrawFn, normalized: NormalizedText) -> tuple[int, int] | None:
    """A span of a normalized text that is not empty; None if there is none."""
    length = len(normalized.text)
    if not length:
        return None
    begin = draw(st.integers(0, length - 1))
    return begin, draw(st.integers(begin + 1, length))


@pytest.mark.parametrize(
    "source", ["said\r\n  PRINCE Vasíli, and", "said\r\n  PRINCE Vasi\u0301li, and", "İ said  PRINCE Vasíli,"]
)
def test_the_source_span_of_a_quote(source: str) -> None:
    quote = normalize("prince vasíli")
    normalized = normalize_with_offsets(source)
    begin = normalized.text.index(quote)
    start, end = normalized.source_span(begin, begin + len(quote))
    assert unicodedata.normalize("NFC", source[start:end]) == "PRINCE Vasíli"


@pytest.mark.parametrize("unicode_folding", [True, False])
def test_a_mark_behind_white_space_leads_back_to_itself_alone(unicode_folding: bool) -> None:
    placed = normalize_with_offsets("ab \u0301c", unicode_folding=unicode_folding)
    assert placed.text == "ab \u0301c"
    assert placed.source_span(3, 4) == (3, 4)
    assert placed.source_span(2, 3) == (2, 3)


@pytest.mark.slow
def test_of_a_row_of_marks_the_first_30_in_their_order_count() -> None:
    """More are put into order in a time that is quadratic in their number."""
    above, below = "\u0301" * 100_000, "\u0316" * 100_000  # those below come first
    for folding in (False, True):
        found = normalize(f"a{above}{below} b", unicode_folding=folding)
        assert found == normalize(f"a{below[:30]} b", unicode_folding=folding)
        assert normalize_with_offsets(f"a{above}{below} b", unicode_folding=folding).text == found
    assert words_of(f"a{above}{below} b") == words_of(f"a{below[:30]} b")
