"""Which questions are refused without asking a model, and the records of what a generation gave."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.base.display import UNPRINTABLE
from raglift.base.normalization import normalize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.llm.replies import Usage
    from raglift.records.dataset import Dataset


# Filters that need only a question's text; no model is called.


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
    """Return the reason for which a question is thrown away by its text; None if there is none.

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


# Results of question generation, as frozen records.


SYNTHETIC = "synthetic"
"""The tag of every query that a model wrote."""

DIFFICULTIES = ("easy", "medium", "hard")
"""The tags of how hard BM25 finds a query."""

REASONS = {
    "no second passage": "nothing elsewhere in the documents speaks of the same things",
    "no answer": "the model refused, failed, or gave no usable answer",
    "no question": "the model left the question empty",
    "hidden characters": "it holds characters that do not show, or that turn others around",
    "question too short": "under five letters",
    "question too long": "over 300 characters, or over ten words where search terms were asked for",
    "markup": "it holds a tag that its passage does not",
    "speaks of the passage": "it speaks of the passage, text or author, which who searches has not seen",
    "nothing to misspell": "no word of it has four letters",
    "repeats a question": "its words are over 92% those of a question before it",
    "quotes missing": "not one quote for each passage",
    "quote not found": "the words that were to answer it are not in the passage",
    "quote too short": "under 20 bytes of UTF-8 (20 letters, 7 Chinese ones), which may stand anywhere by chance",
    "quote too long": "over half of the passage size, and over 300 characters",
    "gives its answer away": "it says the words that were to answer it",
    "not checked": "the model did not say whether it can be answered",
    "not answered by its passage": "the model, shown the passage, does not find the answer in it",
    "answered by a random passage": "the model finds the answer in a passage drawn at random too: it asks for little",
    "answered by one passage alone": "it was to take two",
    "answered by the documents": "it was to have no answer, and the model finds one in its passage or BM25's first 5",
}
"""Why a question is thrown away, in the order in which it is looked for."""


@dataclass(frozen=True)
class Example:
    """One question that was thrown away."""

    question: str
    """As the model wrote it; empty if it wrote none."""
    detail: str
    """What gave the reason: the quote, the question that it repeats, the failure; may be empty."""


@dataclass(frozen=True)
class ThrownAway:
    """How many questions were thrown away for a reason."""

    reason: str
    """One of `REASONS`."""
    count: int
    examples: tuple[Example, ...]
    """The first few."""


@dataclass(frozen=True)
class StyleReport:
    """What came of one style."""

    style: str
    """One of `STYLES`."""
    wanted: int
    asked: int
    """How many were tried."""
    kept: int
    thrown_away: tuple[ThrownAway, ...]
    """In the order of `REASONS`."""


@dataclass(frozen=True)
class GenerationRecord:
    """Questions that a model wrote about a corpus, and what was thrown away on the way."""

    dataset: Dataset
    """The questions with their labels, and the documents; every query has the tag `synthetic`, its style and, where
    it has an answer, one of `DIFFICULTIES`."""
    styles: tuple[StyleReport, ...]
    """One a style."""
    model: str
    """Who wrote and checked them."""
    seed: int
    passage_size: int
    """The most characters of a passage."""
    passages: int
    """How many passages the documents were cut into."""
    left_out: Mapping[str, int]
    """How many of them carry nothing to ask about, by reason; see `LEFT_OUT`."""
    usage: Usage
    """The tokens that were billed now; answers from the cache cost nothing."""
    dollars: float | None
    """US dollars; None if the model's price is not known."""
    notes: tuple[str, ...] = ()
    """Notes for the reader."""

    @property
    def wanted(self) -> int:
        """How many questions were wanted."""
        return sum(each.wanted for each in self.styles)

    def difficulties(self, style: str) -> dict[str, int]:
        """Return how many queries of a style are of each of `DIFFICULTIES`."""
        counts = Counter(tag for query in self.dataset if style in query.tags for tag in query.tags)
        return {name: counts[name] for name in DIFFICULTIES}
