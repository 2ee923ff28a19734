"""AutoNuggetizer's files of TREC's RAG track: nuggets of each question, and which segments support them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.base.strict_files import decode_lines, parse_object, read_bytes
from raglift.base.validation import Location, quoted, shown
from raglift.datasets.documents import read_documents
from raglift.datasets.formats.capabilities import Capabilities
from raglift.records.labels import IMPORTANCE_EXPECTED, IMPORTANCES, Fact, Passage, Query
from raglift.records.parsing import read_id, read_string

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Document


_ASSIGNMENTS = ("support", "partial_support", "not_support")
_SUPPORTS, _PARTLY, _NOT = _ASSIGNMENTS


def _is_statement(passage: Passage, documents: Mapping[str, Document]) -> bool:  # noqa: ARG001 — as `holds` is called
    return passage.chunk_id is None and passage.start is None and passage.doc_id is None


def _only_statements(query: Query, location: Location) -> None:
    for number, fact in enumerate(query.facts):
        here = location / "relevant" / number
        if fact.importance is None:
            (here / "importance").fault("none", f"{IMPORTANCE_EXPECTED}, as a nugget has it")
        if fact.weight is not None:
            (here / "weight").fault(str(fact.weight), "none: a nugget's weight follows from its importance")
        if fact.nugget is None or [passage.text for passage in fact.passages] != [fact.nugget]:
            here.fault("evidence in other words", "the nugget's own words as its only passage")


CAPABILITIES = Capabilities(
    title="AutoNuggetizer",
    holds=_is_statement,
    form="the words of a nugget",
    nuggets=True,
    repeats=True,
    also=_only_statements,
)


@dataclass
class _Topic:
    text: str
    location: Location
    nuggets: dict[str, str] = field(default_factory=dict)
    """The importance of each."""
    evidence: dict[str, dict[str, bool]] = field(default_factory=dict)
    """Of each, the segments that support it, and whether only in part."""
    irrelevant: dict[str, None] = field(default_factory=dict)
    """The segments that support none."""


def read_nuggets(
    path: Path, faults: list[Fault], *, documents: DocumentSource = None
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the questions with their nuggets as facts, of one JSON object a line.

    Lines as `{"qid", "query", "nuggets": [{"text", "importance"}]}` give facts whose evidence is the nugget's own
    words. Lines that also have a `docid` and an `assignment` of each nugget, one line for each segment that was judged,
    give facts of segments: those that support the nugget, in part or whole. A segment that supports none is judged
    irrelevant.

    Args:
        path: the file.
        faults: where what is wrong is noted.
        documents: the source texts.
    """
    location = Location(path.name, faults)
    topics: dict[str, _Topic] = {}
    data = read_bytes(path, location)
    for here, line in decode_lines(data or b"", location):
        entry = parse_object(line, here)
        if entry is not None:
            _read_line(entry, here, topics)
    queries = () if faults else tuple(_query(name, topic) for name, topic in topics.items())
    return queries, read_documents(documents)


def _read_line(entry: Mapping[str, Any], here: Location, topics: dict[str, _Topic]) -> None:
    query_id = read_id(entry.get("qid"), here / "qid")
    text = read_string(entry["query"] if "query" in entry else entry.get("text"), here / "query")
    nuggets = entry.get("nuggets")
    if not isinstance(nuggets, list):
        (here / "nuggets").fault(shown(nuggets), "a list of nuggets: objects with text and importance")
        return
    if query_id is None or text is None:
        return
    topic = topics.setdefault(query_id, _Topic(text, here))
    if topic.text != text:
        (here / "query").fault(quoted(text), f"{quoted(topic.text)}, as on line {topic.location.line}")
    judged = [_read_nugget(nugget, here / "nuggets" / index, topic) for index, nugget in enumerate(nuggets)]
    if all(assignment is None for _, assignment in judged):
        return
    if "docid" not in entry:
        (here / "docid").fault(
            "no such field",
            "the segment that was judged; raglift.metrics.nugget_scores scores what was assigned to whole answers",
        )
        return
    segment = read_id(entry["docid"], here / "docid")
    if segment is None:
        return
    supports = [(nugget, assignment) for nugget, assignment in judged if assignment in (_SUPPORTS, _PARTLY)]
    for nugget, assignment in supports:
        topic.evidence.setdefault(nugget, {})[segment] = assignment == _PARTLY
    if not supports:
        topic.irrelevant[segment] = None


def _read_nugget(nugget: Any, here: Location, topic: _Topic) -> tuple[str, str | None]:
    """Return what a nugget says, and its assignment if it has one; its importance is kept."""
    if not isinstance(nugget, dict):
        here.fault(shown(nugget), "an object with text and importance")
        return "", None
    text = read_string(nugget.get("text"), here / "text") or ""
    importance, assignment = nugget.get("importance"), nugget.get("assignment")
    if importance not in IMPORTANCES:
        (here / "importance").fault(shown(importance), IMPORTANCE_EXPECTED)
    elif topic.nuggets.setdefault(text, importance) != importance:
        (here / "importance").fault(quoted(importance), f"{quoted(topic.nuggets[text])}, as before")
    if assignment is not None and assignment not in _ASSIGNMENTS:
        (here / "assignment").fault(shown(assignment), f"one of {', '.join(_ASSIGNMENTS)}")
        assignment = None
    return text, assignment


def _query(query_id: str, topic: _Topic) -> Query:
    """Return a question; a nugget that no segment supports is a fact of its own words, so that it counts as missed."""
    facts = []
    for nugget, importance in topic.nuggets.items():
        evidence = topic.evidence.get(nugget, {})
        passages = tuple(Passage(chunk_id=segment, partial=partial) for segment, partial in evidence.items())
        facts.append(Fact(passages or (Passage(nugget),), importance, nugget=nugget))
    helpful = {segment for segments in topic.evidence.values() for segment in segments}
    irrelevant = tuple(Passage(chunk_id=segment, grade=0) for segment in topic.irrelevant if segment not in helpful)
    return Query(query_id, topic.text, tuple(facts), judged_irrelevant=irrelevant)


def write_nuggets(dataset: Dataset, path: Path) -> None:
    """Write the nuggets of each question, as AutoNuggetizer's `create` does.

    Args:
        dataset: what fits `CAPABILITIES`.
        path: the file.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for query in dataset.queries:
            nuggets = [{"text": fact.nugget, "importance": fact.importance} for fact in query.facts]
            line = {"query": query.text, "qid": query.id, "nuggets": nuggets}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
