"""Ground truth: passages, the facts they prove, the queries that need them, and whole datasets."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from raglift.records.label_sources import LabelSources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.records.corpus import Document

__all__ = ["Annotator", "Dataset", "Fact", "Passage", "Query"]


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


@dataclass(frozen=True, repr=False)
class Dataset:
    """Labelled queries and, where they are at hand, the documents they are about."""

    queries: tuple[Query, ...]
    """In file order."""
    documents: tuple[Document, ...] = ()
    """The source texts; empty when only the labels are known."""
    name: str = "dataset"
    """For titles and saved runs."""

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {len(self.queries):,} queries, {len(self.documents):,} documents)"

    def _repr_html_(self) -> str:
        from raglift.report.brief.dataset import dataset_brief
        from raglift.report.notebook import html_of

        return html_of(dataset_brief(self))

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Query]:
        return iter(self.queries)

    @cached_property
    def document_by_id(self) -> Mapping[str, Document]:
        """The documents, by id."""
        return {document.id: document for document in self.documents}

    @cached_property
    def query_by_id(self) -> Mapping[str, Query]:
        """The queries, by id."""
        return {query.id: query for query in self.queries}

    @cached_property
    def label_sources(self) -> LabelSources:
        """Who judged its passages, and who wrote its queries: people, and which models."""
        return LabelSources.of(self.queries)

    @property
    def shows_judged(self) -> bool:
        """Whether it says more of who judged what than which passages people found relevant: see Judged@k."""
        return self.label_sources.by_model or any(query.judged_irrelevant for query in self.queries)

    def query(self, query_id: str) -> Query:
        """Return one query.

        Args:
            query_id: the query's id.

        Raises:
            DatasetError: no query has that id.
        """
        try:
            return self.query_by_id[query_id]
        except KeyError:
            from raglift.dataset import unknown_query

            raise unknown_query(self, query_id) from None

    def sample(self, n: int, seed: int = 0) -> Dataset:
        """Return so many of its queries, drawn at random, in their order; the documents are all there.

        Args:
            n: how many: from 1 to all of them.
            seed: the same seed draws the same queries.

        Raises:
            ConfigurationError: there are not so many queries, or a seed that is no integer.
        """
        from raglift.dataset.choosing import sample

        return sample(self, n, seed)

    def only(self, *, tags: str | Sequence[str] = (), ids: str | Sequence[str] = ()) -> Dataset:
        """Return the queries that have one of some tags, or one of some ids; the documents are all there.

        Args:
            tags: one or several; a query with any of them is kept.
            ids: one or several; where tags are given too, a query must have both.

        Raises:
            ConfigurationError: neither is given, no query has a tag, or none has both.
            DatasetError: no query has an id.
        """
        from raglift.dataset.choosing import only

        return only(self, tags, ids)

    @classmethod
    def from_dict(
        cls,
        relevant: Mapping[str, str | Sequence[str | Sequence[str]]],
        *,
        documents: Sequence[Document] = (),
        name: str = "dataset",
    ) -> Dataset:
        """Build a dataset from the form tutorials use: `{"question": ["text", …]}`.

        Each text is a fact; a list of texts is one fact with alternatives. Ids are `q1`, `q2`, … in order.

        Args:
            relevant: the ground-truth texts of each question.
            documents: the source texts, if at hand.
            name: a title.

        Raises:
            DatasetError: an empty question or text, or something that is not text; every fault is listed.
        """
        from raglift.dataset import dataset_from_dict

        return dataset_from_dict(relevant, documents=documents, name=name)
