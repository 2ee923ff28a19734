"""Labels: passages, facts, queries, and who labelled them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from raglift.errors import Fault
from raglift.types.checking import FARTHEST, check_id, check_text, has_words, raise_faults, tuple_of
from raglift.types.filters import Filter
from raglift.utilities.display import excerpt
from raglift.utilities.validation import Location, described, quoted

# 2 to the power of the highest is still a float, which exponential gain needs
RELEVANT = range(1, 1001)
"""The grades of a passage that proves a fact."""
IRRELEVANT = range(1)
"""The grade of a passage that was judged irrelevant."""


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

    Raises:
        DatasetError: neither or both are set, a text without words, a span that is none or is not as long as the text,
            or a grade that is no integer from 0 to 1000.
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
    """How good the evidence is: an integer, 1 or more; 0 for what was judged irrelevant."""
    annotator: Annotator | None = field(default=None, repr=False)
    """The model that judged it; None for a label that a person gave, as far as is known."""

    def __post_init__(self) -> None:
        if not self._is_sound():
            faults: list[Fault] = []
            self._check(Location("Passage", faults))
            raise_faults("Passage", faults)

    def _is_sound(self) -> bool:
        """Return whether a look is enough to say that nothing is wrong: there may be millions."""
        text, doc_id, start, end = self.text, self.doc_id, self.start, self.end
        if type(self.grade) is not int or not 0 <= self.grade < RELEVANT.stop or self.annotator is not None:
            return False
        if self.chunk_id is not None:
            return (
                type(self.chunk_id) is str and self.chunk_id[:1].isalnum() and (text, doc_id, start, end) == (None,) * 4
            )
        if type(text) is not str or not has_words(text):
            return False
        if doc_id is None:
            return start is end is None
        if type(doc_id) is not str or not doc_id[:1].isalnum():
            return False
        if type(start) is int and type(end) is int:
            return 0 <= start < end < FARTHEST and end - start == len(text)
        return start is end is None

    def _check(self, location: Location) -> None:
        if type(self.grade) is not int or not 0 <= self.grade < RELEVANT.stop:
            expected = f"an integer from 1 to {RELEVANT.stop - 1}; 0 for what was judged irrelevant"
            (location / "grade").fault(described(self.grade), expected)
        if self.text is None and self.chunk_id is None:
            location.fault("neither a text nor a chunk_id", "one of the two: what is evidence")
        if self.text is not None:
            check_text(self.text, location / "text")
        for name in ("chunk_id", "doc_id"):
            if getattr(self, name) is not None:
                check_id(getattr(self, name), location / name)
        if self.chunk_id is not None:
            beside = [name for name in ("text", "doc_id", "start", "end") if getattr(self, name) is not None]
            if beside:
                (location / "chunk_id").fault(f"a chunk_id and {', '.join(beside)}", "a chunk_id alone, or a text")
        elif self.start is not None or self.end is not None:
            self._check_span(location)
        _check_annotator(self.annotator, location)

    def _check_span(self, location: Location) -> None:
        found = f"the span from {described(self.start)} to {described(self.end)}"
        if type(self.start) is not int or type(self.end) is not int:
            location.fault(found, "two integers, start and end: character offsets into the document's text")
        elif not 0 <= self.start < self.end < FARTHEST:
            location.fault(found, "0 ≤ start < end")
        elif self.doc_id is None:
            location.fault(f"{found} without a doc_id", "doc_id: the id of the document that it is a span of")
        elif isinstance(self.text, str) and self.end - self.start != len(self.text):
            location.fault(found, f"an end {len(self.text)} after the start: the length of the text")


@dataclass(frozen=True)
class Fact:
    """Something a query needs: any one of its passages proves it (OR).

    Raises:
        DatasetError: no passage, something else than passages, or a passage that was judged irrelevant (grade 0).
    """

    passages: tuple[Passage, ...]
    """The alternatives, at least one. A list becomes a tuple."""

    def __post_init__(self) -> None:
        passages: object = self.passages
        if type(passages) is tuple and passages and all(type(each) is Passage and each.grade > 0 for each in passages):
            return
        faults: list[Fault] = []
        location = Location("Fact", faults) / "passages"
        passages = tuple_of(Passage, self.passages, location)
        if not passages and not faults:
            location.fault("none", "at least one passage")
        for index, passage in enumerate(passages):
            if isinstance(passage, Passage) and passage.grade == 0:
                expected = "1 or more: what was judged irrelevant belongs into the question's judged_irrelevant"
                (location / index / "grade").fault("0", expected)
        raise_faults("Fact", faults)
        object.__setattr__(self, "passages", passages)

    @property
    def ideal_grade(self) -> int:
        """The highest grade among the alternatives."""
        return max(passage.grade for passage in self.passages)


def distinct_facts(facts: Iterable[tuple[Passage, ...]]) -> tuple[Fact, ...]:
    """Return facts of alternatives; what a file repeats is one alternative, or one fact, and counts once."""
    distinct: dict[frozenset[Passage], Fact] = {}
    for passages in facts:
        if passages:
            distinct.setdefault(frozenset(passages), Fact(tuple(dict.fromkeys(passages))))
    return tuple(distinct.values())


@dataclass(frozen=True)
class Query:
    """A question and what answers it: all of its facts (AND).

    Raises:
        DatasetError: a field is not of its type, a text has no words, or a passage judged irrelevant has a grade;
            every fault is listed.
    """

    id: str
    """Unique within its dataset."""
    text: str
    """The question, as it is put to the system."""
    facts: tuple[Fact, ...] = ()
    """What the answer needs; empty when the query is unlabelled. A list, here and below, becomes a tuple."""
    tags: tuple[str, ...] = ()
    """Free labels for slicing: easy, hard, …"""
    answerable: bool = True
    """False when the corpus does not answer it: such a query enters no mean."""
    judged_irrelevant: tuple[Passage, ...] = ()
    """What somebody looked at and found not to help; never a fact. Each gets the grade 0."""
    annotator: Annotator | None = field(default=None, repr=False)
    """The model that wrote the question; None for one that a person asked, as far as is known."""
    filter: Filter | None = field(default=None, repr=False)
    """Which chunks it may be answered from, by their metadata; None for all. A mapping becomes a Filter."""

    def __post_init__(self) -> None:
        """Raise for what is wrong; write lists as tuples, and the grade of what was judged irrelevant as 0."""
        faults: list[Fault] = []
        location = Location(f"Query {quoted(self.id)}" if isinstance(self.id, str) else "Query", faults)
        check_id(self.id, location / "id")
        check_text(self.text, location / "text")
        facts = tuple_of(Fact, self.facts, location / "facts")
        tags = tuple_of(str, self.tags, location / "tags")
        for index, tag in enumerate(tags):
            if isinstance(tag, str):
                check_id(tag, location / "tags" / index)
        irrelevant = tuple_of(Passage, self.judged_irrelevant, location / "judged_irrelevant")
        for index, passage in enumerate(irrelevant):
            if isinstance(passage, Passage) and passage.grade > 1:
                expected = "no grade, or 0: a passage that has a grade belongs into a fact"
                (location / "judged_irrelevant" / index / "grade").fault(str(passage.grade), expected)
        if not isinstance(self.answerable, bool):
            (location / "answerable").fault(described(self.answerable), "True or False")
        _check_annotator(self.annotator, location)
        filter_: object = self.filter
        chosen = None if filter_ is None else Filter.of(filter_, location / "filter")
        raise_faults(location.file, faults)
        object.__setattr__(self, "filter", chosen)
        object.__setattr__(self, "facts", facts)
        object.__setattr__(self, "tags", tags)
        unwanted = (passage if passage.grade == 0 else replace(passage, grade=0) for passage in irrelevant)
        object.__setattr__(self, "judged_irrelevant", tuple(unwanted))

    @property
    def is_labelled(self) -> bool:
        """Whether the query can be scored: it is answerable and has at least one fact."""
        return self.answerable and bool(self.facts)


def _check_annotator(annotator: object, location: Location) -> None:
    if annotator is not None and not isinstance(annotator, Annotator):
        (location / "annotator").fault(described(annotator), "an Annotator, or None")


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
        provenance = {"passages": self.passages, "queries": self.queries}
        return {what: {name or _PEOPLE: count for name, count in counts.items()} for what, counts in provenance.items()}

    def __str__(self) -> str:
        parts = [
            _counts_in_words("labels", self.passages, "passage", "judged"),
            _counts_in_words("queries", self.queries, "", "written"),
        ]
        return "; ".join(filter(None, parts))


PEOPLE = LabelSources()
"""No model had a part."""


def _counts_in_words(what: str, counts: Mapping[str | None, int], noun: str, verb: str) -> str:
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
