"""The labels of a dataset, looked for in another version of its documents."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import raglift.updating.view  # noqa: F401 — makes the view of an update known
from raglift.auditing.records import Place
from raglift.datasets.documents import read_documents
from raglift.errors import ConfigurationError
from raglift.matching.chunk_index import find_places
from raglift.matching.nearest import LONGEST, nearest_passages
from raglift.text.normalization import bounded_marks
from raglift.text.reformatting import QUOTES, straight_quotes
from raglift.types.dataset import Dataset
from raglift.updating.exact import OwnPlaces
from raglift.updating.folded import FoldedDocuments
from raglift.updating.pairing import share_of
from raglift.updating.placing import passage_at
from raglift.updating.records import KINDS, Candidate, LabelUpdate, UpdatedPassage
from raglift.updating.searching import search_for
from raglift.updating.successors import BESIDE, MOST_SIMILAR, SAME_TEXT, SOME_LINES, Undecided, propose
from raglift.utilities.progress import track
from raglift.utilities.validation import described

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.datasets.documents import DocumentSource
    from raglift.matching.nearest import SimilarPassage
    from raglift.retrieval.embedding import Embedder
    from raglift.types.documents import Document
    from raglift.types.labels import Passage
    from raglift.updating.exact import Exact
    from raglift.updating.folded import Spot
    from raglift.updating.records import Kind

_MOST_PLACES = 50
"""Of a text that occurs more often, so many places are looked for again."""
_SAME_DOCUMENT = 0.5
"""The share of a document's words that makes it the same document to a label that is all of it."""
_BETWEEN_PARTS = re.compile(r"\n[ \t]*\r?\n|\f")
_MUCH_THE_SAME = 0.65
"""From this likeness on a text of another document is shown as one that says much the same."""


@dataclass(frozen=True)
class _Label:
    """A passage of the labels, and where it was."""

    query_id: str
    where: str
    passage: Passage
    places: tuple[Place, ...]


@dataclass(frozen=True)
class _Outcome:
    """What became of one place of a passage."""

    kind: Kind
    rule: str
    old: Place | None = None
    new: Place | None = None
    changes: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()


def update_labels(dataset: Dataset, documents: DocumentSource, *, embedder: Embedder | None = None) -> LabelUpdate:
    """Find what became of each label of a dataset in another version of its documents.

    A passage is carried to the new documents if its place there is certain. Formatting makes no difference: white
    space and wrapping, quotation marks, the numbers of headings and lists, the language after a fence of code. A place
    is certain if

    - its document has not changed, but for its format;
    - or passage and text around it, as far as that is the same at both places (20 letters at least before it or after
      it, and on both sides of less than 20 letters, as Yes.), occur once in its document, before and now;
    - or it has 20 letters, and is the only such text between what is the same before it and after it in its document,
      before and now, at least one of which is within 400 characters;
    - or it has 20 letters, and its document had one such place and has one now;
    - or its text is gone from its document alone, and new in one other alone, which is no copy of its document; if it
      has less than 20 letters, with 20 that are the same before it or after it;
    - or the label is all of a document of several paragraphs, of which at least half is still there.

    If something like it is new at its old place, it was edited, unless its document has not changed or 20 letters are
    the same on both sides.

    A document whose id is gone is the one with a new id that has most of what only it had: see `partners_of` in
    `updating/pairing.py`. A Chinese, Japanese or Korean letter counts as three.

    The same words may say something else: so a label of whole paragraphs must be whole paragraphs again, and the rest
    of a sentence must be the same; a number that differs must be one of a list; an item without its neighbours must be
    below the same heading; and what was neither a comment nor a quotation must not be one. All else is for a person to
    decide: places are proposed by the lines that are left of a passage, by the text around it, and by likeness; none of
    them decides.

    Args:
        dataset: the labels, and the documents that they are about.
        documents: the new version of the documents: `Document` objects, a folder, a file, or a mapping from id to text.
        embedder: an embedding model, which chooses among the hits of BM25 that are proposed for a passage that is gone.

    Returns:
        What became of each passage, with a proof; `updated` is the dataset with the labels that are certain.

    Raises:
        ConfigurationError: the dataset is none or has no documents, no label names text, or there are no new
            documents.
        DatasetError: the new documents cannot be read.
    """
    if not isinstance(dataset, Dataset):
        raise ConfigurationError(
            f"update_labels: found {described(dataset)} as the dataset; expected a Dataset, from load_dataset() or "
            "Dataset.from_dict()"
        )
    if not (documents is None or isinstance(documents, (Iterable, os.PathLike))):
        raise ConfigurationError(
            f"update_labels: found {described(documents)} as the new documents; expected Document objects, a mapping "
            "from id to text, or the path to a file or folder"
        )
    new = read_documents(documents)
    if not dataset.documents:
        raise ConfigurationError(
            f"update_labels: found no documents in {dataset.name!r}; expected those that its labels are about, in the "
            "old version: load_dataset(…, documents=…)"
        )
    if not new:
        raise ConfigurationError("update_labels: found no new documents; expected at least one")
    labels = list(_labels(dataset))
    if labels and all(label.passage.chunk_id not in (None, *dataset.document_by_id) for label in labels):
        raise ConfigurationError(
            f"update_labels: found {len(labels):,} labels by chunk id in {dataset.name!r}, which name no text; "
            "expected passages, spans, anchors, pages or documents"
        )
    outcomes = _carry(labels, dataset.documents, new)
    by_id = {document.id: document for document in new}
    passages = tuple(_updated(label, of, by_id) for label, of in zip(labels, outcomes, strict=True))
    return LabelUpdate(dataset, new, tuple(_searched(passages, dataset, new, embedder)))


