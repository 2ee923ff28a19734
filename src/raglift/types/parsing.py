"""Parsing of labels from plain records, with every fault recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from raglift.types.anchors import Sources, whole_document
from raglift.types.checking import FARTHEST, has_words, trusted
from raglift.types.filters import Filter
from raglift.types.labels import (
    IRRELEVANT,
    RELEVANT,
    Annotator,
    Fact,
    Passage,
    Query,
)
from raglift.utilities.display import SURROGATE, shorten
from raglift.utilities.validation import Location, check_fields, shown

# One entry of a label to a Passage: a text, a span, a quote anchor, a page, a whole document or a chunk id.


_PASSAGE_FIELDS = ("text", "doc", "page", "start", "end", "from", "to", "chunk", "grade", "annotator")


def read_passage(value: Any, location: Location, sources: Sources, grades: range) -> Passage | None:
    """Return the passage that an entry of a label describes; None, and a fault, when there is none.

    Args:
        value: a text, or an object in one of the forms of `README.md`.
        location: its location.
        sources: the documents that spans and anchors point into.
        grades: the grades allowed here; the first is the default.
    """
    if isinstance(value, str):
        text = read_string(value, location)
        return None if text is None else Passage(text, grade=grades.start)
    if not isinstance(value, dict):
        location.fault(shown(value), "a passage: a text, or an object")
        return None
    if not check_fields(value, _PASSAGE_FIELDS, location):
        return None
    grade = _read_grade(value, location / "grade", grades)
    annotator = read_annotator(value, location)
    read = _FORMS.get(frozenset(value) - {"grade", "annotator"})
    if read is None:
        forms = ", or ".join(" and ".join(name for name in _PASSAGE_FIELDS if name in form) for form in _FORMS)
        location.fault(shown(value), f"the fields {forms} (and grade and annotator, if any)")
        return None
    passage = read(value, location, sources, grade)
    if passage is None or annotator is None:
        return passage
    return replace(passage, annotator=annotator)


def read_annotator(entry: Mapping[str, Any], location: Location) -> Annotator | None:
    """Return the model that an object says it is from; None if it names none, and a fault where it is not a model."""
    value = entry.get("annotator")
    if value is None:
        return None
    inner = location / "annotator"
    names = [field.name for field in fields(Annotator)]
    if not isinstance(value, dict):
        inner.fault(shown(value), f"an object with {', '.join(names)}")
        return None
    if not check_fields(value, names, inner):
        return None
    texts = [read_string(value.get(name), inner / name) for name in names]
    return Annotator(*[text or "" for text in texts])


def read_string(value: Any, location: Location) -> str | None:
    """Return a text; None, and a fault, when it is something else, has no visible character, or is no valid Unicode."""
    text = read_name(value, location)
    if text is None or has_words(text):
        return text
    location.fault(f"a text without a visible character {shorten(text, 10)!a}", "a text with words")
    return None


def read_name(value: Any, location: Location) -> str | None:
    """Return a text that names something; None, and a fault, when it is something else, blank, or no valid Unicode."""
    if isinstance(value, str) and not value.strip():
        location.fault(f"an empty text {shown(value)}", "a text that is not only white space")
        return None
    return read_characters(value, location)


def read_id(value: Any, location: Location) -> str | None:
    """Return an id, which may be given as an integer; None, and a fault, when it is none."""
    # many files number what they hold
    return read_name(str(value) if type(value) is int else value, location)


def read_characters(value: Any, location: Location) -> str | None:
    """Return a text, which may be empty; None, and a fault, when it is something else or not valid Unicode."""
    if not isinstance(value, str):
        location.fault(shown(value), "a text")
    elif surrogate := SURROGATE.search(value):
        location.fault(f"half a character: the lone surrogate {shown(surrogate[0])}", "valid Unicode text")
    else:
        return value
    return None


def _read_grade(entry: Mapping[str, Any], location: Location, grades: range) -> int:
    grade = entry.get("grade", grades.start)
    # a bool is an int, and 1.0 equals 1, but neither is an integer in the file
    if type(grade) is int and grade in grades:
        return grade
    if grades is IRRELEVANT:
        location.fault(shown(grade), "no grade, or 0: a passage that has a grade belongs into relevant")
    else:
        expected = f"an integer from {grades.start} to {grades.stop - 1}"
        hint = "; what does not help belongs into judged_irrelevant" if grade == 0 else ""
        location.fault(shown(grade), expected + hint)
    return grades.start


def _read_text(entry: Mapping[str, Any], location: Location, sources: Sources, grade: int) -> Passage | None:
    text = read_string(entry["text"], location / "text")
    doc_id = read_name(entry["doc"], location / "doc") if "doc" in entry else None
    if doc_id is not None:
        sources.check_id(doc_id, location)
    return None if text is None else Passage(text, doc_id, grade=grade)


def _read_chunk(entry: Mapping[str, Any], location: Location, sources: Sources, grade: int) -> Passage | None:  # noqa: ARG001
    chunk_id = read_name(entry["chunk"], location / "chunk")
    return None if chunk_id is None else Passage(chunk_id=chunk_id, grade=grade)


def _read_anchor(entry: Mapping[str, Any], location: Location, sources: Sources, grade: int) -> Passage | None:
    doc_id = read_name(entry["doc"], location / "doc")
    first = read_string(entry["from"], location / "from")
    last = read_string(entry["to"], location / "to")
    if doc_id is None or first is None or last is None:
        return None
    span = sources.find_quote(doc_id, first, last, location)
    document = sources.document(doc_id, location) if span else None
    if span is None or document is None:
        return None
    return Passage(document.text[slice(*span)], doc_id, *span, grade=grade)


def _read_document(entry: Mapping[str, Any], location: Location, sources: Sources, grade: int) -> Passage | None:
    doc_id = read_name(entry["doc"], location / "doc")
    document = None if doc_id is None else sources.document(doc_id, location)
    return None if document is None else whole_document(document, grade)


def _read_page(entry: Mapping[str, Any], location: Location, sources: Sources, grade: int) -> Passage | None:
    doc_id = read_name(entry["doc"], location / "doc")
    number = entry["page"]
    if type(number) is not int or abs(number) >= FARTHEST:
        (location / "page").fault(shown(number), "an integer: which page of the file, the first is 1")
        return None
    passage = None if doc_id is None else sources.find_page(doc_id, number, location)
    return None if passage is None else replace(passage, grade=grade)


def _read_placed(entry: Mapping[str, Any], location: Location, sources: Sources, grade: int) -> Passage | None:
    """Return a span that brings its text: what it says is compared with the document where that is at hand."""
    text = read_string(entry["text"], location / "text")
    if sources.at_hand:
        passage = _read_span(entry, location, sources, grade)
        if passage is not None and text is not None and passage.text != text:
            found = f"another text than stands from {passage.start} to {passage.end} of {passage.doc_id}"
            sources.note_unresolved(location, location / "text", text, found, shown(passage.text))
            return None
        return passage
    doc_id = _read_place(entry, location)
    if text is None or doc_id is None:
        return None
    start, end = entry["start"], entry["end"]
    if start < 0 or end - start != len(text):
        location.fault(
            f"the span from {start} to {end}", f"0 ≤ start, and an end {len(text)} after it: the text's length"
        )
        return None
    return Passage(text, doc_id, start, end, grade=grade)


def _read_place(entry: Mapping[str, Any], location: Location) -> str | None:
    """Return the document's id of a span; None, and a fault, where its id or its bounds are none."""
    doc_id = read_name(entry["doc"], location / "doc")
    for bound in ("start", "end"):
        integer = type(entry[bound]) is int
        if not integer or abs(entry[bound]) >= FARTHEST:
            kind = "an integer of at most 18 digits" if integer else "an integer"
            (location / bound).fault(shown(entry[bound]), f"{kind}: a character offset into the document's text")
            doc_id = None
    return doc_id


