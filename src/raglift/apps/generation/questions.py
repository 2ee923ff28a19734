"""One question: its passage, how the model is asked for it, the label of its quote, and the checks it must pass."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from raglift.errors import ConfigurationError
from raglift.grading.prompts import load_prompt
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.text.normalization import normalize, normalize_with_offsets
from raglift.text.words import is_as_long_as, words_of
from raglift.types.labels import Passage
from raglift.utilities.display import counted, short_repr

if TYPE_CHECKING:
    from raglift.llm.replies import FilledPrompt
    from raglift.types.documents import Chunk, Document


_SHORTEST = 150  # bytes in UTF-8: 150 English letters, 50 Chinese ones
_LEAST_SHARE_OF_LETTERS = 0.65
_LEAST_IN_SENTENCES = 0.5
# Also of Arabic, Urdu, and the scripts of India
_SENTENCE_END = re.compile(r"[.!?…؟۔।॥][\"'”’»)\]]*(?=\s|$)|[。！？][”’」』）]*")
_PARAGRAPH = re.compile(r"\n\s*\n")
_NEAR = 2  # passages: one that is as near belongs to the same place
_RELATED = 30
_RARE_WORDS = 8
_MOST_SHARED = 0.02


def _why_left_out(text: str) -> str | None:
    """Return why nothing can be asked of a text; None if something can."""
    if len(text.encode("utf-8", "replace")) < _SHORTEST:
        return "short"
    solid = "".join(text.split())
    # A sign on a letter is a vowel in the scripts of India and Thailand
    if sum(one.isalpha() or unicodedata.category(one)[0] == "M" for one in solid) < _LEAST_SHARE_OF_LETTERS * len(
        solid
    ):
        return "digits or markup"
    in_sentences = 0
    for paragraph in _PARAGRAPH.split(text):
        in_sentences += max((found.end() for found in _SENTENCE_END.finditer(paragraph)), default=0)
    return "no sentences" if in_sentences < _LEAST_IN_SENTENCES * len(text) else None


class Passages:
    """All passages of a corpus, under one BM25 index, and those that questions are written about."""

    def __init__(self, documents: Sequence[Document], size: int) -> None:
        self.chunks = RecursiveChunker(size, 0).split(documents)
        """All of them, in the order of the documents."""
        self.usable: list[int] = []
        """Which of them carry enough to be asked about."""
        counts: Counter[str] = Counter()
        seen: set[str] = set()
        for number, chunk in enumerate(self.chunks):
            words = normalize(chunk.text)
            reason = _why_left_out(chunk.text) or ("repeated" if words in seen else None)
            seen.add(words)
            if reason is None:
                self.usable.append(number)
            else:
                counts[reason] += 1
        self.left_out: Mapping[str, int] = dict(counts)
        """How many of the others there are, by reason."""
        if not self.usable:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in counts.items()) or "nothing"
            raise ConfigurationError(
                f"generate: found no passage to ask about in {counted(len(documents), 'document')} "
                f"(left out: {reasons}); expected prose, with a passage size ({size}) that holds some sentences of it"
            )
        self._bm25 = BM25Retriever(self.chunks)
        self._number = {chunk.id: number for number, chunk in enumerate(self.chunks)}

    @cached_property
    def _occurrences(self) -> Mapping[str, int]:
        """In how many passages each word occurs."""
        return Counter(word for chunk in self.chunks for word in set(words_of(chunk.text)))

    def best(self, question: str, count: int) -> list[int]:
        """Return BM25's first passages for a question."""
        return [self._number[hit.chunk.id] for hit in self._bm25.retrieve([question], count)[0].hits]

    def related(self, number: int) -> Iterator[int]:
        """Yield passages that share the rarest words of one, in other locations, the most alike first.

        The words are eight, those in the fewest passages, but in two at least and in 2 % at most.
        """
        most = max(3, int(_MOST_SHARED * len(self.chunks)))
        words = sorted(set(words_of(self.chunks[number].text)), key=lambda word: (self._occurrences[word], word))
        rare = [word for word in words if 2 <= self._occurrences[word] <= most and not word.isdigit()][:_RARE_WORDS]
        usable, doc_id = set(self.usable), self.chunks[number].doc_id
        for other in self.best(" ".join(rare), _RELATED) if rare else ():
            if other in usable and (self.chunks[other].doc_id != doc_id or abs(other - number) > _NEAR):
                yield other


@dataclass(frozen=True)
class Style:
    """One way to ask."""

    name: str
    """Also the tag of its queries."""
    passages: int
    """How many passages a question is written about."""
    quotes: int
    """How many quotes label it: one a passage, none for what is not answered."""
    meaning: str
    """What its questions are like."""

    @property
    def prompt(self) -> str:
        """The file of its prompt, without `.md`."""
        return f"generate_{self.name}"


STYLES = {
    style.name: style
    for style in (
        Style("natural", 1, 1, "a full question, as one asks a person"),
        Style("keyword", 1, 1, "a few words, as one types them into a search box"),
        Style("multi", 2, 2, "a question whose answer takes two passages from different places"),
        Style("unanswerable", 1, 0, "what the documents seem to answer, and do not"),
    )
}
"""All styles, by name."""