def _labels(dataset: Dataset) -> Iterator[_Label]:
    """Yield the passages of each question: those of its facts, then those judged irrelevant."""
    rows: list[tuple[str, str, Passage]] = []
    for query in dataset:
        for number, fact in enumerate(query.facts):
            for other, passage in enumerate(fact.passages):
                where = f"relevant[{number}]" + (f"[{other}]" if len(fact.passages) > 1 else "")
                rows.append((query.id, where, passage))
        rows += [(query.id, f"judged_irrelevant[{n}]", each) for n, each in enumerate(query.judged_irrelevant)]
    found = find_places([passage for _, _, passage in rows], dataset.documents)
    places: dict[int, list[Place]] = defaultdict(list)
    for number, document, start, end in zip(found.passage, found.document, found.start, found.end, strict=True):
        if len(places[int(number)]) < _MOST_PLACES:
            places[int(number)].append(Place(dataset.documents[document].id, int(start), int(end)))
    for number, (query_id, where, passage) in enumerate(rows):
        yield _Label(query_id, where, passage, tuple(places[number]))


# What became of the places.


def _carry(labels: Sequence[_Label], old: Sequence[Document], new: Sequence[Document]) -> list[_Outcome]:
    """Return what became of each label: of its places, the one that is most certain."""
    texts = {document.id: document.text for document in old}
    now = {document.id: document for document in new}
    found: list[_Outcome | None] = [_at_once(label, texts, now) for label in labels]
    rest = [(number, place) for number, label in enumerate(labels) if found[number] is None for place in label.places]
    of_places: dict[int, list[_Outcome]] = defaultdict(list)
    rest.sort(key=lambda pair: pair[1].doc_id)  # the offsets of one document after the other
    for (number, _), outcome in zip(rest, _search([place for _, place in rest], old, new), strict=True):
        of_places[number].append(outcome)
    order = list(KINDS)
    return [
        outcome or min(of_places[number], key=lambda each: order.index(each.kind))
        for number, outcome in enumerate(found)
    ]


def _at_once(label: _Label, old: Mapping[str, str], new: Mapping[str, Document]) -> _Outcome | None:
    """Return what became of a label whose document is the same; None if its text has to be looked for."""
    passage = label.passage
    if passage.text is None:
        there = passage.chunk_id in old and passage.chunk_id in new
        rule = "the document is still there" if there else "a label by chunk id names no text"
        return _Outcome("unchanged" if there else "gone", rule)
    for place in label.places:
        document = new.get(place.doc_id)
        if document is None:
            continue
        if document.text == old[place.doc_id]:
            return _Outcome("unchanged", "its document has not changed", place, place)
        is_whole = passage.start == 0 and place.end == len(old[place.doc_id])
        has_parts = _BETWEEN_PARTS.search(old[place.doc_id].strip())  # else it is a passage as any other
        if is_whole and has_parts and share_of(old[place.doc_id], document.text) >= _SAME_DOCUMENT:
            rule = "the label is all of a document, of which most is still there"
            return _Outcome("unchanged", rule, place, Place(place.doc_id, 0, len(document.text)))
    if not label.places:
        return _Outcome("gone", "its text was in no document before, either")
    return None