def _read_span(entry: Mapping[str, Any], location: Location, sources: Sources, grade: int) -> Passage | None:
    doc_id = _read_place(entry, location)
    document = sources.document(doc_id, location) if doc_id is not None else None
    if document is None:
        return None
    start, end = entry["start"], entry["end"]
    if not 0 <= start < end <= len(document.text):
        expected = f"0 ≤ start < end ≤ {len(document.text)}, the length of {document.id}"
        found = f"the span from {start} to {end}"
        sources.note_unresolved(location, location, str(entry.get("text", f"{start}–{end}")), found, expected)
        return None
    text = document.text[start:end]
    if not has_words(text):
        location.fault(f"no visible character from {start} to {end} of {document.id}", "a span that holds words")
        return None
    return Passage(text, document.id, start, end, grade=grade)


_FORMS: Mapping[frozenset[str], Callable[[Mapping[str, Any], Location, Sources, int], Passage | None]] = {
    frozenset({"text"}): _read_text,
    frozenset({"text", "doc"}): _read_text,
    frozenset({"doc", "start", "end"}): _read_span,
    frozenset({"text", "doc", "start", "end"}): _read_placed,
    frozenset({"doc", "from", "to"}): _read_anchor,
    frozenset({"doc", "page"}): _read_page,
    frozenset({"doc"}): _read_document,
    frozenset({"chunk"}): _read_chunk,
}


