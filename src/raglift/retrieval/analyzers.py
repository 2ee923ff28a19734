"""Analyzers: what BM25 takes for the terms of a text, by language."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from raglift.errors import ConfigurationError, MissingDependency
from raglift.text.words import length_in_letters, words_of
from raglift.utilities.display import short_repr

_READ = 200_000
"""Characters of all texts that are looked at."""
_PIECE = 500
"""Short texts are identified together, so many characters at a time."""
_ANALYZED_AS = {"ary": "ar", "arz": "ar", "dz": "bo", "hbo": "he", "ms": "id", "nn": "no", "wuu": "zh", "yue": "zh"}
"""Languages that py3langid names by a code of their own and that are written as another, or with its affixes."""
_NO_TEXT = "zxx"
"""What py3langid calls numbers, markup and identifiers."""


def language_of(texts: Iterable[str]) -> str:
    """Return the language by which texts are analyzed if none is named, from about 200,000 characters of them.

    py3langid gives each sampled text a probability for each of its 139 languages, so one without an analyzer is rarely
    mistaken for one with it. The language with more than half of the probability, weighted by the lengths of the texts,
    is that of the corpus. If there is no such language, or it has no analyzer, the answer is `none`: unstemmed words
    can be found in every language, and the stemmer of another language does harm.

    Returns:
        A code of `LANGUAGES`; `none` if it is not known.
    """
    return _language_of(tuple(_sample([text for text in texts if text])))


@lru_cache(maxsize=32)  # the same chunks are indexed again for other settings, and for each rung of a search
def _language_of(sample: tuple[str, ...]) -> str:
    votes: Counter[str] = Counter()
    for piece in _pieces(sample):
        ranked = _identifier().rank(piece)
        if ranked[0][0] != _NO_TEXT:
            for code, probability in ranked:
                votes[_ANALYZED_AS.get(code, code)] += probability * length_in_letters(piece)
    if not votes:
        return NO_LANGUAGE
    ((language, most),) = votes.most_common(1)
    return language if language in LANGUAGES and most > votes.total() / 2 else NO_LANGUAGE


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _pieces(sample: Iterable[str]) -> Iterator[str]:
    """Yield the texts, short ones joined until they are long enough to be identified."""
    waiting: list[str] = []
    for text in sample:
        waiting.append(text)
        if sum(map(len, waiting)) >= _PIECE:
            yield "\n".join(waiting)
            waiting = []
    if waiting:
        yield "\n".join(waiting)


def _sample(texts: Sequence[str]) -> list[str]:
    """Return the beginnings of up to 200 texts, evenly spread."""
    step = max(1, len(texts) // 200)
    chosen = texts[::step]
    each = max(1, _READ // max(1, len(chosen)))
    return [text[:each] for text in chosen]


# Languages with a Snowball stemmer, by ISO 639-1 code, and the name of their stop words in bm25s. Chinese, Japanese,
# Korean, Thai and others whose words are pairs of characters (see raglift.text.words) need no entry: their words are
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
_BY_PAIRS = ("bo", "ja", "km", "ko", "lo", "my", "th", "zh")
"""Languages whose words are pairs of characters."""
NO_LANGUAGE = "none"
"""Words as they are: no stemming, no stop words."""
LANGUAGES = (*sorted((*_LANGUAGES, *_BY_PAIRS)), NO_LANGUAGE)
"""The languages that BM25 may be told: ISO 639-1 codes, or `none` for words as they are."""
STEMMERS = (*sorted({stemmer for stemmer, _ in _LANGUAGES.values()}), "porter", NO_LANGUAGE)
"""The stemmers that BM25 may be told: Snowball's, with Porter's first one as `porter`, or `none`."""

_ELIDED = {
    "ca": frozenset(("d", "l", "m", "n", "s", "t")),
    "fr": frozenset(("c", "d", "j", "jusqu", "l", "lorsqu", "m", "n", "puisqu", "qu", "quoiqu", "s", "t")),
    "ga": frozenset(("b", "d", "m")),
    "it": frozenset((
        "agl", "all", "c", "coll", "d", "dagl", "dall", "degl", "dell", "gl", "l", "m", "negl", "nell", "pell", "s",
        "sugl", "sull", "t", "un", "v",
    )),
}  # fmt: skip
"""Articles and pronouns that an apostrophe joins to the next word: those of Lucene 10 (`CatalanAnalyzer`,
`FrenchAnalyzer`, `IrishAnalyzer` and `ItalianAnalyzer`, `DEFAULT_ARTICLES`)."""
_IRISH_PREFIX = re.compile(r"\b(?:[hnt][-\u2010\u2011]|[nt](?=[AEIOUÁÉÍÓÚ]))(?=\w)")
"""The letter before the vowel of a mutated word: n-athair, nAthair, h-aois, t-ainm (Lucene's `IrishAnalyzer`)."""
_CEDILLAS = str.maketrans("șț", "şţ")
"""Romanian with commas below, as it is written, and with cedillas, as Snowball's stemmer reads it."""


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
        words = _words_in(self.language, text)
        stop_words, stem = self._stop_words, _stem(self._stemmer)
        words = [word for word in words if word not in stop_words] if stop_words else words
        return words if stem is None else stem.stemWords(words)

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


def _words_in(language: str, text: str) -> list[str]:
    """Return the words of a text, without what a language joins to them by apostrophes and hyphens.

    In Turkish that is whatever follows the apostrophe, as in Lucene's `ApostropheFilter`: İstanbul'un is istanbul.
    """
    if language == "tr":  # I and İ are the capitals of ı and i
        text = unicodedata.normalize("NFC", text).replace("I", "ı").replace("İ", "i")
        return [word.partition("'")[0] for word in words_of(text)]
    if language == "ga":
        text = _IRISH_PREFIX.sub("", text)
    words = words_of(text)
    if language == "en":
        return [word.removesuffix("'s") for word in words]
    if language == "ro":
        return [word.translate(_CEDILLAS) for word in words]
    if (elided := _ELIDED.get(language)) is not None:
        parts = [word.partition("'") for word in words]
        return [after if after and before in elided else before + mark + after for before, mark, after in parts]
    return words


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
