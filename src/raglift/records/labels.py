"""Ground truth: passages, the facts they prove, and the queries that need them."""

from __future__ import annotations

from dataclasses import dataclass, field

from raglift.printable import excerpt

__all__ = ["Annotator", "Fact", "Passage", "Query", "passage_text"]


@dataclass(frozen=True)
class Annotator:
    """The language model that judged a passage, or wrote a query; what no model made has none."""

    model: str
    """As `openai:gpt-4o-mini`."""
    prompt: str
    """Name and hash of what it was told, as `relevance@3f9a1c07`."""
    date: str
    """The day it answered, as `2026-11-21`."""

    @property
    def name(self) -> str:
        """The model with what it was told, as `openai:gpt-4o-mini (relevance@3f9a1c07)`, whatever the day.

        The styles in which one model writes questions are one task: `openai:gpt-4o-mini (generate)`.
        """
        task = "generate" if self.prompt.startswith("generate_") else self.prompt
        return f"{self.model} ({task})"

    def __str__(self) -> str:
        return f"{self.model} ({self.prompt}, {self.date})"


@dataclass(frozen=True)
class Passage:
    """One piece of evidence: a literal text, a span of a document, or a chunk id.

    Exactly one of `text` and `chunk_id` is set; a passage that was given as a span or as a quote anchor
    carries its text as well as its place.
    """

    text: str | None = None
    """The words that are evidence; None for a chunk-id label."""
    doc_id: str | None = None
    """The document that the passage is anchored to, if any."""
    start: int | None = None
    """First character in that document's text."""
    end: int | None = None
    """One past the last character in that document's text."""
    chunk_id: str | None = None
    """The id of the chunk that is evidence, for labels about chunks."""
    grade: int = 1
    """How good the evidence is: an integer, 1 or more."""
    annotator: Annotator | None = field(default=None, repr=False)
    """The model that judged it; None for a label that a person gave, as far as is known."""


@dataclass(frozen=True)
class Fact:
    """Something a query needs: any one of its passages proves it (OR)."""

    passages: tuple[Passage, ...]
    """The alternatives, at least one."""

    @property
    def ideal_grade(self) -> int:
        """The highest grade among the alternatives."""
        return max(passage.grade for passage in self.passages)


@dataclass(frozen=True)
class Query:
    """A question and what answers it: all of its facts (AND)."""

    id: str
    """Unique within its dataset."""
    text: str
    """The question, as it is put to the system."""
    facts: tuple[Fact, ...] = ()
    """What the answer needs; empty when the query is unlabelled."""
    tags: tuple[str, ...] = ()
    """Free labels for slicing: easy, hard, …"""
    answerable: bool = True
    """False when the corpus does not answer it: such a query enters no mean."""
    judged_irrelevant: tuple[Passage, ...] = ()
    """What somebody looked at and found not to help; never a fact."""
    annotator: Annotator | None = field(default=None, repr=False)
    """The model that wrote the question; None for one that a person asked, as far as is known."""

    @property
    def is_labelled(self) -> bool:
        """Whether the query can be scored: it is answerable and has at least one fact."""
        return self.answerable and bool(self.facts)


def passage_text(passage: Passage) -> str:
    """Return a passage's place, its beginning, its grade, and the model that gave it, in a line."""
    grade = f"(grade {passage.grade})" if passage.annotator is None else f"(grade {passage.grade}, {passage.annotator})"
    if passage.text is None:
        return f"chunk {passage.chunk_id} {grade}"
    place = f"{passage.doc_id} " if passage.doc_id else ""
    span = f"{passage.start}–{passage.end} " if passage.start is not None else ""
    return f"{place}{span}“{excerpt(passage.text)}” {grade}"
