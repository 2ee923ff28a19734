"""Analyzers: what BM25 takes for the terms of a text, by language."""

from __future__ import annotations

import difflib
import string
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from raglift.base.display import short_repr
from raglift.base.words import letters_by_script, words_of
from raglift.errors import ConfigurationError, MissingDependency

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


# Languages with a Snowball stemmer, by ISO 639-1 code, and the name of their stop words in bm25s. Chinese, Japanese,
# Korean, Thai and others whose words are pairs of characters (see raglift.base.words) need no entry: their words are
# the same under every analyzer.
_LANGUAGES = {
    "ar": ("arabic", None), "ca": ("catalan", None), "da": ("danish", "DANISH"), "de": ("german", "GERMAN"),
    "el": ("greek", None), "en": ("english", "EN"), "es": ("spanish", "SPANISH"),
    "eu": ("basque", None), "fi": ("finnish", None), "fr": ("french", "FRENCH"), "ga": ("irish", None),
    "hi": ("hindi", None), "hu": ("hungarian", None), "hy": ("armenian", None), "id": ("indonesian", None),
    "it": ("italian", "ITALIAN"), "lt": ("lithuanian", None), "ne": ("nepali", None), "nl": ("dutch", "DUTCH"),
    "no": ("norwegian", "NORWEGIAN"), "pt": ("portuguese", "PORTUGUESE"), "ro": ("romanian", None),
    "ru": ("russian", "RUSSIAN"), "sr": ("serbian", None), "sv": ("swedish", "SWEDISH"), "ta": ("tamil", None),
    "tr": ("turkish", "TURKISH"), "yi": ("yiddish", None),
}  # fmt: skip
_BY_PAIRS = {
    "bo": "Tibetan", "ja": "Hiragana", "km": "Khmer", "ko": "Hangul", "lo": "Lao", "my": "Myanmar", "th": "Thai",
    "zh": "Han",
}  # fmt: skip
"""Languages whose words are pairs of characters, and the script that tells each."""
NO_LANGUAGE = "none"
"""Words as they are: no stemming, no stop words."""
LANGUAGES = (*sorted((*_LANGUAGES, *_BY_PAIRS)), NO_LANGUAGE)
"""The languages that BM25 may be told: ISO 639-1 codes, or `none` for words as they are."""
STEMMERS = (*sorted({stemmer for stemmer, _ in _LANGUAGES.values()}), "porter", NO_LANGUAGE)
"""The stemmers that BM25 may be told: Snowball's, with Porter's first one as `porter`, or `none`."""

_OF_SCRIPT = {
    "Greek": "el", "Armenian": "hy", "Tamil": "ta", "Katakana": "ja", "Bopomofo": "zh",
    **{script: language for language, script in _BY_PAIRS.items()},
}  # fmt: skip
"""The language of a script that has one."""
_LEAST_KANA = 0.05
"""Of a text in Chinese characters, the share of kana from which on it is Japanese."""
_LETTERS = {
    "da": "æøåé", "de": "äöüß", "es": "áéíóúüñ", "fr": "àâæçéèêëîïôœùûüÿ", "it": "àèéìîòù", "nl": "áéíóúàèëïöü",
    "no": "æøåéèêóòâô", "pt": "áâãàçéêíóôõúü", "ru": "абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "sv": "åäöéà",
    "tr": "çğıöşüâîû",
}  # fmt: skip
"""What a language is written with, beside a to z. Words with others are foreign to it; English borrows all of them."""
_SEEN = {"ru": "ыэ"}
"""Letters that tell a language from its neighbours by being there: Bulgarian has none of these."""
_FOREIGN = 0.03
"""A text with a larger share of words in letters that a language does not have is not in it."""
_LEAST_STOP_WORDS = 0.15
"""A text with a smaller share of stop words of a language is not in it; words of one letter do not count.

In running text the share is 0.2 to 0.6.
"""
_READ = 200_000
"""Characters of all texts that are looked at for their language."""


@dataclass(frozen=True)
class Analyzer:
    """Turns texts into the terms that BM25 counts: words without stop words, stemmed.

    Raises:
        ConfigurationError: an unknown language or stemmer.
        MissingDependency: PyStemmer or bm25s is not installed.
    """

    language: str = NO_LANGUAGE
    """One of `LANGUAGES`."""
    stemmer: str | None = None
    """One of `STEMMERS`; None for that of the language."""

    def __post_init__(self) -> None:
        _check("language", self.language, LANGUAGES)
        if self.stemmer is not None:
            _check("stemmer", self.stemmer, STEMMERS)

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in order, as often as they occur."""
        words = words_of(text)
        if self.language == "en":
            words = [word.removesuffix("'s") for word in words]
        stop_words, stem = self._stop_words, _stem(self._stemmer)
        kept = [word for word in words if word not in stop_words] if stop_words else words
        return kept if stem is None else stem.stemWords(kept)

    @property
    def _stop_words(self) -> frozenset[str]:
        return _stop_words(self.language)

    @property
    def _stemmer(self) -> str:
        return self.stemmer or _LANGUAGES.get(self.language, (NO_LANGUAGE, None))[0]

    def __str__(self) -> str:
        words = "pairs of characters" if self.language in _BY_PAIRS else "words unstemmed"
        stems = words if self._stemmer == NO_LANGUAGE else f"{self._stemmer} stems"
        stop_words = f", {len(self._stop_words)} stop words" if self._stop_words else ""
        return f"{stems}{stop_words}"


def _check(what: str, found: object, known: Sequence[str]) -> None:
    if found in known:
        return
    written = str(found).lower()
    of_name = [code for code, (name, _) in _LANGUAGES.items() if name == written and code in known]
    near = of_name or difflib.get_close_matches(written, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ConfigurationError(f"bm25 {what}: found {short_repr(found)}{hint}; expected one of {', '.join(known)}")


# An analyzer keeps no stemmer, since these cannot be pickled or copied
@cache
def _stem(stemmer: str) -> Any:
    """Return Snowball's stemmer of a name; None for `none`."""
    if stemmer == NO_LANGUAGE:
        return None
    try:
        import Stemmer
    except ImportError:
        raise MissingDependency("PyStemmer", None, "BM25 retrieval") from None
    return Stemmer.Stemmer(stemmer)


