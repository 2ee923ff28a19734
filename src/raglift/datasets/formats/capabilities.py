"""Format capabilities: whether a dataset fits a format.

What a format cannot represent is an error, never dropped silently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from raglift.base.strict_files import gives_back
from raglift.base.validation import Location, nearest, quoted
from raglift.datasets.jsonl import check_queries
from raglift.errors import ConfigurationError
from raglift.records.dataset import Dataset, check_documents
from raglift.records.documents import Document
from raglift.records.labels import Fact, Passage, Query, distinct_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from raglift.errors import Fault
    from raglift.records.labels import Annotator


DROPPABLE = ("annotators", "filters", "grades", "ids", "judged_irrelevant", "metadata", "places", "tags")
"""What `write_dataset` can be told to leave out."""


def no_metadata(metadata: Mapping[str, Any]) -> str | None:
    """Return the first field: none is supported."""
    return next(iter(metadata), None)


def any_metadata(metadata: Mapping[str, Any]) -> str | None:  # noqa: ARG001 — the writer says what it cannot hold
    """Return None: every field is supported."""
    return None


def title_only(metadata: Mapping[str, Any]) -> str | None:
    """Return the first field that is not a title."""
    return next((name for name, value in metadata.items() if name != "title" or not _is_title(value)), None)


def _is_title(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def json_metadata(metadata: Mapping[str, Any]) -> str | None:
    """Return the first field that JSON would not give back as it is."""
    return next((str(name) for name, value in metadata.items() if not gives_back({name: value})), None)


def is_span(passage: Passage, documents: Mapping[str, Document]) -> bool:  # noqa: ARG001 — as `Capabilities.holds` is called
    """Whether a passage is a span of a document."""
    return passage.start is not None


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a format."""

    title: str
    """The format's name, for messages."""
    holds: Callable[[Passage, Mapping[str, Document]], bool]
    """Whether a passage is of a form that the format has."""
    form: str
    """That form in words: `a whole document`."""
    alternatives: bool = False
    """Whether a fact may have more than one passage."""
    most_facts: int | None = None
    """The most facts of a query."""
    grades: bool = False
    """Whether passages have grades."""
    tags: bool = False
    """Whether queries have tags."""
    irrelevant: bool = False
    """Whether irrelevant passages are supported."""
    filters: bool = False
    """Whether queries have filters by metadata."""
    annotators: bool = False
    """Whether it can be said of a label, and of a question, which model it is from, and how judged hits were chosen."""
    names_writer: Callable[[Annotator], bool] = lambda _: False
    """Whether it can be said of a question that it is from this model, where nothing can be said of labels."""
    unanswerable: bool = False
    """Whether a question can be marked as not answered by the corpus."""
    once: bool = False
    """Whether a query can name a passage only once."""
    repeats: bool = False
    """Whether a fact, or an alternative of one, that is written twice is read as two; else what is repeated is one."""
    ids: bool = True
    """Whether queries have ids; without them they are q1, q2, …"""
    no_id_with: str | None = None
    """What no id may contain, as a regular expression."""
    no_question_with: str | None = None
    """What no question may contain, as a regular expression."""
    documents: Literal["none", "optional", "needed"] = "none"
    """Whether the format holds documents."""
    metadata: Callable[[Mapping[str, Any]], str | None] = no_metadata
    """Returns the name of a field of a document's metadata that it does not hold."""
    also: Callable[[Query, Location], None] | None = None
    """Notes what else does not fit."""


ANY_LABELS = Capabilities(
    title="",
    holds=lambda *_: True,
    form="any passage",
    alternatives=True,
    grades=True,
    tags=True,
    irrelevant=True,
    unanswerable=True,
)
"""A format that holds all labels there are, but not who gave them; to be given its title, and what else is its own."""


def without(dataset: Dataset, drop: Collection[str]) -> Dataset:
    """Return a dataset without what may be left out.

    Args:
        dataset: the dataset.
        drop: some of `DROPPABLE`: `annotators` leaves out which model labels and questions are from, and how hits were
            chosen for judging; `filters` the metadata that chunks must have; `places` turns spans into their texts;
            `ids` numbers the queries q1, q2, ….

    Raises:
        ConfigurationError: something else is to be left out.
    """
    for name in drop:
        if name not in DROPPABLE:
            raise ConfigurationError(f"drop: found {name!r}; expected {nearest(name, DROPPABLE)}")

    def passage(given: Passage) -> Passage:
        if "annotators" in drop:
            given = replace(given, annotator=None)
        if "grades" in drop:
            given = replace(given, grade=min(given.grade, 1))
        return replace(given, doc_id=None, start=None, end=None) if "places" in drop else given

    def fact_of(given: Fact) -> Fact:
        return Fact(tuple(passage(alternative) for alternative in given.passages))

    def query(number: int, given: Query) -> Query:
        facts = tuple(fact_of(fact) for fact in given.facts)
        return replace(
            given,
            id=f"q{number}" if "ids" in drop else given.id,
            facts=facts,
            tags=() if "tags" in drop else given.tags,
            annotator=None if "annotators" in drop else given.annotator,
            judged=None if "annotators" in drop else given.judged,
            filter=None if "filters" in drop else given.filter,
            judged_irrelevant=() if "judged_irrelevant" in drop else tuple(map(passage, given.judged_irrelevant)),
        )

    queries = tuple(query(number, given) for number, given in enumerate(dataset.queries, start=1))
    documents = dataset.documents
    if "metadata" in drop:
        documents = tuple(Document(document.id, document.text) for document in documents)
    return Dataset(queries, documents, dataset.name)


