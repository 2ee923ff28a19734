"""Labels: passages, facts, queries, and who labelled them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raglift.base.display import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


# Ground truth: passages, the facts they prove, and the queries that need them.


@dataclass(frozen=True)
class Annotator:
    """The language model that judged a passage or wrote a query; None if no model did."""

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

    Exactly one of `text` and `chunk_id` is set; a passage that was given as a span or as a quote anchor carries its
    text as well as its location.
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
    """Return a passage's location, its beginning, its grade, and the model that gave it, in a line."""
    grade = f"(grade {passage.grade})" if passage.annotator is None else f"(grade {passage.grade}, {passage.annotator})"
    if passage.text is None:
        return f"chunk {passage.chunk_id} {grade}"
    place = f"{passage.doc_id} " if passage.doc_id else ""
    span = f"{passage.start}–{passage.end} " if passage.start is not None else ""
    return f"{place}{span}“{excerpt(passage.text)}” {grade}"


# Label provenance: people, or which models, labelled a dataset.


_PEOPLE = "people"
_LONGEST = 120
"""The longest name of a model that is shown whole."""


@dataclass(frozen=True)
class LabelSources:
    """How many labels and queries are whose: of people (None), as far as is known, and of models by name.

    A model is named with the prompt that it was given, as `openai:gpt-4o-mini (relevance@3f9a1c07)`: told something
    else, it is another judge. Its text is a sentence for the tables that use the labels, and is empty if no model was
    involved.
    """

    passages: Mapping[str | None, int] = field(default_factory=dict)
    """Judged passages, those judged irrelevant among them; most first."""
    queries: Mapping[str | None, int] = field(default_factory=dict)
    """Who wrote the questions; most first."""

    @classmethod
    def of(cls, queries: Iterable[Query]) -> LabelSources:
        """Return who labelled some queries, and who wrote them."""
        passages: Counter[str | None] = Counter()
        written: Counter[str | None] = Counter()
        for query in queries:
            written[query.annotator.name if query.annotator else None] += 1
            for fact in query.facts:
                passages.update(one.annotator.name if one.annotator else None for one in fact.passages)
            passages.update(one.annotator.name if one.annotator else None for one in query.judged_irrelevant)
        return cls(dict(passages.most_common()), dict(written.most_common()))

    @property
    def by_model(self) -> bool:
        """Whether a model judged any passage, or wrote any query."""
        return any(name is not None for name in (*self.passages, *self.queries))

    @property
    def is_mixed(self) -> bool:
        """Whether some passages were judged by a model, and others by people or by another model."""
        return len(self.passages) > 1

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Return both counts as JSON has them, people as `people`."""
        told = {"passages": self.passages, "queries": self.queries}
        return {what: {name or _PEOPLE: count for name, count in counts.items()} for what, counts in told.items()}

    def __str__(self) -> str:
        parts = [_told("labels", self.passages, "passage", "judged"), _told("queries", self.queries, "", "written")]
        return "; ".join(filter(None, parts))


PEOPLE = LabelSources()
"""No model had a part."""


def _told(what: str, counts: Mapping[str | None, int], noun: str, verb: str) -> str:
    """Return `labels: 120 passages judged by a model, 30 by people`; empty if people made all of them."""
    if not any(name is not None for name in counts):
        return ""
    parts = [f"{count:,} by {_named(name)}" for name, count in counts.items()]
    first = next(iter(counts.values()))
    named = " ".join(filter(None, [noun + "s" * (first != 1) if noun else "", verb]))
    return f"{what}: {', '.join([parts[0].replace(' by ', f' {named} by ', 1), *parts[1:]])}"


def _named(name: str | None) -> str:
    """Return a judge's name on one line, of bounded length."""
    return _PEOPLE if name is None else excerpt(name, _LONGEST)
