"""Datasets that are built in Python, and questions put to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from raglift.dataset.anchors import Sources
from raglift.dataset.documents import read_documents
from raglift.dataset.faults import Place, nearest, quoted, shown
from raglift.dataset.labels import read_facts
from raglift.dataset.passages import read_string
from raglift.errors import DatasetError, Fault
from raglift.records import Dataset, Query

if TYPE_CHECKING:
    from raglift.records import Document

__all__ = ["dataset_from_dict", "unknown_query"]


def dataset_from_dict(
    relevant: Mapping[str, str | Sequence[str | Sequence[str]]],
    *,
    documents: Sequence[Document] = (),
    name: str = "dataset",
) -> Dataset:
    """Return a dataset from the ground-truth texts of each question; ids are `q1`, `q2`, … in order.

    Args:
        relevant: a text (one fact) or a list of facts for each question; a list among them is one fact with
            alternatives.
        documents: the source texts, if at hand.
        name: a title.

    Raises:
        DatasetError: an empty question or text, or something that is not text; every fault is listed.
    """
    faults: list[Fault] = []
    place = Place("relevant", faults)
    checked = read_documents(documents)
    sources = Sources(checked)
    queries = []
    given: object = relevant
    if not isinstance(given, Mapping):
        place.fault(f"an object of type {type(given).__name__}", "a mapping from question to texts")
        given = {}
    for index, (question, value) in enumerate(given.items(), start=1):
        here = place / shown(question)
        text = read_string(question, here) or ""
        facts = read_facts([value] if isinstance(value, str) else _as_list(value), here, sources)
        queries.append(Query(f"q{index}", text, facts))
    sources.note_missing_documents()
    if not (queries or faults):
        place.fault("no questions", "at least one")
    if faults:
        raise DatasetError(name, faults)
    return Dataset(tuple(queries), checked, name)


def unknown_query(dataset: Dataset, query_id: str) -> DatasetError:
    """Return the error for a query id that a dataset does not have; it names the ids nearest to it.

    Args:
        dataset: where it was looked for.
        query_id: the id that is not there.
    """
    expected = nearest(str(query_id), dataset.query_by_id)
    return DatasetError(dataset.name, [Fault("query id", quoted(query_id), expected)], "there is no such query")


def _as_list(value: Any) -> Any:
    """Return nested sequences as the lists that JSON would give."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_as_list(item) for item in value]
    return value