# One object of a queries file to a Query.


_TEXTS, _FACTS = ("query", "question"), ("relevant", "passages")
"""What a question and its facts may be called."""
_QUERY_FIELDS = ("id", *_TEXTS, *_FACTS, "tags", "answerable", "judged_irrelevant", "annotator", "filter")


def read_query(entry: Mapping[str, Any], location: Location, sources: Sources, number: int) -> Query:
    """Return the query that an object describes. What it lacks is noted as a fault, and left empty.

    Args:
        entry: the fields of one line.
        location: the line.
        sources: the documents that labels point into.
        number: which query of the dataset it is, counted from 1; without an id it is called `q1`, `q2`, ….
    """
    known = len(location.faults)
    check_fields(entry, _QUERY_FIELDS, location)
    text, facts_name = field_of(entry, _TEXTS, location), field_of(entry, _FACTS, location) or _FACTS[0]
    if text is None:
        (location / _TEXTS[0]).fault("no such field", f"the field {_TEXTS[0]!r} (or {_TEXTS[1]!r}) of every query")
    answerable = entry.get("answerable", True)
    if not isinstance(answerable, bool):
        (location / "answerable").fault(shown(answerable), "true or false")
    facts = read_facts(entry.get(facts_name, []), location / facts_name, sources)
    if answerable is False and facts:
        (location / "answerable").fault(f"false, and passages in {facts_name}", "only one of the two")
    values: dict[str, Any] = {
        "id": read_id(entry.get("id", f"q{number}"), location / "id") or "",
        "text": "" if text is None else read_string(entry[text], location / text) or "",
        "facts": facts,
        "tags": _read_tags(entry.get("tags", []), location / "tags"),
        "answerable": bool(answerable),
        "judged_irrelevant": _read_irrelevant(
            entry.get("judged_irrelevant", []), location / "judged_irrelevant", sources
        ),
        "annotator": read_annotator(entry, location),
        "filter": Filter.of(entry["filter"], location / "filter") if entry.get("filter") is not None else None,
    }
    # What is not right has been noted, and is not loaded: its id alone is still compared with the others
    return Query(**values) if len(location.faults) == known else trusted(Query, values)


def field_of(entry: Mapping[str, Any], names: tuple[str, ...], location: Location) -> str | None:
    """Return the one of some fields that an object has; None without any, and a fault for each further one."""
    found = [name for name in names if name in entry]
    for name in found[1:]:
        (location / name).fault(f"it beside the field {found[0]!r}", f"one of {', '.join(map(repr, names))}")
    return found[0] if found else None


def read_facts(value: Any, location: Location, sources: Sources) -> tuple[Fact, ...]:
    """Return the facts of a query: a passage is a fact, a list of passages one fact with alternatives."""
    entries = _entries(value, location, "a list of facts")
    # Where a label does not resolve there is a fault, or it is left out, and its fact with it
    alternatives = [_read_alternatives(entry, location / index, sources) for index, entry in enumerate(entries)]
    return tuple(Fact(passages) for passages in alternatives if passages)


def _read_alternatives(value: Any, location: Location, sources: Sources) -> tuple[Passage, ...]:
    if not isinstance(value, list):
        return _present(read_passage(value, location, sources, RELEVANT))
    if not value:
        location.fault("an empty list of alternatives", "at least one passage")
    passages: tuple[Passage, ...] = ()
    for index, alternative in enumerate(value):
        if isinstance(alternative, list):
            (location / index).fault("a list within a list of alternatives", "a passage: a text, or an object")
        else:
            passages += _present(read_passage(alternative, location / index, sources, RELEVANT))
    return passages


def _read_irrelevant(value: Any, location: Location, sources: Sources) -> tuple[Passage, ...]:
    passages: tuple[Passage, ...] = ()
    for index, entry in enumerate(_entries(value, location, "a list of passages")):
        passages += _present(read_passage(entry, location / index, sources, IRRELEVANT))
    return passages


def _read_tags(value: Any, location: Location) -> tuple[str, ...]:
    entries = enumerate(_entries(value, location, "a list of texts"))
    return tuple(read_string(tag, location / index) or "" for index, tag in entries)


def _entries(value: Any, location: Location, expected: str) -> list[Any]:
    if isinstance(value, list):
        return value
    location.fault(shown(value), expected)
    return []


def _present(passage: Passage | None) -> tuple[Passage, ...]:
    return () if passage is None else (passage,)
