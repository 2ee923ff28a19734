"""Updated labels as a file of questions, and the history of the labels beside it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from raglift.auditing.relabelling import Quotes
from raglift.datasets.jsonl import placed_value, write_queries
from raglift.errors import ConfigurationError, DatasetError
from raglift.running.spec import documents_hash, labels_hash
from raglift.utilities.limits import is_there, resolved, user_path
from raglift.utilities.replacing import NOTHING_WRITTEN, replacing_file
from raglift.utilities.strict_files import parse_text, read_text
from raglift.utilities.validation import Location, shown

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from raglift.auditing.records import Place
    from raglift.types.documents import Document
    from raglift.types.labels import Passage, Query
    from raglift.updating.records import LabelUpdate, UpdatedPassage


def history_path(labels: Path) -> Path:
    """Return where the history of a file of labels is: that of `labels.jsonl` is `labels.history.json`."""
    return labels.with_suffix(".history.json")


def write_update(
    update: LabelUpdate, path: str | os.PathLike[str], *, labels: str | os.PathLike[str] | None, overwrite: bool
) -> Path:
    """Write updated labels and their history; see `LabelUpdate.write`."""
    target, old = user_path(path), None if labels is None else user_path(labels)
    check_target(target, old, overwrite=overwrite)
    before = [] if old is None else _read_history(history_path(old))
    history = {"updates": [*before, _step(update)]}
    # The history takes its place when the block ends: only if the questions were written
    with replacing_file(history_path(target), overwrite=overwrite) as file:
        json.dump(history, file, ensure_ascii=False, indent=1)
        file.write("\n")
        value = partial(_value, _Forms(update))
        return write_queries(update.updated, target, update.documents, passage_value=value, overwrite=overwrite)


def check_target(target: Path, old: Path | None, *, overwrite: bool) -> None:
    """Raise unless labels and their history can be written there."""
    if old is not None and resolved(target) == resolved(old):
        raise ConfigurationError(f"{target}: found the file of the old labels; expected a new one: choose another name")
    for path in (target, history_path(target)):
        if is_there(path) and not overwrite:
            raise ConfigurationError(
                f"{path}: found a file that is already there; expected a new one, or overwrite=True (--overwrite)"
            )


def _read_history(path: Path) -> list[Any]:
    """Return the updates that old labels went through; none if there is no history."""
    if not is_there(path):
        return []
    location = Location(path.name, [])
    text = read_text(path, location)
    found = None if text is None else parse_text(text, location)
    updates = None if found is None else found.get("updates")
    if not isinstance(updates, list) and not location.faults:
        (location / "updates").fault(
            shown(updates), "the list of updates that raglift wrote: repair or remove the file"
        )
    if location.faults or not isinstance(updates, list):
        raise DatasetError(str(path), location.faults, NOTHING_WRITTEN)
    return updates


def _step(update: LabelUpdate) -> dict[str, Any]:
    """Return what a history says of one update."""
    from raglift import __version__

    return {
        "from": _hashes(update.dataset.queries, update.dataset.documents),
        "to": _hashes(update.updated.queries, update.documents),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "raglift": __version__,
        "counts": update.counts,
        "passages": [proof_of(each) for each in update.passages],
    }


def _hashes(queries: Sequence[Query], documents: Sequence[Document]) -> dict[str, str]:
    return {"labels": labels_hash(queries), "documents": documents_hash(documents)}


def proof_of(passage: UpdatedPassage) -> dict[str, Any]:
    """Return what became of a passage, and why, as JSON has it."""
    return {
        "query": passage.query_id,
        "where": passage.where,
        "kind": passage.kind,
        "rule": passage.rule,
        "changes": list(passage.changes),
        "old": _passage_json(passage.old, passage.old_place),
        "new": None if passage.new is None else _passage_json(passage.new, passage.new_place),
        "decided": passage.decided,
    }


def _passage_json(passage: Passage, place: Place | None) -> dict[str, Any]:
    label = {"text": passage.text} if passage.chunk_id is None else {"chunk": passage.chunk_id}
    return {**label, **(place_json(place) if place is not None else {})}


def place_json(place: Place) -> dict[str, Any]:
    """Return a place as JSON has it."""
    return {"doc": place.doc_id, "start": place.start, "end": place.end}


# The form of each label.


class _Forms:
    """Which passages are written as whole documents or as pages, and the quotes that lead to all others."""

    def __init__(self, update: LabelUpdate) -> None:
        old = update.dataset.document_by_id
        self.documents = {document.id: document for document in update.documents}
        self.quotes = Quotes(update.documents)
        both = [(each.old, each.new) for each in update.passages if each.new is not None]
        self.whole = {new for before, new in both if _is_whole(before, old) and _is_whole(new, self.documents)}
        self.pages = {new for before, new in both if _page_of(before, old) and _page_of(new, self.documents)}


def _value(forms: _Forms, passage: Passage, *, default_grade: int) -> str | dict[str, Any]:
    """Return a passage as JSON, in the form that the label had as far as that is possible."""
    value = placed_value(passage, default_grade=default_grade)
    if passage.doc_id is None or passage.start is None or passage.end is None or isinstance(value, str):
        return value
    place: dict[str, Any] | None = None
    if passage in forms.whole:
        place = {"doc": passage.doc_id}
    elif passage in forms.pages:
        place = {"doc": passage.doc_id, "page": _page_of(passage, forms.documents)}
    elif (found := forms.quotes.find(passage.doc_id, passage.start, passage.end)) is not None:
        place = {"doc": passage.doc_id, "from": found[0], "to": found[1]}
    return value if place is None else place | {name: value[name] for name in ("grade", "annotator") if name in value}


def _is_whole(passage: Passage, documents: Mapping[str, Document]) -> bool:
    document = documents.get(passage.doc_id or "")
    return document is not None and (passage.start, passage.end) == (0, len(document.text))


def _page_of(passage: Passage, documents: Mapping[str, Document]) -> int | None:
    """Return which page a passage is, counted from 1; None if it is none, or the only one of its document."""
    document = documents.get(passage.doc_id or "")
    if document is None or len(document.pages) == 1 or (passage.start, passage.end) not in document.pages:
        return None
    return document.pages.index((passage.start, passage.end)) + 1