DEFAULT_STYLES = "natural=5,keyword=2,multi=2,unanswerable=1"
"""The weights unless others are given: of ten questions five natural ones, two of keywords, …"""


def parse_styles(styles: str | Mapping[str, float]) -> dict[str, float]:
    """Return the weight of each style.

    Args:
        styles: `natural=2,keyword`, where a style without a weight has 1; or a mapping from style to weight.
    """
    if isinstance(styles, str):
        parts = [part.strip().partition("=") for part in styles.split(",") if part.strip()]
        styles = {name.strip(): weight if equals else "1" for name, equals, weight in parts}  # type: ignore[misc]
    weights: dict[str, float] = {}
    for name, weight in styles.items():
        if name not in STYLES:
            raise ConfigurationError(f"styles: found {short_repr(name)}; expected some of {', '.join(STYLES)}")
        try:
            weights[name] = float(weight)
        except ValueError:
            weights[name] = 0.0
        if not 0 < weights[name] < float("inf"):
            raise ConfigurationError(f"styles: found {name}={weight}; expected a positive number, as {name}=2")
    if not weights:
        raise ConfigurationError(f"styles: found none; expected some of {', '.join(STYLES)}")
    return weights


def shares(count: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Return how many questions of each style make up a number of them, by the largest remainders."""
    total = sum(weights.values())
    exact = {name: count * weight / total for name, weight in weights.items()}
    found = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: found[name] - exact[name])
    for name in by_remainder[: count - sum(found.values())]:
        found[name] += 1
    return {name: share for name, share in found.items() if share}


REASONS = {
    "no second passage": "nothing elsewhere in the documents speaks of the same things",
    "no answer": "the model refused, failed, or gave no usable answer",
    "question too short": "under five letters",
    "question too long": "over 300 characters, or over ten words if search terms were asked for",
    "speaks of the passage": "it speaks of the passage, text or author, which who searches has not seen",
    "repeats a question": "its words are over 92% those of a question before it",
    "quotes missing": "not one quote for each passage",
    "quote not found": "the words that were to answer it are not in the passage",
    "quote too short": "under 20 bytes of UTF-8 (20 letters, 7 Chinese ones), which may stand anywhere by chance",
    "quote too long": "over half of the passage size, and over 300 characters",
    "gives its answer away": "it says the words that were to answer it",
    "not checked": "the model did not say whether it can be answered",
    "not answered by its passage": "the model, shown the passage, does not find the answer in it",
    "answered by one passage alone": "it was to take two",
    "answered by the documents": "it was to have no answer, and the model finds one in its passage or BM25's first 5",
}
"""Why a question is discarded, in the order in which it is looked for."""


@dataclass(frozen=True)
class Rejection:
    """A question that is discarded."""

    reason: str
    """One of `REASONS`."""
    question: str = ""
    """As the model wrote it; empty if it wrote none."""
    detail: str = ""
    """What gave the reason: the quote, the question that it repeats, the failure."""


_LEAST_LETTERS = 5
_LONGEST = 300
_MOST_KEYWORDS = 10
_LIKENESS = 92.0
"""Of 100, by rapidfuzz: about one letter in twelve may differ."""
_SHORTEST_QUOTE = 20  # letters of an alphabet, of which a Chinese character counts as three
_ENDS = ".!?…؟۔।。！？\"') "
_SPEAKS_OF_IT = re.compile(
    r"\b(?:the|this|that|these|those|both|given|above|following|provided|quoted)\s+(?:\w+\s+)?"
    r"(?:passages?|excerpts?|extracts?|paragraphs?|snippets?)\b"
    r"|\b(?:according to|in|from|does|do|is|by|per)\s+(?:the|this)\s+(?:given |above |provided )?"
    r"(?:texts?|documents?|articles?|authors?|narrator|source|context)\b"
    r"|\bfirst_passage\b|\bsecond_passage\b",
    re.IGNORECASE,
)


def fault_of(question: str, style: str, passages: Sequence[str]) -> str | None:
    """Return the reason for which a question is discarded by its text; None if there is none."""
    if sum(map(str.isalpha, question)) < _LEAST_LETTERS and len(question.encode("utf-8")) < 2 * _LEAST_LETTERS:
        return "question too short"
    if len(question) > _LONGEST or (style == "keyword" and len(question.split()) > _MOST_KEYWORDS):
        return "question too long"
    # If a passage has these words too, they are its subject: “the Northwest Passage”
    normalized = [normalize(passage) for passage in passages]
    spoken = (normalize(words[0]) for words in _SPEAKS_OF_IT.finditer(question))
    return "speaks of the passage" if any(all(words not in text for text in normalized) for words in spoken) else None


def gives_away(question: str, label: str) -> bool:
    """Whether a question says all the words that were to answer it.

    They are looked for by likeness of 92 % or more (rapidfuzz's partial ratio), without the end of their sentence.
    """
    from rapidfuzz import fuzz

    answer = normalize(label, unicode_folding=True).rstrip(_ENDS)
    asked = normalize(question, unicode_folding=True)
    return len(answer) <= len(asked) and fuzz.partial_ratio(answer, asked, score_cutoff=_LIKENESS) > 0


def repeated(question: str, before: Sequence[str]) -> str | None:
    """Return which question a new one repeats; None if it is new.

    Two questions are one if their words, sorted, are over 92 % alike (rapidfuzz's token sort ratio).
    """
    from rapidfuzz import fuzz, process

    def folded(text: str) -> str:
        return normalize(text, unicode_folding=True)

    found = process.extractOne(question, before, scorer=fuzz.token_sort_ratio, processor=folded, score_cutoff=_LIKENESS)
    return None if found is None else str(found[0])


def locate(quote: str, chunk: Chunk, longest: int) -> Passage | str:
    """Return the label that a quote stands for, in the document's own words; or which of `REASONS` it is none for.

    It is looked for in the passage that the model was given, as it is; else normalized, with typographic quotes and
    dashes folded. The first place counts.
    """
    words = normalize(quote, unicode_folding=True)
    if not is_as_long_as(words, _SHORTEST_QUOTE):
        return "quote too short"
    at = chunk.text.find(quote.strip())
    start, end = at, at + len(quote.strip())
    if at < 0:
        normalized = normalize_with_offsets(chunk.text, unicode_folding=True)
        at = normalized.text.find(words)
        if at < 0:
            return "quote not found"
        start, end = normalized.source_span(at, at + len(words))
    if end - start > longest:
        return "quote too long"
    begin = chunk.start or 0
    return Passage(chunk.text[start:end], chunk.doc_id, begin + start, begin + end)


_BEST = 5
_BETWEEN = "\n\n[another passage]\n\n"


class Reply(BaseModel):
    """The question that the model writes."""

    question: str = Field(description="The question, or the search terms.")
    quotes: list[str] = Field(description="What answers it, copied exactly; empty where nothing does.")


class Verdict(BaseModel):
    """What the model says of a question and passages."""

    answerable: bool = Field(description="Whether the passages answer the question.")


@dataclass(frozen=True)
class Task:
    """A question to be written."""

    style: Style
    passages: tuple[int, ...]
    """The numbers of the passages that it is written about."""

    def prompt(self, passages: Passages) -> FilledPrompt:
        """Return the prompt for the question."""
        texts = [passages.chunks[number].text for number in self.passages]
        names = ("first_passage", "second_passage") if len(texts) > 1 else ("passage",)
        return load_prompt(self.style.prompt).fill(**dict(zip(names, texts, strict=True)))


@dataclass(frozen=True)
class Draft:
    """A question that passed the checks of its words so far."""

    task: Task
    text: str
    labels: tuple[Passage, ...]
    """One a fact; none for what is not answered."""


@dataclass(frozen=True)
class Check:
    """What the model is asked about a draft, and the answer that it needs."""

    prompt: FilledPrompt
    expected: bool
    """Whether the passages should answer the question."""
    reason: str
    """One of `REASONS`: why the draft is discarded if they do otherwise."""


def draft_of(task: Task, reply: Reply, passages: Passages, size: int) -> Draft | Rejection:
    """Return the draft that a reply makes; or why it makes none.

    Args:
        task: what was asked for.
        reply: the question and its quotes.
        passages: the corpus.
        size: the most characters of a passage; a quote may have half of them, and 300 in any case.
    """
    question = " ".join(reply.question.split())
    chunks = [passages.chunks[number] for number in task.passages]
    fault = fault_of(question, task.style.name, [chunk.text for chunk in chunks])
    if fault is not None:
        return Rejection(fault, question)
    labels: list[Passage] = []
    if task.style.quotes and len(reply.quotes) != task.style.quotes:
        return Rejection("quotes missing", question, f"{len(reply.quotes)} in place of {task.style.quotes}")
    for quote, chunk in zip(reply.quotes[: task.style.quotes], chunks, strict=False):
        label = locate(quote, chunk, max(_LONGEST, size // 2))
        if not isinstance(label, Passage):
            return Rejection(label, question, quote)
        if gives_away(question, label.text or ""):
            return Rejection("gives its answer away", question, label.text or "")
        labels.append(label)
    return Draft(task, question, tuple(labels))


def checks_of(draft: Draft, passages: Passages) -> Iterator[Check]:
    """Yield what the model is asked about a draft.

    One passage must answer the question. Of two passages both together must, and neither alone. What is to have no
    answer must not be answered by its passage and BM25's first five of all passages together.
    """

    def check(numbers: tuple[int, ...], expected: bool, reason: str) -> Check:
        texts = _BETWEEN.join(passages.chunks[number].text for number in numbers)
        return Check(load_prompt("answerable").fill(question=draft.text, passages=texts), expected, reason)

    labelled = draft.task.passages
    if not draft.task.style.quotes:
        most_alike = tuple(dict.fromkeys((*labelled, *passages.best(draft.text, _BEST))))
        yield check(most_alike, False, "answered by the documents")
        return
    yield check(labelled, True, "not answered by its passage")
    if len(labelled) > 1:
        for number in labelled:
            yield check((number,), False, "answered by one passage alone")
