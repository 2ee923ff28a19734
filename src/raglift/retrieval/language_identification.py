"""The language of texts, as py3langid identifies it."""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from raglift.retrieval.analyzers import LANGUAGES, NO_LANGUAGE
from raglift.text.words import length_in_letters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


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
