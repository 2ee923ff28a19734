"""Test sets of ragas, LangSmith and Langfuse: questions with the texts that answer them, as literal texts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.base.validation import Location, nearest, quoted, shown
from raglift.datasets.documents import read_documents
from raglift.datasets.formats.beir import read_tags
from raglift.datasets.formats.capabilities import Capabilities
from raglift.datasets.formats.records import cell_value, field_at, named_path, read_records, texts_of
from raglift.errors import ConfigurationError
from raglift.records.labels import Passage, Query, distinct_facts
from raglift.records.parsing import read_id, read_name, read_string

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Document


_QUESTIONS = ("question", "query", "user_input", "input", "prompt", "text")
_PASSAGES = ("reference_contexts", "contexts", "context", "documents", "passages", "facts")
FIELDS = ("id", "query", "passage")
"""What `columns` can name for these formats."""


def _is_literal(passage: Passage, _: object) -> bool:
    return passage.text is not None and passage.doc_id is None


@dataclass(frozen=True)
class TextSets:
    """Where a tool's records have the question and the texts."""

    title: str
    """The format's name, for messages."""
    questions: tuple[str, ...]
    """Paths of the question; the first that a record has counts."""
    passages: tuple[str, ...]
    """Paths of the texts."""
    listed: str | None = None
    """The field that holds the records where the file is one object."""
    chunk_ids: str | None = None
    """The path of ids, where a record has no texts."""
    tag: str | None = None
    """The path of a text that becomes a tag."""
    has_ids: bool = True
    """Whether a record can have an `id`."""
    skipped: tuple[str, str] | None = None
    """A field, and the value of it with which the tool leaves out a record."""
    names: Mapping[str, str] = field(default_factory=dict)
    """For writing: what the tool calls input, output."""

    def read(
        self,
        path: Path,
        faults: list[Fault],
        *,
        documents: DocumentSource = None,
        columns: Mapping[str, str | Sequence[str]] | None = None,
    ) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
        """Return the queries of a file, each text a fact; without ids they are q1, q2, ….

        Args:
            path: the file: `.jsonl`, `.csv`, or JSON.
            faults: where what is wrong is noted.
            documents: the source texts, of which the format has none.
            columns: paths of `id`, `query` and `passage`, as `{"passage": "outputs.evidence"}`.

        Raises:
            ConfigurationError: `columns` names something else.
        """
        for name, given in (columns or {}).items():
            if name not in FIELDS or not isinstance(given, str):
                raise ConfigurationError(f"columns: found {name!r}: {given!r}; expected {nearest(name, FIELDS)}")
        location = Location(path.name, faults)
        queries: dict[str, Query] = {}
        first: dict[str, Location] = {}
        any_passages = False
        is_table = path.suffix.lower() == ".csv"
        for number, (here, entry) in enumerate(read_records(path, location, listed=self.listed), start=1):
            if self.skipped is not None and entry.get(self.skipped[0]) == self.skipped[1]:
                continue
            query_id = self._id(entry, number, columns or {}, here)
            text = self._question(entry, columns or {}, here, is_table=is_table)
            passages = self._passages(entry, columns or {}, here, is_table=is_table)
            any_passages = any_passages or passages is not None
            if query_id is None or text is None:
                continue
            if query_id in first:
                here.fault(f"the id {quoted(query_id)} of {first[query_id]}", "a unique id")
            first.setdefault(query_id, here)
            facts = distinct_facts((passage,) for passage in passages or ())
            queries[query_id] = Query(query_id, text, facts, self._tags(entry, here))
        if queries and not any_passages and not faults:
            expected = f"texts in {', '.join(self.passages)}; or their path named: {named_path('passage')}"
            location.fault("no field with texts in any record", expected)
        return tuple(queries.values()), read_documents(documents)

    def _id(self, entry: Mapping[str, Any], number: int, columns: Mapping[str, Any], here: Location) -> str | None:
        found = field_at(entry, columns.get("id", "id"), here) if self.has_ids or "id" in columns else None
        return f"q{number}" if found is None or found[0] is None else read_id(*found)

    def _question(
        self, entry: Mapping[str, Any], columns: Mapping[str, Any], here: Location, *, is_table: bool
    ) -> str | None:
        paths = (columns["query"],) if "query" in columns else self.questions
        for path in paths:
            found = field_at(entry, path, here)
            if found is None:
                continue
            value, there = found
            if isinstance(value, list):
                there.fault(shown(value), "a text: a conversation is no single question")
                return None
            if not isinstance(cell_value(value) if is_table else value, dict):
                return read_string(value, there)
        top = paths[0].split(".")[0]
        inner = cell_value(entry.get(top))
        # Of a record that has the field, what is in it says which path to name
        held, there = (inner, here / top) if isinstance(inner, dict) else (entry, here)
        hint = "" if "query" in columns else f"; or its path named: {named_path('query')}"
        there.fault(f"no question: {shown(held)}", f"{' or '.join(paths)}{hint}")
        return None

    def _passages(
        self, entry: Mapping[str, Any], columns: Mapping[str, Any], here: Location, *, is_table: bool
    ) -> list[Passage] | None:
        """Return the passages of a record; None where it has no field for them."""
        paths = (columns["passage"],) if "passage" in columns else self.passages
        for path in paths:
            found = field_at(entry, path, here)
            if found is not None and found[0] is not None:
                return [Passage(text) for text in texts_of(*found, is_cell=is_table)]
        ids = None if self.chunk_ids is None else field_at(entry, self.chunk_ids, here)
        value = None if ids is None else cell_value(ids[0])
        if ids is None or not isinstance(value, list):
            return None
        named = (read_id(each, ids[1] / index) for index, each in enumerate(value))
        return [Passage(chunk_id=each) for each in named if each is not None]

    def _tags(self, entry: Mapping[str, Any], here: Location) -> tuple[str, ...]:
        if self.tag is not None:
            value = entry.get(self.tag)
            tag = None if value is None else read_name(value, here / self.tag)
            return () if tag is None else (tag,)
        return read_tags(cell_value(entry.get("metadata")))

    @property
    def capabilities(self) -> Capabilities:
        """What the format can hold."""
        return Capabilities(
            title=self.title,
            holds=_is_literal,
            form="a literal text",
            ids=self.has_ids,
            tags=True,
            also=_one_tag if self.tag is not None else None,
        )

    def room(self, dataset: Dataset) -> Capabilities:  # noqa: ARG002 — as `Format.room` is called
        """Return the capabilities, which are the same for every dataset."""
        return self.capabilities

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write JSON Lines as the tool reads them.

        Args:
            dataset: what fits `capabilities`.
            path: the file.
        """
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for query in dataset.queries:
                file.write(json.dumps(self._value(query), ensure_ascii=False) + "\n")

    def _value(self, query: Query) -> dict[str, Any]:
        texts = [fact.passages[0].text for fact in query.facts]
        if not self.names:
            value: dict[str, Any] = {"user_input": query.text, "reference_contexts": texts}
            return {**value, "synthesizer_name": query.tags[0]} if query.tags else value
        value = {
            "id": query.id,
            self.names["input"]: {"question": query.text},
            self.names["output"]: {"contexts": texts},
        }
        return {**value, "metadata": {"tags": list(query.tags)}} if query.tags else value


def _one_tag(query: Query, location: Location) -> None:
    if len(query.tags) > 1:
        (location / "tags").fault(
            f"{len(query.tags)} tags", "at most one; to leave them out: drop=('tags',), or --drop tags"
        )


def _below(tops: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{top}.{name}" for top in tops for name in names)


RAGAS = TextSets(
    "ragas",
    ("user_input",),
    ("reference_contexts",),
    chunk_ids="reference_context_ids",
    tag="synthesizer_name",
    has_ids=False,
)
"""`Testset` and `EvaluationDataset`, as `to_jsonl` and `to_csv` write them."""
LANGSMITH = TextSets(
    "LangSmith",
    _below(("inputs",), _QUESTIONS),
    _below(("outputs", "metadata"), _PASSAGES),
    names={"input": "inputs", "output": "outputs"},
)
"""Examples of a dataset."""
LANGFUSE = TextSets(
    "Langfuse",
    (*_below(("input",), _QUESTIONS), "input"),
    _below(("expectedOutput", "expected_output", "metadata"), _PASSAGES),
    listed="data",
    skipped=("status", "ARCHIVED"),
    names={"input": "input", "output": "expectedOutput"},
)
"""Items of a dataset."""
