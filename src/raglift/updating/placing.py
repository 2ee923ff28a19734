"""A passage of the labels at its new place."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from raglift.text.normalization import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.auditing.records import Place
    from raglift.types.labels import Passage, Query
    from raglift.updating.records import UpdatedPassage


def passage_at(old: Passage, document: str, place: Place) -> Passage:
    """Return a passage as it is at its new place: in the form, and with the grade and annotator, that it had.

    A chunk id becomes a span.
    """
    text = document[place.start : place.end]
    if old.start is not None or old.chunk_id is not None:
        return replace(old, chunk_id=None, text=text, doc_id=place.doc_id, start=place.start, end=place.end)
    same = old.text is not None and normalize(old.text) == normalize(text)
    return replace(old, text=old.text if same else text, doc_id=None if old.doc_id is None else place.doc_id)


def by_fact(query: Query, passages: Sequence[UpdatedPassage]) -> list[list[UpdatedPassage]]:
    """Return what became of the passages of each fact."""
    following = iter(passages)
    return [list(islice(following, len(fact.passages))) for fact in query.facts]
