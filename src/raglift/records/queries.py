"""One object of a queries file to a Query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.faults import check_fields, shown
from raglift.records.labels import Fact, Query
from raglift.records.passages import IRRELEVANT, RELEVANT, read_annotator, read_id, read_passage, read_string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.faults import Place
    from raglift.records.anchors import Sources
    from raglift.records.labels import Passage

__all__ = ["read_facts", "read_query"]

_FIELDS = ("id", "query", "relevant", "tags", "answerable", "judged_irrelevant", "annotator")


def read_query(entry: Mapping[str, Any], place: Place, sources: Sources) -> Query:
    """Return the query that an object describes. What it lacks is noted as a fault, and left empty.

    Args:
        entry: the fields of one line.
        place: the line.
        sources: the documents that labels point into.
    """
    check_fields(entry, _FIELDS, place)
    for name in ("id", "query"):
        if name not in entry:
            (place / name).fault("no such field", f"the field {name!r} on every line")
    answerable = entry.get("answerable", True)
    if not isinstance(answerable, bool):
        (place / "answerable").fault(shown(answerable), "true or false")
    facts = read_facts(entry.get("relevant", []), place / "relevant", sources)
    if answerable is False and facts:
        (place / "answerable").fault("false, and passages in relevant", "only one of the two")
    return Query(
        id=(read_id(entry["id"], place / "id") or "") if "id" in entry else "",
        text=(read_string(entry["query"], place / "query") or "") if "query" in entry else "",
        facts=facts,
        tags=_read_tags(entry.get("tags", []), place / "tags"),
        answerable=bool(answerable),
        judged_irrelevant=_read_irrelevant(entry.get("judged_irrelevant", []), place / "judged_irrelevant", sources),
        annotator=read_annotator(entry, place),
    )


def read_facts(value: Any, place: Place, sources: Sources) -> tuple[Fact, ...]:
    """Return the facts of a query: a passage is a fact, a list of passages one fact with alternatives.

    Args:
        value: the list of facts.
        place: where it stands.
        sources: the documents that labels point into.
    """
    entries = _entries(value, place, "a list of facts")
    return tuple(_read_fact(entry, place / index, sources) for index, entry in enumerate(entries))


def _read_fact(value: Any, place: Place, sources: Sources) -> Fact:
    if not isinstance(value, list):
        return Fact(_present(read_passage(value, place, sources, RELEVANT)))
    if not value:
        place.fault("an empty list of alternatives", "at least one passage")
    passages: tuple[Passage, ...] = ()
    for index, alternative in enumerate(value):
        if isinstance(alternative, list):
            (place / index).fault("a list within a list of alternatives", "a passage: a text, or an object")
        else:
            passages += _present(read_passage(alternative, place / index, sources, RELEVANT))
    return Fact(passages)


def _read_irrelevant(value: Any, place: Place, sources: Sources) -> tuple[Passage, ...]:
    passages: tuple[Passage, ...] = ()
    for index, entry in enumerate(_entries(value, place, "a list of passages")):
        passages += _present(read_passage(entry, place / index, sources, IRRELEVANT))
    return passages


def _read_tags(value: Any, place: Place) -> tuple[str, ...]:
    entries = enumerate(_entries(value, place, "a list of texts"))
    return tuple(read_string(tag, place / index) or "" for index, tag in entries)


def _entries(value: Any, place: Place, expected: str) -> list[Any]:
    if isinstance(value, list):
        return value
    place.fault(shown(value), expected)
    return []


def _present(passage: Passage | None) -> tuple[Passage, ...]:
    return () if passage is None else (passage,)
