"""Draft questions: their styles and typing mistakes, the prompts, the model's replies, and the checks of each draft."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, Field

from raglift.apps.generation.filters import fault_of, gives_away
from raglift.base.display import short_repr
from raglift.base.normalization import normalize, normalize_with_offsets
from raglift.base.words import is_as_long_as
from raglift.errors import ConfigurationError, CostLimitReached
from raglift.judging.batch import ask_all, estimate
from raglift.judging.prompts import load_prompt
from raglift.llm.providers import dollars_in_short
from raglift.llm.replies import Usage
from raglift.records.labels import Passage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from raglift.apps.generation.passages import Passages
    from raglift.components.chunkers import Span
    from raglift.judging.batch import Limits, NoAnswer
    from raglift.llm.language_models import LanguageModel
    from raglift.llm.replies import FilledPrompt
    from raglift.records.documents import Chunk


# Question styles, and how many questions of each style are wanted.


@dataclass(frozen=True)
class Style:
    """One way to ask."""

    name: str
    """Also the tag of its queries."""
    prompt: str
    """The file of its prompt, without `.md`."""
    passages: int
    """How many passages a question is written about."""
    quotes: int
    """How many quotes label it: one a passage, none for what is not answered."""
    meaning: str
    """What its questions are like."""


STYLES = {
    style.name: style
    for style in (
        Style("natural", "generate_natural", 1, 1, "a full question, as one asks a person"),
        Style("keyword", "generate_keyword", 1, 1, "a few words, as one types them into a search box"),
        Style("typo", "generate_natural", 1, 1, "a natural question, mistyped by raglift, not by the model"),
        Style("multi", "generate_multi", 2, 2, "a question whose answer takes two passages from different places"),
        Style("unanswerable", "generate_unanswerable", 1, 0, "what the documents seem to answer, and do not"),
    )
}
"""All styles, by name."""

DEFAULT_STYLES = "natural=4,keyword=2,multi=2,typo=1,unanswerable=1"
"""What is written when nothing else is said: of ten questions four natural ones, two of keywords, …"""


def parse_styles(styles: str | Mapping[str, float]) -> dict[str, float]:
    """Return the weight of each style.

    Args:
        styles: `natural=2,keyword`, where a style without a weight has 1; or a mapping from style to weight.

    Raises:
        ConfigurationError: an unknown style, one given twice, or a weight that is not a positive number.
    """
    if isinstance(styles, str):
        parts = [part.strip().partition("=") for part in styles.split(",") if part.strip()]
        named = [(name.strip(), weight if equals else "1") for name, equals, weight in parts]
    else:
        named = [(name, str(weight)) for name, weight in styles.items()]
    weights: dict[str, float] = {}
    for name, weight in named:
        if name not in STYLES or name in weights:
            found = f"{short_repr(name)} twice" if name in weights else short_repr(name)
            raise ConfigurationError(f"styles: found {found}; expected some of {', '.join(STYLES)}, each once")
        weights[name] = _weight(name, weight)
    if not weights:
        raise ConfigurationError(f"styles: found none; expected some of {', '.join(STYLES)}")
    return weights


def _weight(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise ConfigurationError(
            f"styles: found {name}={short_repr(text)[1:-1]}; expected a positive number, as {name}=2"
        )
    return weight


def shares(count: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Return how many questions of each style make up a number of them, by the largest remainders."""
    total = sum(weights.values())
    exact = {name: count * weight / total for name, weight in weights.items()}
    found = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: found[name] - exact[name])
    for name in by_remainder[: count - sum(found.values())]:
        found[name] += 1
    return {name: share for name, share in found.items() if share}


# Typing mistakes, made by raglift: the same question and seed give the same ones.


_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_WORD = re.compile(r"[^\W\d_]{4,}")
_WORDS_A_TYPO = 5


def with_typos(text: str, seed: int) -> str:
    """Return a text with a typing mistake in about one of five of its text, at least one.

    Words under four letters, digits and the first letter of a word are left alone. A mistake is two letters that
    change places, one that is missing, one that is doubled, or a neighbour of it on an English keyboard.

    Args:
        text: a question.
        seed: another seed makes other mistakes.

    Returns:
        The text with mistakes; itself, where no word is long enough.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    random = np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
    words = list(_WORD.finditer(text))
    count = min(len(words), max(1, len(text.split()) // _WORDS_A_TYPO))
    chosen = sorted(random.choice(len(words), size=count, replace=False)) if count else []
    for number in reversed(chosen):
        found = words[number]
        text = text[: found.start()] + _mistyped(found[0], random) + text[found.end() :]
    return text


def _mistyped(word: str, random: np.random.Generator) -> str:
    """Return a word with one mistake."""
    at = int(random.integers(1, len(word) - 1))
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    missing = word[:at] + word[at + 1 :]
    doubled = word[: at + 1] + word[at:]
    kinds = [missing, doubled, *([swapped] if swapped != word else [])]
    neighbours = _neighbours(word[at])
    if neighbours:
        kinds.append(word[:at] + neighbours[int(random.integers(len(neighbours)))] + word[at + 1 :])
    return kinds[int(random.integers(len(kinds)))]


def _neighbours(letter: str) -> str:
    """Return the letters next to one in its row of an English keyboard."""
    for row in _ROWS:
        at = row.find(letter)
        if at >= 0:
            return row[max(0, at - 1) : at] + row[at + 1 : at + 2]
    return ""


# The location of a model's quote in the document.


SHORTEST = 20  # letters of an alphabet, of which a Chinese character counts as three
_CLOSING = re.compile(r"\w*[.!?…。！？\"'”’»)\]]*")
LEAST_LIKENESS = 92.0
"""Of 100, by rapidfuzz's partial ratio: about one letter in twelve may differ."""

