"""The words of a text in any script, as a search engine indexes them."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable

import regex

from raglift.text.normalization import bounded_marks

_BIGRAM_SCRIPTS = ("Han", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
"""Scripts of which a row of letters is no word: most have no spaces, and in Korean particles are attached."""
_BIGRAMS = "".join(rf"\p{{{script}}}" for script in _BIGRAM_SCRIPTS) + "ー"
_HAS_BIGRAMS = regex.compile(f"[{_BIGRAMS}]")
_ROWS = regex.compile(rf"(?V1)(?P<row>[{_BIGRAMS}][{_BIGRAMS}\p{{M}}]*)|(?:(?![{_BIGRAMS}])[\w.'·,])+")
_JOINED = "['.·,]"
"""What may join two words, as in “don't”, “e.g.” and “3,000.5”."""
_ASCII_WORD = re.compile(rf"\w+(?:{_JOINED}\w+)*", re.ASCII)
_WORD = regex.compile(rf"\w+(?:{_JOINED}\w+)*")
_JOINS = frozenset(".',·")
_CLUSTER = regex.compile(r"\X")
_OTHER_DIGITS = regex.compile(r"(?V1)[\p{Nd}--[0-9]]")


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order, as often as they occur.

    The text is taken in compatibility form (NFKC) and lower case, with decimal digits of all scripts as 0 to 9. A word
    is a row of letters, digits and marks that Unicode Standard Annex #29 does not divide, but at colons. Where spaces
    do not tell words apart (Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan), and in Korean, whose particles are
    attached, every two neighbouring characters (grapheme clusters) of a row are one word, as in Lucene's CJKAnalyzer:
    “検索評価” is 検索, 索評, 評価. A row of one is itself a word.
    """
    if text.isascii():
        return _split(_ASCII_WORD.findall(text.lower()))
    lowered = unicodedata.normalize("NFKC", bounded_marks(text, "NFKD")).lower()
    folded = unicodedata.normalize("NFKC", lowered).replace("’", "'")
    folded = _OTHER_DIGITS.sub(lambda digit: str(unicodedata.decimal(digit[0])), folded)
    if _HAS_BIGRAMS.search(folded) is None:
        return _split(_WORD.findall(folded))
    found: list[str] = []
    for match in _ROWS.finditer(folded):
        row = match["row"]
        found += _split(_WORD.findall(match[0])) if row is None else _bigrams(_CLUSTER.findall(row))
    return found


def _split(words: list[str]) -> list[str]:
    """Separate what is joined by a mark that does not join it: ' . · join letters, and ' . , join digits."""
    found: list[str] = []
    for word in words:
        if word.isalnum() or _JOINS.isdisjoint(word):
            found.append(word)
        else:
            found += _parts(word)
    return found


def _parts(word: str) -> list[str]:
    parts, begin = [], 0
    for place, mark in enumerate(word):
        if mark in _JOINS:
            before, after = word[place - 1], word[place + 1]
            digits = before.isdecimal() and after.isdecimal()
            letters = not before.isdecimal() and not after.isdecimal() and "_" not in (before, after)
            if not (digits if mark == "," else letters if mark == "·" else digits or letters):
                parts.append(word[begin:place])
                begin = place + 1
    return [*parts, word[begin:]]


def _bigrams(characters: list[str]) -> Iterable[str]:
    if len(characters) == 1:
        return characters
    return map("".join, itertools.pairwise(characters))


_HAN = r"\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SYLLABLES = r"\uac00-\ud7a3"
_HAN_LETTER, _SYLLABLE = re.compile(f"[{_HAN}]"), re.compile(f"[{_SYLLABLES}]")
_DENSE = re.compile(f"[{_HAN}{_SYLLABLES}]")
_OF_HAN, _OF_SYLLABLE = 3, 2


def length_in_letters(text: str) -> int:
    """Return how long a text is, in letters of an alphabet: a Chinese character counts as 3, a Korean syllable as 2.

    So long are translations of one text in these scripts. The contexts of XQuAD have 3.1 times as many characters in
    English as in Chinese, and 1.06 times as many as in Thai. The messages of Django 5.2, without white space, have 2.5
    times as many in English as in Chinese, 1.9 times as many as in Korean, 1.6 times as many as in Japanese (of which a
    third are Chinese characters), and 0.8 to 1.3 times as many as in 25 other languages.
    """
    if text.isascii():
        return len(text)
    han = len(_HAN_LETTER.findall(text)) * (_OF_HAN - 1)
    return len(text) + han + len(_SYLLABLE.findall(text)) * (_OF_SYLLABLE - 1)


def is_as_long_as(text: str, letters: int) -> bool:
    """Return whether a text has a length, in letters of an alphabet, as `length_in_letters` counts it."""
    return len(text) >= letters or (_OF_HAN * len(text) >= letters and length_in_letters(text) >= letters)


def beginning_of(text: str, letters: int) -> str:
    """Return the shortest beginning of a text that is so long in letters of an alphabet; all of it if it is shorter."""
    first = text[:letters]
    if first.isascii() or _DENSE.search(first) is None:
        return first
    length = 0
    for place, letter in enumerate(first, 1):
        length += length_in_letters(letter)
        if length >= letters:
            return first[:place]
    return first


_LANGUAGE_NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "bo": "Tibetan", "ca": "Catalan", "cs": "Czech", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian",
    "hy": "Armenian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "km": "Khmer",
    "ko": "Korean", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian", "mr": "Marathi", "ms": "Malay", "my": "Burmese",
    "ne": "Nepali", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil",
    "te": "Telugu", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "yi": "Yiddish",
    "zh": "Chinese",
}  # fmt: skip


def language_name(code: str) -> str:
    """Return the English name of a language, by its ISO 639-1 code; the code itself where the name is not known."""
    return _LANGUAGE_NAMES.get(code.partition("-")[0], code)
