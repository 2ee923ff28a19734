"""What is shown of updated labels: what became of each, and the decisions that are open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from raglift.rendering.document import Cell, Column, Detail, Document, Entry, Section, table_from
from raglift.rendering.presenting import view_of, whole
from raglift.report.format import percent_text
from raglift.updating.records import CERTAIN, KINDS, LabelUpdate
from raglift.utilities.display import counted, excerpt
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from raglift.auditing.records import Place
    from raglift.types.documents import Document as Source
    from raglift.types.labels import Passage
    from raglift.updating.records import Kind, UpdatedPassage


_SHOWN = 20
"""As many labels of a kind are listed."""
_AROUND = 120
"""So many characters before a passage show where it is, and after it."""
_LONGEST = 400
"""The longest text in a list; the page shows more."""


def update_view(update: LabelUpdate, *, most: int = _SHOWN) -> Document:
    """Return what is shown of updated labels: at most so many of each kind."""
    dataset, total = update.dataset, len(update.passages)
    documents = f"{counted(len(dataset.documents), 'document')}, now {len(update.documents):,}"
    return Document(
        title=f"{dataset.name}: {counted(len(dataset), 'question')}, {counted(total, 'label')}, {documents}",
        lead=lead_of(update),
        headline=table_from(_COLUMNS, list(update.counts.items()), "Labels by what became of them"),
        measured=(),
        notes=tuple(_notes(update)),
        sections=(*_undecided(update, most), *settled_sections(update, most)),
        labels=str(dataset.label_sources),
        printed=Detail.DETAILS,
    )


def lead_of(update: LabelUpdate) -> str:
    """Return in two sentences how many labels changed, and how many questions can be used."""
    counts, total = update.counts, len(update.passages)
    changed = [f"{count:,} {kind}" for kind, count in counts.items() if count and kind != "unchanged"]
    if changed:
        first, _, kind = changed[0].partition(" ")
        changed[0] = f"{first} of {counted(total, 'label')} {kind}"
        labels = f"{', '.join(changed)}; {counts['unchanged']:,} unchanged."
    else:
        labels = "No label changed." if total else "There are no labels."
    questions, waiting = len(update.dataset), len(update.waiting)
    wait = f"; {waiting:,} {'waits' if waiting == 1 else 'wait'} for a decision" if waiting else ""
    return f"{labels} {len(update.updated):,} of {counted(questions, 'question')} can be written{wait}."


def _notes(update: LabelUpdate) -> Iterator[str]:
    waiting = set(update.waiting)
    beside = sum(each.query_id not in waiting for each in update.undecided)
    if beside:
        yield f"{counted(beside, 'label')} without a certain place left out: another label of the same fact has one"
    irrelevant = sum(
        each.new is None and not each.decided and not each.where.startswith("relevant") for each in update.passages
    )
    if irrelevant:
        passages = f"{counted(irrelevant, 'passage')} judged irrelevant"
        yield f"{passages} without a certain place left out (listed by --json and to_frame())"
    dropped = len(update.dataset) - len(update.updated) - len(waiting)
    if dropped:
        yield f"{counted(dropped, 'question')} left out: all of their labels were dropped by decision"


_Row = tuple["Kind", int]


def _count(row: _Row) -> Cell:
    return Cell(f"{row[1]:,}", "worse" if row[1] and row[0] not in CERTAIN else "", value=row[1])


_COLUMNS: tuple[Column[_Row], ...] = (
    Column("kind", lambda row: row[0], words=True),
    Column("labels", _count),
    Column("what it means", lambda row: KINDS[row[0]], words=True),
)


# The labels, one by one.


class Places:
    """Says in words where passages are, in one version of the documents."""

    def __init__(self, documents: Iterable[Source]) -> None:
        self._texts = {document.id: document.text for document in documents}

    def describe(self, place: Place | None) -> str:
        """Return a place with its line; of none, that it is not known."""
        if place is None:
            return "at no known place"
        line = self._texts.get(place.doc_id, "").count("\n", 0, place.start) + 1
        return f"{quoted(place.doc_id)}, line {line:,}, characters {place.start} to {place.end}"

    def around(self, place: Place | None) -> tuple[str, str]:
        """Return some of the text before a place, and after it."""
        if place is None:
            return "", ""
        text = self._texts.get(place.doc_id, "")
        before, after = text[: place.start], text[place.end :]
        return (
            f"…{before[-_AROUND:]}" if len(before) > _AROUND else before,
            f"{after[:_AROUND]}…" if len(after) > _AROUND else after,
        )


def named(passage: UpdatedPassage) -> str:
    """Return how a label is named."""
    return f"{quoted(passage.query_id)} {passage.where}"


def text_of(passage: Passage) -> str:
    """Return the text of a label, or the chunk id that it names."""
    return f"the chunk {quoted(passage.chunk_id)}" if passage.text is None else passage.text


def _undecided(update: LabelUpdate, most: int) -> Iterator[Section]:
    before, after = Places(update.dataset.documents), Places(update.documents)

    def entry(passage: UpdatedPassage) -> Entry:
        below = [f"was: {before.describe(passage.old_place)}: {_short(text_of(passage.old))}"]
        for each in passage.candidates:
            likeness = percent_text(each.likeness, 0)
            below.append(f"now? {likeness} alike, {after.describe(each.place)}: {_short(each.text)} ({each.reason})")
        return Entry(f"{named(passage)}: {passage.rule or KINDS[passage.kind]}", tuple(map(Entry, below)))

    for kind in KINDS:
        found = [each for each in update.undecided if each.kind == kind]
        if found:
            heading = f"To decide: {kind} ({len(found):,})"
            yield Section(heading, (f"{KINDS[kind].capitalize()}.",), entries=_listed(found, entry, most))


def settled_sections(update: LabelUpdate, most: int) -> Iterator[Section]:
    """Yield what was decided, and which labels moved: at most so many of each."""
    before, after = Places(update.dataset.documents), Places(update.documents)

    def entry(passage: UpdatedPassage) -> Entry:
        new = after.describe(passage.new_place) if passage.new is not None else "dropped"
        why = [] if passage.decided else filter(None, [passage.rule, ", ".join(passage.changes)])
        about = f" ({'; '.join(why)})" if why else ""
        return Entry(f"{named(passage)}: {before.describe(passage.old_place)} → {new}{about}")

    decided = [each for each in update.passages if each.decided]
    moved = [each for each in update.passages if each.kind == "moved" and not each.decided]
    for heading, found in (("Decided", decided), ("Moved", moved)):
        if found:
            yield Section(f"{heading} ({len(found):,})", entries=_listed(found, entry, most), detail=Detail.DETAILS)


def _listed(found: Sequence[UpdatedPassage], entry: Callable[[UpdatedPassage], Entry], most: int) -> tuple[Entry, ...]:
    left = len(found) - most
    more = (Entry(f"… and {left:,} more (all of them with --json, or in to_frame())"),) if left > 0 else ()
    return (*map(entry, found[:most]), *more)


def _short(text: str) -> str:
    return json.dumps(excerpt(text, _LONGEST), ensure_ascii=False)


view_of.register(LabelUpdate, whole(update_view))