NotAQuote = Literal["quote not found", "quote too short", "quote too long"]


def longest_quote(passage_size: int) -> int:
    """Return how many characters a quote may have: half of a passage, and at least 300."""
    return max(300, passage_size // 2)


def locate(quote: str, chunk: Chunk, longest: int) -> Passage | NotAQuote:
    """Return the label that a quote stands for, in the document's own words; or why it is none.

    It is looked for in the passage that the model was given, as it is; else normalized, with typographic quotes and
    dashes folded; else by likeness, with a high bar. The first place counts, and ends at whole words.

    Args:
        quote: what the model says that it copied.
        chunk: the passage, with its location in a document.
        longest: the most characters.
    """
    if len(quote.strip()) > max(longest, 2 * len(chunk.text)):  # not worth a comparison
        return "quote not found"
    words = normalize(quote, unicode_folding=True)
    if not is_as_long_as(normalize(quote), SHORTEST) or not is_as_long_as(words, SHORTEST):
        return "quote too short"
    span = _find(quote.strip(), words, chunk.text)
    if span is None:
        return "quote not found"
    start, end = _whole_words(chunk.text, *span)
    if end - start > longest:
        return "quote too long"
    text, begin = chunk.text[start:end], chunk.start or 0
    if not is_as_long_as(normalize(text), SHORTEST):
        return "quote too short"
    return Passage(text, chunk.doc_id, begin + start, begin + end)


def _find(quote: str, words: str, text: str) -> Span | None:
    at = text.find(quote)
    if at >= 0:
        return at, at + len(quote)
    normalized = normalize_with_offsets(text, unicode_folding=True)
    at = normalized.text.find(words)
    if at >= 0:
        return normalized.source_span(at, at + len(words))
    from rapidfuzz import fuzz

    # Of two texts the shorter is looked for in the longer: a longer quote would be found by a part of it
    if len(words) > len(normalized.text):
        return None
    alike = fuzz.partial_ratio_alignment(words, normalized.text, score_cutoff=LEAST_LIKENESS)
    if alike is None or alike.dest_start >= alike.dest_end:
        return None
    start, end = normalized.source_span(alike.dest_start, alike.dest_end)
    closed = _CLOSING.match(text, end)  # what is compared is as long as the quote, and may end just before
    return start, closed.end() if closed else end


def _whole_words(text: str, start: int, end: int) -> Span:
    """Return a span that neither begins nor ends within a word, and has no white space at its ends."""
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    inner = text[start:end]
    return start + len(inner) - len(inner.lstrip()), end - (len(inner) - len(inner.rstrip()))


# One draft question: its prompt, the model's reply, and the checks it must pass.


_BEST = 5
_BETWEEN = "\n\n[another passage]\n\n"
_PAIR = ("first_passage", "second_passage")


class Written(BaseModel):
    """What the model writes."""

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


@dataclass(frozen=True)
class Rejection:
    """A question that is thrown away."""

    reason: str
    """One of `REASONS`."""
    question: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Draft:
    """A question that nothing is wrong with so far."""

    task: Task
    question: str
    """As the model wrote it."""
    text: str
    """As it will be asked: mistyped, where that is its style."""
    labels: tuple[Passage, ...]
    """One a fact; none for what is not answered."""


@dataclass(frozen=True)
class Check:
    """What the model is asked about a draft, and the answer that keeps it."""

    prompt: FilledPrompt
    expected: bool
    """Whether the passages should answer the question."""
    reason: str
    """One of `REASONS`: why it is thrown away where they do otherwise."""


def prompt_of(task: Task, passages: Passages) -> FilledPrompt:
    """Return the prompt for a question."""
    texts = [passages.chunks[number].text for number in task.passages]
    names = _PAIR if len(texts) > 1 else ("passage",)
    return load_prompt(task.style.prompt).fill(**dict(zip(names, texts, strict=True)))


def draft_of(task: Task, written: Written, passages: Passages, size: int, seed: int) -> Draft | Rejection:
    """Return the draft that an answer makes; or why it makes none."""
    question = " ".join(written.question.split())
    chunks = [passages.chunks[number] for number in task.passages]
    if not question:
        return Rejection("no question")
    fault = fault_of(question, task.style.name, [chunk.text for chunk in chunks])
    if fault is not None:
        return Rejection(fault, question)
    text = with_typos(question, seed) if task.style.name == "typo" else question
    if task.style.name == "typo" and text == question:
        return Rejection("nothing to misspell", question)
    labels = _labels(task.style, written.quotes, chunks, size)
    if isinstance(labels, Rejection):
        return Rejection(labels.reason, question, labels.detail)
    given_away = next((label.text or "" for label in labels if gives_away(question, label.text or "")), None)
    if given_away is not None:
        return Rejection("gives its answer away", question, given_away)
    return Draft(task, question, text, labels)


def _labels(style: Style, quotes: list[str], chunks: list[Chunk], size: int) -> tuple[Passage, ...] | Rejection:
    if not style.quotes:
        return ()
    if len(quotes) != style.quotes:
        return Rejection("quotes missing", detail=f"{len(quotes)} in place of {style.quotes}")
    labels = []
    for quote, chunk in zip(quotes, chunks, strict=True):
        label = locate(quote, chunk, longest_quote(size))
        if not isinstance(label, Passage):
            return Rejection(label, detail=quote)
        labels.append(label)
    return tuple(labels)


def checks_of(draft: Draft, passages: Passages, seed: int) -> Iterator[Check]:
    """Yield what the model is asked about a draft.

    One passage must answer the question, and one from another location, drawn at random, must not. Of two passages both
    together must, and neither alone. What is to have no answer must not be answered by its passage and BM25's first
    five of all passages together. Mistakes in typing are left out: it is the meaning that is checked.
    """

    def check(numbers: tuple[int, ...], expected: bool, reason: str) -> Check:
        texts = _BETWEEN.join(passages.chunks[number].text for number in numbers)
        return Check(load_prompt("answerable").fill(question=draft.question, passages=texts), expected, reason)

    own = draft.task.passages
    if not draft.labels:
        all_of_them = tuple(dict.fromkeys((*own, *passages.best(draft.question, _BEST))))
        yield check(all_of_them, False, "answered by the documents")
        return
    yield check(own, True, "not answered by its passage")
    if len(own) > 1:
        for number in own:
            yield check((number,), False, "answered by one passage alone")
        return
    other = passages.other(own[0], seed)
    if other is not None:
        yield check((other,), False, "answered by a random passage")


# The model calls of a generation, within one cost limit.


Form = TypeVar("Form", bound=BaseModel)

_MARGIN = 1.2


class Asker:
    """One model, asked within one limit for all calls together.

    Args:
        model: who is asked.
        limits: how many requests at a time, and for how much money in all.
        progress: whether to show it; None decides by the terminal.
    """

    def __init__(self, model: LanguageModel, limits: Limits, progress: bool | None) -> None:
        self.model = model
        self.usage = Usage()
        """What all calls were billed."""
        self.dollars: float | None = 0.0
        """The same in US dollars; None if the price is not known."""
        self._limits = limits
        self._progress = progress

    def ask(
        self,
        prompts: Sequence[FilledPrompt],
        form: type[Form],
        label: str,
        to_come: Callable[[], Sequence[FilledPrompt]] = tuple,
    ) -> tuple[Form | NoAnswer, ...]:
        """Return the answers to the prompts of one step, in order.

        Args:
            prompts: of this step.
            form: what each answer must be.
            label: what is being done.
            to_come: returns the checks that follow from this step, for what is said where the limit stops it.

        Raises:
            CostLimitReached: the next request might pass the limit.
        """
        limits = self._limits
        if limits.max_cost is not None:
            limits = replace(limits, max_cost=max(0.0, limits.max_cost - (self.dollars or 0.0)))
        try:
            answers = ask_all(self.model, prompts, form, limits, label=label, progress=self._progress)
        except CostLimitReached as error:
            raise self._limit_reached(error, label, to_come()) from error
        self.usage += answers.usage
        self.dollars = None if self.dollars is None or answers.dollars is None else self.dollars + answers.dollars
        return answers.values

    def _limit_reached(self, error: CostLimitReached, label: str, to_come: Sequence[FilledPrompt]) -> CostLimitReached:
        """Return the error for all steps together: `ask_all` knows of one alone."""
        spent = (self.dollars or 0.0) + error.spent
        more = error.more + (estimate(self.model, to_come, Verdict, self._limits).dollars or 0.0)
        return CostLimitReached(
            f"max_cost: the next request might cost more than US$ {self._limits.max_cost or 0:g} in all. "
            f"US$ {dollars_in_short(spent)} were spent now, up to {label}, and all answers are kept; the rest takes "
            f"about US$ {dollars_in_short(more)} if no more questions are thrown away: run again with --max-cost "
            f"{dollars_in_short(more * _MARGIN)} or more",
            spent=spent,
            more=more,
        )
