"""A dataset: labelled queries and their documents."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.rendering.document import Detail, Section, Table, row_of
from raglift.rendering.document import Document as Report
from raglift.rendering.notebook import html_of
from raglift.types.anchors import Resolution, Sources
from raglift.types.checking import raise_faults, tuple_of
from raglift.types.documents import Document
from raglift.types.labels import LabelSources, Passage, Query, passage_text
from raglift.types.parsing import read_facts, read_query, read_string
from raglift.utilities.validation import Location, described, nearest, quoted, shown

_TAGS = 20
_FACTS = 5


@dataclass(frozen=True, repr=False)
class Dataset:
    """Labelled queries and, where they are at hand, the documents they are about.

    Raises:
        DatasetError: something else than queries and documents, an id that occurs twice, or, where there are documents,
            a passage of one that is not among them, or a span that is not inside its document or has another text
            there; every fault is listed.
    """

    queries: tuple[Query, ...]
    """In file order. A list, here and below, becomes a tuple."""
    documents: tuple[Document, ...] = ()
    """The source texts; empty when only the labels are known."""
    name: str = "dataset"
    """For titles and saved runs."""
    resolution: Resolution = field(default=Resolution(), compare=False)
    """What of its labels was found in other words, and what was left out, when it was loaded."""

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        location = Location(f"Dataset {quoted(self.name)}", faults)
        queries = tuple_of(Query, self.queries, location / "queries")
        tuple_of(Document, self.documents, location / "documents")
        documents = () if faults else check_documents(self.documents, faults)
        if not isinstance(self.name, str):
            (location / "name").fault(described(self.name), "a text")
        if not faults:
            _check_queries(queries, {document.id: document for document in documents}, location / "queries")
        raise_faults(location.file, faults)
        object.__setattr__(self, "queries", queries)
        object.__setattr__(self, "documents", documents)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {len(self.queries):,} questions, {len(self.documents):,} documents)"

    def _repr_html_(self) -> str:
        return html_of(summary_of_dataset(self))

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
        """Label provenance: who judged its passages and wrote its queries, people or which models."""
        return LabelSources.of(self.queries)

    @property
    def shows_judged(self) -> bool:
        """Whether the metric depends on what was judged more than on relevance: see Judged@k."""
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
            expected = nearest(str(query_id), self.query_by_id)
            fault = Fault("query id", quoted(query_id), expected)
            raise DatasetError(self.name, [fault], "there is no such question") from None

    def sample(self, n: int, seed: int = 0) -> Dataset:
        """Return so many of its queries, drawn at random, in their order; the documents are all there.

        Args:
            n: how many: from 1 to all of them.
            seed: the same seed draws the same queries.

        Raises:
            ConfigurationError: there are not so many queries, or a seed that is not an integer.
        """
        for name, value in (("n", n), ("seed", seed)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise ConfigurationError(f"{name}: found {value!r}; expected an integer")
        if not 1 <= n <= len(self):
            raise ConfigurationError(f"n: found {n}; expected 1 to {len(self):,}, the questions of {self.name}")
        drawn = sorted(random.Random(seed).sample(range(len(self)), n))  # noqa: S311 — no secret
        return replace(self, queries=tuple(self.queries[location] for location in drawn))

    def only(self, *, tags: str | Sequence[str] = (), ids: str | Sequence[str] = ()) -> Dataset:
        """Return the queries that have one of some tags, or one of some ids; the documents are all there.

        Args:
            tags: one or several; a query with any of them is kept.
            ids: one or several; where tags are given too, a query must have both.

        Raises:
            ConfigurationError: neither is given, no query has a tag, or none has both.
            DatasetError: no query has an id.
        """
        wanted_tags, wanted_ids = ({names} if isinstance(names, str) else set(names) for names in (tags, ids))
        if not wanted_tags and not wanted_ids:
            raise ConfigurationError('only: found neither tags nor ids; expected one of them, as only(tags="hard")')
        known = list(dict.fromkeys(tag for query in self for tag in query.tags))
        for tag in sorted(wanted_tags.difference(known)):
            raise ConfigurationError(f"tags: found {tag!r}, which no question has; expected {nearest(tag, known)}")
        for query_id in sorted(wanted_ids.difference(self.query_by_id)):
            self.query(query_id)
        chosen = tuple(
            query
            for query in self
            if (not wanted_tags or wanted_tags.intersection(query.tags)) and (not wanted_ids or query.id in wanted_ids)
        )
        if not chosen:
            raise ConfigurationError(
                "only: found no question with one of the ids and one of the tags; expected at least one"
            )
        return replace(self, queries=chosen)

    @classmethod
    def from_dict(
        cls,
        relevant: Mapping[str, str | Sequence[str | Sequence[str]]] | Sequence[Mapping[str, Any]],
        *,
        documents: Sequence[Document] = (),
        name: str = "dataset",
    ) -> Dataset:
        """Build a dataset from plain data: `{"When is it lit?": ["text", …]}`, or what a file has on each line.

        Each text is a fact; a list of texts is one fact with alternatives. Ids are `q1`, `q2`, … in order.

        Args:
            relevant: the ground-truth texts of each question; or a list of mappings with the fields of raglift's own
                `queries.jsonl`, as `[{"question": "When is it lit?", "passages": ["text", …]}]`.
            documents: the source texts, if at hand.
            name: a title.

        Raises:
            DatasetError: an empty question or text, or something that is not text; every fault is listed.
        """
        faults: list[Fault] = []
        location = Location("relevant", faults)
        checked = _documents(documents)
        sources = Sources(checked)
        queries = []
        labels: object = relevant
        if isinstance(labels, Sequence) and not isinstance(labels, (str, bytes)):
            queries, labels = _of_records(labels, name, faults, sources), {}
        elif not isinstance(labels, Mapping):
            expected = "a mapping from question to texts, or a list of mappings with question and passages"
            location.fault(f"an object of type {type(labels).__name__}", expected)
            labels = {}
        for index, (question, value) in enumerate(labels.items(), start=1):
            here = location / shown(question)
            text = read_string(question, here)
            facts = read_facts([value] if isinstance(value, str) else _as_list(value), here, sources)
            if text is not None:
                queries.append(Query(f"q{index}", text, facts))
        sources.note_missing_documents()
        if not (queries or faults):
            location.fault("no questions", "at least one")
        if faults:
            raise DatasetError(name, faults)
        return cls(tuple(queries), checked, name)


def _of_records(records: Sequence[object], name: str, faults: list[Fault], sources: Sources) -> list[Query]:
    """Return the queries that mappings describe; what is wrong with one is a fault, with its number and field."""
    queries = []
    for index, record in enumerate(records):
        here = Location(f"{name}[{index}]", faults)
        if isinstance(record, Mapping):
            entry = {str(field): _as_list(value) for field, value in record.items()}
            queries.append(read_query(entry, here, sources, index + 1))
        else:
            here.fault(described(record), "a mapping, as {'question': …, 'passages': […]}")
    return queries


def _check_queries(queries: Sequence[Query], documents: Mapping[str, Document], location: Location) -> None:
    """Note ids that occur twice, and passages that are not in the documents, where there are any."""
    first: dict[str, int] = {}
    for index, query in enumerate(queries):
        if first.setdefault(query.id, index) != index:
            (location / index / "id").fault(f"the id {quoted(query.id)} of queries[{first[query.id]}]", "a unique id")
        if not documents:
            continue
        for number, fact in enumerate(query.facts):
            for alternative, passage in enumerate(fact.passages):
                if passage.doc_id is not None and (found := _not_in(passage, documents)) is not None:
                    (location / index / "facts" / number / "passages" / alternative).fault(*found)
        for number, passage in enumerate(query.judged_irrelevant):
            if passage.doc_id is not None and (found := _not_in(passage, documents)) is not None:
                (location / index / "judged_irrelevant" / number).fault(*found)


def _not_in(passage: Passage, documents: Mapping[str, Document]) -> tuple[str, str] | None:
    """Return what was found and expected of a passage that is not where it says; None if it is."""
    document = documents.get(passage.doc_id or "")
    if document is None:
        return f"an unknown document id {quoted(passage.doc_id)}", nearest(str(passage.doc_id), documents)
    if passage.start is None or passage.end is None:
        return None
    if passage.end > len(document.text):
        length = f"{len(document.text)}, the length of {document.id}"
        return f"the span from {passage.start} to {passage.end}", f"0 ≤ start < end ≤ {length}"
    if not document.text.startswith(passage.text or "", passage.start):
        found = f"{quoted(passage.text)} from {passage.start} to {passage.end} of {document.id}"
        return found, f"the text of the document there, {quoted(document.text[passage.start : passage.end])}"
    return None


def check_documents(documents: Sequence[object], faults: list[Fault]) -> tuple[Document, ...]:
    """Return the records whose ids and texts are texts and whose ids are unique; note the others."""
    checked: list[Document] = []
    first: dict[str, int] = {}
    for index, document in enumerate(documents):
        location = Location("documents", faults, field=f"[{index}]")
        if not isinstance(document, Document):
            location.fault(f"an object of type {type(document).__name__}", "a raglift Document")
            continue
        doc_id: object = document.id
        text: object = document.text
        if not isinstance(doc_id, str) or not doc_id.strip():
            (location / "id").fault(described(doc_id), "an id: a text that is not empty")
        elif not isinstance(text, str):
            (location / "text").fault(described(text), f"the text of {shown(doc_id)}")
        elif doc_id in first:
            (location / "id").fault(f"the id {shown(doc_id)} of documents[{first[doc_id]}]", "a unique id")
        else:
            first[doc_id] = index
            checked.append(document)
    return tuple(checked)


def _documents(source: object) -> tuple[Document, ...]:
    """Return the documents of a dataset that is built in Python, checked."""
    if source is None:
        return ()
    if isinstance(source, Mapping):
        source = [Document(key, text) for key, text in source.items()]
    faults: list[Fault] = []
    records = source if isinstance(source, Sequence) and not isinstance(source, (str, bytes)) else [source]
    checked = check_documents(records, faults)
    if faults:
        raise DatasetError("documents", faults)
    return checked


def _as_list(value: Any) -> Any:
    """Return nested sequences as the lists that JSON would give."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_as_list(item) for item in value]
    return value


