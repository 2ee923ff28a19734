"""Decisions of people about labels whose new place is not certain: read strictly, then applied."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.auditing.records import Place
from raglift.errors import DatasetError
from raglift.types.checking import has_words
from raglift.updating.placing import passage_at
from raglift.updating.writing import place_json
from raglift.utilities.limits import user_path
from raglift.utilities.strict_files import decode_lines, parse_object, read_bytes
from raglift.utilities.validation import Location, check_fields, described, nearest, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raglift.errors import Fault
    from raglift.types.labels import Passage
    from raglift.updating.records import LabelUpdate, UpdatedPassage

DROP = "drop"
"""What is chosen if no place is right."""
_FIELDS = ("query", "where", "old", "choose")
_PLACE = {"doc": str, "start": int, "end": int, "text": str}


def text_hash(passage: Passage) -> str:
    """Return the hash by which a decision names the text that it is about."""
    label = passage.text if passage.text is not None else passage.chunk_id or ""
    return hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def label_of(passage: UpdatedPassage) -> dict[str, str]:
    """Return how a decision names the label that it is about."""
    return {"query": passage.query_id, "where": passage.where, "old": text_hash(passage.old)}


def choice_of(place: Place, text: str) -> dict[str, Any]:
    """Return the choice of a place, with the text that is there."""
    return {**place_json(place), "text": text}


def decisions_of(update: LabelUpdate) -> Iterator[dict[str, Any]]:
    """Yield the decisions that were applied to an update."""
    texts = {document.id: document.text for document in update.documents}
    for each in update.passages:
        place = each.new_place
        if each.decided:
            chosen = DROP if place is None else choice_of(place, texts[place.doc_id][place.start : place.end])
            yield {**label_of(each), "choose": chosen}


def apply_decisions(
    update: LabelUpdate, decisions: str | os.PathLike[str] | Iterable[Mapping[str, Any]]
) -> LabelUpdate:
    """Return the update with the decisions; see `LabelUpdate.decide`."""
    faults: list[Fault] = []
    passages = {(each.query_id, each.where): number for number, each in enumerate(update.passages)}
    texts = {document.id: document.text for document in update.documents}
    decided: dict[int, UpdatedPassage] = {}
    first: dict[int, Location] = {}
    for here, entry in _entries(decisions, faults):
        number = _passage_of(entry, here, update, passages)
        if number is None:
            continue
        if number in first:
            here.fault(f"a second decision about the label of {first[number]}", "one decision a label")
        first.setdefault(number, here)
        passage = _decided(update.passages[number], entry["choose"], here / "choose", texts)
        if passage is not None:
            decided[number] = passage
    source = str(decisions) if isinstance(decisions, (str, os.PathLike)) else "decisions"
    if not first and not faults:
        Location(source, faults).fault("no decisions", "one JSON object on each line")
    if faults:
        raise DatasetError(source, faults, "no decision was applied")
    return replace(update, passages=tuple(decided.get(number, each) for number, each in enumerate(update.passages)))


def _entries(
    decisions: str | os.PathLike[str] | Iterable[Mapping[str, Any]], faults: list[Fault]
) -> Iterator[tuple[Location, Mapping[str, Any]]]:
    if isinstance(decisions, (str, os.PathLike)):
        path = user_path(decisions)
        location = Location(path.name, faults)
        for here, line in decode_lines(read_bytes(path, location) or b"", location):
            entry = parse_object(line, here)
            if entry is not None:
                yield here, entry
    else:
        for number, each in enumerate(decisions):
            location = Location("decisions", faults, field=f"[{number}]")
            if isinstance(each, Mapping):
                yield location, each
            else:
                location.fault(described(each), f"a mapping with {', '.join(_FIELDS)}")


def _passage_of(
    entry: Mapping[str, Any], here: Location, update: LabelUpdate, passages: Mapping[tuple[str, str], int]
) -> int | None:
    """Return the number of the passage that a decision is about; None, and a fault, if there is none."""
    faults_before = len(here.faults)
    check_fields(entry, _FIELDS, here)
    for name in _FIELDS:
        if name not in entry:
            (here / name).fault("no such field", f"the fields {', '.join(_FIELDS)}")
        elif name != "choose" and not isinstance(entry[name], str):
            (here / name).fault(shown(entry[name]), "a text")
    if len(here.faults) > faults_before:
        return None
    query_id, where = entry["query"], entry["where"]
    number = passages.get((query_id, where))
    if number is not None:
        if entry["old"] == text_hash(update.passages[number].old):
            return number
        found = f"{quoted(entry['old'])}, a decision about another text than this label has"
        (here / "old").fault(found, "a decision about these labels: write the page again, and decide there")
    elif query_id in update.dataset.query_by_id:
        (here / "where").fault(quoted(where), nearest(where, [label for query, label in passages if query == query_id]))
    else:
        (here / "query").fault(f"the question {quoted(query_id)}", nearest(query_id, update.dataset.query_by_id))
    return None


def _decided(passage: UpdatedPassage, choice: Any, here: Location, texts: Mapping[str, str]) -> UpdatedPassage | None:
    """Return a passage as it was decided; None, and a fault, if that cannot be."""
    if choice == DROP:
        return replace(passage, new=None, new_place=None, decided=True)
    if not isinstance(choice, dict) or choice.keys() != _PLACE.keys():
        here.fault(shown(choice), f'"{DROP}", or an object with {", ".join(_PLACE)}')
        return None
    wrong = [name for name, kind in _PLACE.items() if type(choice[name]) is not kind]
    for name in wrong:
        (here / name).fault(shown(choice[name]), "an integer" if _PLACE[name] is int else "a text")
    if wrong:
        return None
    place, text = Place(choice["doc"], choice["start"], choice["end"]), choice["text"]
    if place.doc_id not in texts:
        (here / "doc").fault(quoted(place.doc_id), nearest(place.doc_id, texts))
    elif not 0 <= place.start < place.end <= len(texts[place.doc_id]):
        expected = f"0 ≤ start < end ≤ {len(texts[place.doc_id])}, the length of {quoted(place.doc_id)}"
        here.fault(f"the span from {place.start} to {place.end}", expected)
    elif (there := texts[place.doc_id][place.start : place.end]) != text:
        expected = f"the text there, {quoted(there)}; if the documents changed since, write the page again"
        (here / "text").fault(f"{quoted(text)} from {place.start} to {place.end} of {quoted(place.doc_id)}", expected)
    elif not has_words(text):
        (here / "text").fault(quoted(text), "a text with words")
    else:
        return replace(passage, new=passage_at(passage.old, texts[place.doc_id], place), new_place=place, decided=True)
    return None
