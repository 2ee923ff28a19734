"""What is wrong with a question by its words alone; no model is asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raglift.printable import UNPRINTABLE
from raglift.text import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Asked", "fault_of", "gives_away"]

_LEAST_LETTERS = 5
_LONGEST = 300
_MOST_KEYWORDS = 10
_LIKENESS = 92.0
_ENDS = ".!?…؟۔।。！？\"') "
# Line ends and tabs become spaces before this is asked; what is invisible besides hides words from people
_HIDDEN = re.compile(f"{UNPRINTABLE.pattern}|[\u200b\u200e\u200f\u2060\ufeff]")
_TAG = re.compile(r"<\s*/?\s*[a-zA-Z!][^<>]*>?")
_SPEAKS_OF_IT = re.compile(
    r"\b(?:the|this|that|these|those|both|given|above|following|provided|quoted)\s+(?:\w+\s+)?"
    r"(?:passages?|excerpts?|extracts?|paragraphs?|snippets?)\b"
    r"|\b(?:according to|in|from|does|do|is|by|per)\s+(?:the|this)\s+(?:given |above |provided )?"
    r"(?:texts?|documents?|articles?|authors?|narrator|source|context)\b"
    r"|\b(?:text|author|document)s? (?:above|below)\b"
    r"|\bfirst_passage\b|\bsecond_passage\b",
    re.IGNORECASE,
)


class Asked:
    """The questions so far, to find the one that a new one repeats."""

    def __init__(self) -> None:
        self._questions: list[str] = []

    def repeated_by(self, question: str) -> str | None:
        """Return the question that a new one repeats, else note the new one.

        Two questions are one where their words, sorted, are over 92 % alike (rapidfuzz's token sort ratio).
        """
        from rapidfuzz import fuzz, process

        words = normalize(question, unicode_folding=True)
        found = process.extractOne(words, self._questions, scorer=fuzz.token_sort_ratio, score_cutoff=_LIKENESS)
        if found is not None:
            return str(found[0])
        self._questions.append(words)
        return None


def fault_of(question: str, style: str, passages: Sequence[str]) -> str | None:
    """Return the reason for which a question is thrown away by its words; None where there is none.

    Args:
        question: with its white space folded.
        style: how it was to be asked.
        passages: what it was written about.
    """
    if _HIDDEN.search(question):
        return "hidden characters"
    if sum(map(str.isalpha, question)) < _LEAST_LETTERS and len(question.encode("utf-8")) < 2 * _LEAST_LETTERS:
        return "question too short"
    if len(question) > _LONGEST or (style == "keyword" and len(question.split()) > _MOST_KEYWORDS):
        return "question too long"
    if any(not any(tag in passage for passage in passages) for tag in _TAG.findall(question)):
        return "markup"
    # Where a passage has these words too, they are its subject: “the Northwest Passage”
    if any(not any(_holds(passage, said[0]) for passage in passages) for said in _SPEAKS_OF_IT.finditer(question)):
        return "speaks of the passage"
    return None


def gives_away(question: str, label: str) -> bool:
    """Whether a question says all the words that were to answer it.

    They are looked for by likeness of 92 % or more (rapidfuzz's partial ratio), without the end of their sentence.
    """
    from rapidfuzz import fuzz

    answer = normalize(label, unicode_folding=True).rstrip(_ENDS)
    asked = normalize(question, unicode_folding=True)
    return len(answer) <= len(asked) and fuzz.partial_ratio(answer, asked, score_cutoff=_LIKENESS) > 0


def _holds(passage: str, words: str) -> bool:
    return normalize(words) in normalize(passage)
