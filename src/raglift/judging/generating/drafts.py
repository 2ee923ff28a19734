"""One question on its way: the prompt for it, what the model wrote, and the checks by which it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from raglift.judging.generating.filters import fault_of, gives_away
from raglift.judging.generating.quotes import locate, longest_quote
from raglift.judging.generating.typos import with_typos
from raglift.judging.prompts import load_prompt
from raglift.records import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.integrations.language_models import FilledPrompt
    from raglift.judging.generating.corpus import Passages
    from raglift.judging.generating.styles import Style
    from raglift.records import Chunk

__all__ = ["Check", "Draft", "Rejection", "Task", "Verdict", "Written", "checks_of", "draft_of", "prompt_of"]

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

    One passage must answer the question, and one from another place, drawn at random, must not. Of two passages both
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