@cache
def _stop_words(language: str) -> frozenset[str]:
    name = _LANGUAGES.get(language, (None, None))[1]
    if name is None:
        return frozenset()
    try:
        from bm25s import stopwords
    except ImportError:
        raise MissingDependency("bm25s", None, "BM25 retrieval") from None
    return frozenset(getattr(stopwords, f"STOPWORDS_{name}"))


def language_of(texts: Iterable[str]) -> str:
    """Return the language by which texts are analyzed where none is given, from about 200,000 characters of them.

    The script with the most letters decides. Of languages that share a script, it is the one whose stop words make up
    the largest part of the words, if that is at least 15 % and the words are written in its letters. Otherwise, and
    where two languages have equal parts, there is none: words that are not stemmed are found in every language, and a
    stemmer of another language does harm.

    Args:
        texts: of one corpus.

    Returns:
        A code of `LANGUAGES`; `none` where it is not known.
    """
    return _language_of(tuple(_sample([text for text in texts if text])))


@lru_cache(maxsize=32)  # the same chunks are indexed again for other settings, and for each rung of a search
def _language_of(sample: tuple[str, ...]) -> str:
    letters: Counter[str] = Counter()
    for text in sample:
        letters.update(letters_by_script(text))
    if not letters:
        return NO_LANGUAGE
    kana = letters.pop("Hiragana", 0) + letters.pop("Katakana", 0)
    letters["Han"] += kana
    script = letters.most_common(1)[0][0]
    if script == "Han" and kana > _LEAST_KANA * letters["Han"]:
        script = "Hiragana"
    words = Counter(word for text in sample for word in words_of(text))
    if script == "Arabic":
        return NO_LANGUAGE if _has_persian_letters(words) else "ar"
    if script == "Devanagari":
        return _by_share(words, {"hi": _HINDI})
    if script in ("Latin", "Cyrillic"):
        return _by_share(words, {language: found for language in _LANGUAGES if (found := _stop_words(language))})
    return _OF_SCRIPT.get(script, NO_LANGUAGE)


_HINDI = frozenset(
    ("है", "हैं", "में", "के", "की", "का", "को", "से", "और", "पर", "यह", "कि", "ने", "भी", "था", "थे", "थी", "नहीं", "एक")
)
"""The most frequent words of Hindi, which tell it from Marathi and Nepali."""


_PERSIAN = frozenset("پچژگکیےٹڈڑ")


def _has_persian_letters(words: Counter[str]) -> bool:
    """Whether letters occur that Persian and Urdu have and Arabic has not, in more words than foreign names are."""
    return _share(words, [word for word in words if not _PERSIAN.isdisjoint(word)]) > _FOREIGN


def _is_written_in(language: str, words: Counter[str]) -> bool:
    """Whether words have the letters of a language: hardly any others, and those that its neighbours do not have."""
    letters = _LETTERS.get(language)
    if letters is None:
        return True
    known = {*letters, *string.ascii_lowercase}
    marked = [word for word in words if not word.isascii()]  # words are in lower case: the others are of a to z
    foreign = _share(words, [word for word in marked if any(mark.isalpha() and mark not in known for mark in word)])
    seen = _SEEN.get(language)
    return foreign <= _FOREIGN and (seen is None or any(not set(seen).isdisjoint(word) for word in marked))


def _share(words: Counter[str], some: Iterable[str]) -> float:
    """Return which part of all words some distinct ones make up, as often as they occur."""
    return sum(words[word] for word in some) / words.total()


def _by_share(words: Counter[str], stop_words: Mapping[str, frozenset[str]]) -> str:
    # A single letter is a word in many languages: “a” is the article of Hungarian, and a stop word in Portuguese
    parts = {
        language: _share(words, [word for word in known if len(word) > 1])
        for language, known in stop_words.items()
        if _is_written_in(language, words)
    }
    most = max(parts.values(), default=0.0)
    best = [language for language, part in parts.items() if part == most]
    return best[0] if len(best) == 1 and most >= _LEAST_STOP_WORDS else NO_LANGUAGE


def _sample(texts: Sequence[str]) -> list[str]:
    """Return the beginnings of up to 200 texts, evenly spread."""
    step = max(1, len(texts) // 200)
    chosen = texts[::step]
    each = max(1, _READ // max(1, len(chosen)))
    return [text[:each] for text in chosen]
