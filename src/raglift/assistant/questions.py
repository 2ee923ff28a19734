"""Which question of a labelled set somebody means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.text import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Query

__all__ = ["Questions"]

_ALMOST_THE_SAME = 85.0


class Questions:
    """The questions of a labelled set, to be found by their id or their text.

    Texts are compared in normal form: letter case, white space, the forms of quotes and dashes, and a question mark at
    the end do not count.

    Args:
        queries: the labelled set.
    """

    def __init__(self, queries: Sequence[Query]) -> None:
        self._by_id: dict[str, list[Query]] = {}
        self._by_text: dict[str, list[Query]] = {}
        for query in queries:
            self._by_id.setdefault(_form(query.id), []).append(query)
            self._by_text.setdefault(_form(query.text), []).append(query)

    def named(self, asked: str) -> tuple[Query, ...]:
        """Return the questions whose id is the given text, else those whose text is."""
        form = _form(asked)
        return tuple(self._by_id.get(form) or self._by_text.get(form) or ())

    def containing(self, asked: str) -> tuple[Query, ...]:
        """Return the questions that have the given words somewhere in their text."""
        form = _form(asked)
        return tuple(query for text, queries in self._by_text.items() if form and form in text for query in queries)

    def nearest(self, asked: str) -> Query | None:
        """Return the question that reads almost the same, if there is one."""
        from rapidfuzz import fuzz, process

        found = process.extractOne(_form(asked), self._by_text.keys(), scorer=fuzz.ratio, score_cutoff=_ALMOST_THE_SAME)
        return None if found is None else self._by_text[found[0]][0]


def _form(text: str) -> str:
    form = normalize(text, unicode_folding=True)
    return form.rstrip(" ?") or form