def faults_of_fit(dataset: Dataset, room: Capabilities) -> list[Fault]:
    """Return what a format cannot hold of a dataset, and what is wrong with the dataset itself.

    Args:
        dataset: the dataset.
        room: the capabilities of the format.
    """
    faults: list[Fault] = []
    check_documents(dataset.documents, faults)
    if not faults:
        check_queries(dataset.queries, dataset.documents, faults)
    if faults:
        return faults
    _check_documents(dataset.documents, room, Location("documents", faults))
    for index, query in enumerate(dataset.queries):
        location = Location("queries", faults, field=f"[{index}] ({query.id})")
        _check_query(query, index, room, location)
        _check_passages(query, dataset.document_by_id, room, location)
        if room.also is not None:
            room.also(query, location)
    return faults


def _check_documents(documents: tuple[Document, ...], room: Capabilities, location: Location) -> None:
    if room.documents == "needed" and not documents:
        location.fault("none", f"the documents: {room.title} holds them")
    if room.documents == "none":
        return
    for index, document in enumerate(documents):
        here = location / index
        _check_characters(document.id, room.no_id_with, here / "id", room)
        if (unknown := room.metadata(document.metadata)) is not None:
            (here / "metadata").fault(quoted(unknown), _instead("other metadata", room, "metadata"))


def _check_query(query: Query, index: int, room: Capabilities, location: Location) -> None:
    if not room.ids and query.id != f"q{index + 1}":
        (location / "id").fault(quoted(query.id), _instead(f"q{index + 1}, for there are no ids", room, "ids"))
    _check_characters(query.id, room.no_id_with, location / "id", room)
    _check_characters(query.text, room.no_question_with, location / "query", room)
    if query.tags and not room.tags:
        (location / "tags").fault(f"{len(query.tags)} tags", _instead("none", room, "tags"))
    if query.filter is not None and not room.filters:
        (location / "filter").fault(str(query.filter), _instead("none", room, "filters"))
    if query.annotator is not None and not (room.annotators or room.names_writer(query.annotator)):
        (location / "annotator").fault(str(query.annotator), _instead("none", room, "annotators"))
    if query.judged is not None and not room.annotators:
        (location / "judged").fault(quoted(query.judged), _instead("none", room, "annotators"))
    if not query.answerable and not room.unanswerable:
        (location / "answerable").fault(
            "false", f"only questions that the corpus answers, which is all {room.title} has"
        )
    if query.judged_irrelevant and not room.irrelevant:
        found = f"{len(query.judged_irrelevant)} passages"
        (location / "judged_irrelevant").fault(found, _instead("none", room, "judged_irrelevant"))
    if not room.repeats and not room.once and distinct_facts(fact.passages for fact in query.facts) != query.facts:
        found = "a fact, or an alternative of one, again"
        (location / "relevant").fault(found, f"each once: {room.title} reads what is repeated as one")


def _check_characters(text: str, forbidden: str | None, location: Location, room: Capabilities) -> None:
    found = re.search(forbidden, text) if forbidden is not None else None
    if found:
        location.fault(f"{quoted(found[0])} in {quoted(text)}", f"what one field of a line of {room.title} can hold")


def _check_passages(query: Query, documents: Mapping[str, Document], room: Capabilities, location: Location) -> None:
    if room.most_facts is not None and len(query.facts) > room.most_facts:
        (location / "relevant").fault(f"{len(query.facts)} facts", f"at most {room.most_facts}, as {room.title} has")
    placed = []
    for number, fact in enumerate(query.facts):
        here = location / "relevant" / number
        if len(fact.passages) > 1 and not room.alternatives:
            here.fault(f"a fact with {len(fact.passages)} alternatives", f"one passage: {room.title} has no others")
        placed += [(passage, here) for passage in fact.passages]
    if room.irrelevant:
        irrelevant = location / "judged_irrelevant"
        placed += [(passage, irrelevant / number) for number, passage in enumerate(query.judged_irrelevant)]
    seen = set()
    for passage, here in placed:
        if not room.holds(passage, documents):
            hint = "places" if passage.start is not None and room.form == "a literal text" else None
            here.fault(_described(passage), _instead(room.form, room, hint))
        if passage.annotator is not None and not room.annotators:
            (here / "annotator").fault(str(passage.annotator), _instead("none", room, "annotators"))
        if passage.grade > 1 and not room.grades:
            (here / "grade").fault(str(passage.grade), _instead("no grades", room, "grades"))
        key = (passage.chunk_id, passage.doc_id, passage.start, passage.end, passage.text)
        if room.once and key in seen:
            here.fault("a passage of this query again", f"each once, as {room.title} has it")
        seen.add(key)


def _described(passage: Passage) -> str:
    if passage.chunk_id is not None:
        return f"the chunk id {quoted(passage.chunk_id)}"
    where = "" if passage.doc_id is None else f" in {quoted(passage.doc_id)}"
    span = "" if passage.start is None else f" from {passage.start} to {passage.end}"
    return f"the text {quoted(passage.text)}{span}{where}"


def _instead(expected: str, room: Capabilities, drop: str | None) -> str:
    hint = f"; to leave them out: drop=({drop!r},), or --drop {drop}" if drop is not None else ""
    return f"{expected}, as {room.title} has it{hint}"