def _search(places: Sequence[Place], old: Sequence[Document], new: Sequence[Document]) -> list[_Outcome]:
    """Return what became of places in documents that have changed."""
    if not places:
        return []
    before, now = FoldedDocuments(old, "read the old documents"), FoldedDocuments(new, "read the new documents")
    spots = [before.spot(place) for place in places]
    texts: dict[str, tuple[bool, bool]] = {}
    for each in filter(None, spots):
        begins, ends = texts.get(before.text(each), (False, False))
        cuts = before.cuts(each)
        texts[before.text(each)] = (begins or cuts[0], ends or cuts[1])
    found_before = before.find(texts, "look for labels in the old documents")
    found_now = now.find(texts, "look for labels in the new documents")
    own = OwnPlaces(before, now)
    outcomes: list[_Outcome] = []
    undecided: list[tuple[int, Undecided]] = []
    with track("find labels", len(places), "labels", show=now.show) as advance:
        for place, spot in zip(places, spots, strict=True):
            advance(1)
            if spot is None:
                outcomes.append(_Outcome("gone", "it has no words", place))
                continue
            text = before.text(spot)
            exact = own.find(spot, place, found_before[text], found_now[text])
            if exact.is_certain:
                outcomes.append(_certain(before, spot, place, exact, now))
            else:
                undecided.append((len(outcomes), Undecided(spot, place, exact)))
                outcomes.append(_Outcome("gone", exact.rule, place))
    proposed = propose([lost for _, lost in undecided], before, now, own)
    for (number, lost), candidates in zip(undecided, proposed, strict=True):
        kind = _kind(lost, candidates, own.partner(lost.spot.document))
        outcomes[number] = replace(outcomes[number], kind=kind, candidates=candidates)
    return outcomes


def _certain(old: FoldedDocuments, spot: Spot, place: Place, exact: Exact, new: FoldedDocuments) -> _Outcome:
    there = new.place(exact.found[0].spot, with_number=old.has_number(spot, place))
    changes = tuple(_changes(old.source(place), new.source(there)))
    return _Outcome("unchanged" if exact.stays else "moved", exact.rule, place, there, changes)


def _changes(old: str, new: str) -> Iterator[str]:
    """Yield what is different of two texts that are the same but for their format."""
    texts = [unicodedata.normalize("NFC", bounded_marks(text)) for text in (old, new)]
    if (texts[0] == old) != (texts[1] == new):
        yield "composed characters"
    marks, spaces, others = zip(*map(_parts, texts), strict=True)
    if spaces[0] != spaces[1]:
        yield "white space"
    if marks[0] != marks[1]:
        yield "quotation marks"
    if others[0] != others[1]:
        yield "numbers or languages of code"


def _parts(text: str) -> tuple[list[str], list[str], str]:
    """Return the quotation marks, the white space, and the text without it and with straight marks."""
    marks = [mark for mark in text if mark in QUOTES or mark == '"']
    return marks, re.findall(r"\s+", text), straight_quotes("".join(text.split()))


def _kind(passage: Undecided, candidates: Sequence[Candidate], partner: str | None) -> Kind:
    """Return what became of a passage whose place is not certain."""
    if not candidates:
        return "gone"
    best, exact = candidates[0], passage.exact
    if best.reason == SAME_TEXT:
        if exact.is_edited:
            return "edited"
        return "elsewhere" if exact.is_claimed else "ambiguous"
    is_like = best.likeness >= _MUCH_THE_SAME
    if best.reason == SOME_LINES or (best.place.doc_id == partner and (is_like or best.reason != BESIDE)):
        return "edited"
    if not is_like:
        return "gone"
    return "elsewhere" if best.reason == MOST_SIMILAR else "edited"


# What is written.


def _updated(label: _Label, outcome: _Outcome, documents: Mapping[str, Document]) -> UpdatedPassage:
    new, place = None, outcome.new
    if place is not None:
        new = passage_at(label.passage, documents[place.doc_id].text, place)
    elif outcome.kind == "unchanged":
        new = label.passage  # by the id of a document
    return UpdatedPassage(
        label.query_id,
        label.where,
        outcome.kind,
        label.passage,
        outcome.old,
        new,
        place,
        outcome.rule,
        outcome.changes,
        outcome.candidates,
    )


def _searched(
    passages: Sequence[UpdatedPassage], dataset: Dataset, documents: Sequence[Document], embedder: Embedder | None
) -> list[UpdatedPassage]:
    """Return the passages, those that are gone with what is most like them, or else with the best hit of a search."""
    gone = [each for each in passages if each.kind == "gone" and not each.candidates and each.old.text is not None]
    # For those that had a place it was looked for before; of a longer text only the beginning would be compared
    unplaced = [each for each in gone if each.old_place is None and len(each.old.text or "") <= LONGEST]
    texts = [each.old.text or "" for each in unplaced]
    found = {
        id(each): replace(each, kind="elsewhere", candidates=(_candidate(like),))
        for each, like in zip(unplaced, nearest_passages(texts, documents), strict=True)
        if like is not None and like.likeness >= _MUCH_THE_SAME
    }
    gone = [each for each in gone if id(each) not in found]
    questions = [(dataset.query(each.query_id).text, each.old.text or "") for each in gone]
    hits = search_for(questions, documents, embedder)
    found |= {id(each): replace(each, candidates=best) for each, best in zip(gone, hits, strict=True)}
    return [found.get(id(each), each) for each in passages]


def _candidate(like: SimilarPassage) -> Candidate:
    reason = SAME_TEXT if like.likeness == 1.0 else MOST_SIMILAR
    return Candidate(Place(like.doc_id, like.start, like.end), like.text, like.likeness, reason)
