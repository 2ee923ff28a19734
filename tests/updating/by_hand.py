"""Updated labels made by hand."""

from __future__ import annotations

from typing import Any

from raglift.auditing import Place
from raglift.types import Dataset, Document, Fact, Passage, Query
from raglift.updating import Candidate, LabelUpdate, UpdatedPassage
from raglift.updating.deciding import text_hash
from raglift.updating.writing import place_json

LAMP = "The keeper lights the lamp at dusk, and trims it at midnight."
OIL = "The oil store holds two hundred litres of paraffin."
NEW_OIL = "The oil store holds three hundred litres of paraffin."
OLD = Document("lamp.md", f"# Lamp\n\n{LAMP}\n\n{OIL}\n")
NEW = Document("tower.md", f"# Tower\n\nRead this first.\n\n{LAMP}\n\n{NEW_OIL}\n")


def span(document: Document, text: str, **more: Any) -> Passage:
    start = document.text.index(text)
    return Passage(text, document.id, start, start + len(text), **more)


def place(passage: Passage) -> Place:
    assert passage.doc_id is not None
    assert passage.start is not None
    assert passage.end is not None
    return Place(passage.doc_id, passage.start, passage.end)


def moved(query: str, old: Passage, new: Passage, where: str = "relevant[0]", at: Place | None = None) -> Any:
    old_place = None if old.start is None else place(old)
    return UpdatedPassage(query, where, "moved", old, old_place, new, at or place(new), "it occurs once")


def undecided(query: str, old: Passage, *candidates: Passage, where: str = "relevant[0]") -> UpdatedPassage:
    found = tuple(Candidate(place(each), each.text or "", 0.9, "beside the same neighbour") for each in candidates)
    old_place = None if old.start is None else place(old)
    return UpdatedPassage(query, where, "edited" if found else "gone", old, old_place, candidates=found)


def updated(labels: dict[str, list[Any]], passages: list[UpdatedPassage], *, name: str = "lights") -> LabelUpdate:
    """Return an update of questions, each a list of facts: a passage, or alternatives."""
    facts = {
        query: tuple(Fact((fact,) if isinstance(fact, Passage) else tuple(fact)) for fact in of)
        for query, of in labels.items()
    }
    queries = tuple(Query(query, f"What of {query}?", of) for query, of in facts.items())
    return LabelUpdate(Dataset(queries, (OLD,), name), (NEW,), tuple(passages))


def three_labels() -> LabelUpdate:
    """One label moved, one is edited with one candidate, and one is gone."""
    lamp, oil, gone = span(OLD, LAMP), span(OLD, OIL, grade=2), Passage("Gulls rest on the rocks.", "lamp.md")
    return updated(
        {"lamp": [lamp], "oil": [oil], "gulls": [gone]},
        [moved("lamp", lamp, span(NEW, LAMP)), undecided("oil", oil, span(NEW, NEW_OIL)), undecided("gulls", gone)],
    )


def decision(passage: UpdatedPassage, candidate: int | None = 0) -> dict[str, Any]:
    """Return a decision for a candidate of a passage, or for none."""
    label = {"query": passage.query_id, "where": passage.where, "old": text_hash(passage.old)}
    if candidate is None:
        return {**label, "choose": "drop"}
    chosen = passage.candidates[candidate]
    return {**label, "choose": {**place_json(chosen.place), "text": chosen.text}}