def summary_of_dataset(dataset: Dataset) -> Report:
    """Return what a dataset consists of, its tags, and an example."""
    labelled = [query for query in dataset if query.is_labelled]
    facts = [fact for query in labelled for fact in query.facts]
    counts = {
        "queries": len(dataset),
        "labelled": len(labelled),
        "marked unanswerable": sum(not query.answerable for query in dataset),
        "facts": len(facts),
        "passages": sum(len(fact.passages) for fact in facts),
        "documents": len(dataset.documents),
        "characters": sum(len(document.text) for document in dataset.documents),
    }
    tags = Counter(tag for query in dataset for tag in query.tags)
    table = Table(
        "How much there is", tuple(counts), (row_of(f"{count:,}" for count in counts.values()),), text_columns=()
    )
    sections = [_tags(tags)] if tags else []
    sections += [_example(labelled[0])] if labelled else []
    notes = dataset.resolution.notes
    notes += () if dataset.documents else ("The documents are not known: labels only.",)
    labels = str(dataset.label_sources)
    return Report(dataset.name, "", table, (), notes=notes, sections=tuple(sections), labels=labels)


def _tags(tags: Counter[str]) -> Section:
    rows = tuple(row_of((tag, f"{count:,}")) for tag, count in tags.most_common(_TAGS))
    more = len(tags) - len(rows)
    rest = (f"and {more:,} more",) if more else ()
    return Section(
        f"Tags: {len(tags):,}",
        rest,
        (Table("Questions of each tag", ("tag", "questions"), rows, rests_on_labels=False),),
        detail=Detail.DETAILS,
    )


def _example(query: Query) -> Section:
    """Return one query with the passages of its first facts."""
    rows = [
        row_of((str(number) if not location else "or", passage_text(passage)))
        for number, fact in enumerate(query.facts[:_FACTS], start=1)
        for location, passage in enumerate(fact.passages[:_FACTS])
    ]
    table = Table("What its answer needs", ("fact", "passage"), tuple(rows), text_columns=(0, 1))
    return Section("For example", (f"{query.id}: {query.text}",), (table,))
