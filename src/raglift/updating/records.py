"""What became of the labels of a dataset in another version of its documents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from raglift.rendering.presenting import Presentable
from raglift.text.normalization import normalize
from raglift.types.dataset import Dataset
from raglift.types.labels import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from raglift.auditing.records import Place
    from raglift.types.documents import Document
    from raglift.types.labels import Passage, Query

Kind = Literal["unchanged", "moved", "edited", "elsewhere", "ambiguous", "gone"]
"""What can become of a passage."""

KINDS: dict[Kind, str] = {
    "unchanged": "the same text in the same document, next to the same text",
    "moved": "the same text, but for its format, at another place, or in another document",
    "edited": "its place is found, in other words",
    "elsewhere": "it is gone from its place; another passage says the same, or much the same",
    "ambiguous": "its text is there, but which place is its own is not certain",
    "gone": "nothing in the documents is like it",
}
"""Each kind, and what it means."""
CERTAIN: tuple[Kind, ...] = ("unchanged", "moved")
"""The kinds that are written without a person's decision."""


@dataclass(frozen=True)
class Candidate:
    """A place where a passage may be now."""

    place: Place
    """Where."""
    text: str
    """The text there."""
    likeness: float
    """From 0 to 1: rapidfuzz's normalized indel similarity of the two texts."""
    reason: str
    """Why it is proposed, in a few words."""


@dataclass(frozen=True)
class UpdatedPassage:
    """What became of one passage of the labels."""

    query_id: str
    """Whose label it is."""
    where: str
    """Which one: `relevant[0]`, `relevant[1][0]` for an alternative, or `judged_irrelevant[0]`."""
    kind: Kind
    """What became of it."""
    old: Passage
    """As it was."""
    old_place: Place | None
    """Where it was; None for a text that occurred nowhere, and for a chunk id."""
    new: Passage | None = None
    """As it is written now; None if that is not certain."""
    new_place: Place | None = None
    """Where it is now; None if that is not certain."""
    rule: str = ""
    """How its kind was decided, in a sentence."""
    changes: tuple[str, ...] = ()
    """What else is different of a passage whose words are the same: `white space`, `quotation marks`, `numbers`."""
    candidates: tuple[Candidate, ...] = ()
    """Where it may be now if that is not certain, best first."""
    decided: bool = False
    """Whether a person chose the new place."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelUpdate(Presentable):
    """What became of the labels of a dataset in another version of its documents."""

    dataset: Dataset
    """The labels as they were, with the documents as they were."""
    documents: tuple[Document, ...]
    """The documents as they are now."""
    passages: tuple[UpdatedPassage, ...]
    """What became of each passage, by question; those judged irrelevant after those of the facts."""
    notes: tuple[str, ...] = ()
    """What else there is to know."""

    @property
    def counts(self) -> dict[Kind, int]:
        """How many passages of each kind there are."""
        found = Counter(passage.kind for passage in self.passages)
        return {kind: found[kind] for kind in KINDS}

    @property
    def undecided(self) -> tuple[UpdatedPassage, ...]:
        """The passages of facts whose new place is not certain, and that nobody has decided."""
        return tuple(
            each
            for each in self.passages
            if each.new is None and not each.decided and each.where.startswith("relevant")
        )

    @cached_property
    def updated(self) -> Dataset:
        """The questions, of whose facts each has a passage with a certain place, with the documents as they are now.

        A fact keeps those of its passages whose places are certain.
        """
        by_query: dict[str, list[UpdatedPassage]] = {}
        for each in self.passages:
            by_query.setdefault(each.query_id, []).append(each)
        made = (_updated_query(query, by_query.get(query.id, [])) for query in self.dataset)
        queries = tuple(query for query in made if query is not None)
        return Dataset(queries, self.documents, self.dataset.name)

    @cached_property
    def waiting(self) -> tuple[str, ...]:
        """The ids of the questions that are not in `updated`: a fact of theirs has no passage with a certain place."""
        kept = self.updated.query_by_id
        return tuple(query.id for query in self.dataset if query.id not in kept)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a passage.

        Columns: `query_id`, `where`, `kind`, `rule`, `changes`, `old_text`, `old_doc`, `old_start`, `old_end`,
        `new_text`, `new_doc`, `new_start`, `new_end` (of the new place; if it is not certain, of the best candidate),
        `likeness` (of the candidate), `decided`.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for each in self.passages:
            best = each.candidates[0] if each.new is None and each.candidates else None
            place = best.place if best is not None else each.new_place
            rows.append(
                {
                    "query_id": each.query_id,
                    "where": each.where,
                    "kind": each.kind,
                    "rule": each.rule,
                    "changes": ", ".join(each.changes),
                    "old_text": each.old.text,
                    **_columns("old", each.old_place),
                    "new_text": best.text if best is not None else each.new.text if each.new is not None else None,
                    **_columns("new", place),
                    "likeness": best.likeness if best is not None else None,
                    "decided": each.decided,
                }
            )
        frame = pd.DataFrame(rows)
        integers = dict.fromkeys(("old_start", "old_end", "new_start", "new_end"), "Int64")
        return frame.astype({**integers, "likeness": "float64"}) if rows else frame


def passage_at(old: Passage, document: str, place: Place) -> Passage:
    """Return a passage as it is at its new place: in the form, and with the grade and annotator, that it had.

    Args:
        old: the passage.
        document: the text of the new document.
        place: where in it.
    """
    text = document[place.start : place.end]
    if old.start is not None:
        return replace(old, text=text, doc_id=place.doc_id, start=place.start, end=place.end)
    same = old.text is not None and normalize(old.text) == normalize(text)
    return replace(old, text=old.text if same else text, doc_id=None if old.doc_id is None else place.doc_id)


def _columns(which: str, place: Place | None) -> Mapping[str, Any]:
    values = (place.doc_id, place.start, place.end) if place is not None else (None, None, None)
    return dict(zip((f"{which}_doc", f"{which}_start", f"{which}_end"), values, strict=True))


def _updated_query(query: Query, passages: list[UpdatedPassage]) -> Query | None:
    """Return a question with the labels as they are now; None if a fact has no passage with a certain place."""
    kept = iter(passages)
    facts = []
    for fact in query.facts:
        found = [next(kept).new for _ in fact.passages]
        alive = tuple(dict.fromkeys(passage for passage in found if passage is not None))
        if not alive:
            return None
        facts.append(Fact(alive))
    irrelevant = tuple(each.new for each in kept if each.new is not None)
    return replace(query, facts=tuple(facts), judged_irrelevant=irrelevant)
