"""Who labelled a dataset: people, and which models."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raglift.printable import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from raglift.records.labels import Query

__all__ = ["PEOPLE", "LabelSources"]

_PEOPLE = "people"
_LONGEST = 120
"""The longest name of a model that is shown whole."""


@dataclass(frozen=True)
class LabelSources:
    """How many labels and queries are whose: of people (None), as far as is known, and of models by name.

    A model is named with the prompt that it was given, as `openai:gpt-4o-mini (relevance@3f9a1c07)`: told something
    else, it is another judge. Its text says so in a sentence for the tables that rest on the labels, and is empty where
    no model had a part.
    """

    passages: Mapping[str | None, int] = field(default_factory=dict)
    """Judged passages, those judged irrelevant among them; most first."""
    queries: Mapping[str | None, int] = field(default_factory=dict)
    """Who wrote the questions; most first."""

    @classmethod
    def of(cls, queries: Iterable[Query]) -> LabelSources:
        """Return who labelled some queries, and who wrote them."""
        passages: Counter[str | None] = Counter()
        written: Counter[str | None] = Counter()
        for query in queries:
            written[query.annotator.name if query.annotator else None] += 1
            for fact in query.facts:
                passages.update(one.annotator.name if one.annotator else None for one in fact.passages)
            passages.update(one.annotator.name if one.annotator else None for one in query.judged_irrelevant)
        return cls(dict(passages.most_common()), dict(written.most_common()))

    @property
    def by_model(self) -> bool:
        """Whether a model judged any passage, or wrote any query."""
        return any(name is not None for name in (*self.passages, *self.queries))

    @property
    def is_mixed(self) -> bool:
        """Whether some passages were judged by a model, and others by people or by another model."""
        return len(self.passages) > 1

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Return both counts as JSON has them, people as `people`."""
        told = {"passages": self.passages, "queries": self.queries}
        return {what: {name or _PEOPLE: count for name, count in counts.items()} for what, counts in told.items()}

    def __str__(self) -> str:
        parts = [_told("labels", self.passages, "passage", "judged"), _told("queries", self.queries, "", "written")]
        return "; ".join(filter(None, parts))


PEOPLE = LabelSources()
"""No model had a part."""


def _told(what: str, counts: Mapping[str | None, int], noun: str, verb: str) -> str:
    """Return `labels: 120 passages judged by a model, 30 by people`; nothing where people did it all."""
    if not any(name is not None for name in counts):
        return ""
    parts = [f"{count:,} by {_named(name)}" for name, count in counts.items()]
    first = next(iter(counts.values()))
    named = " ".join(filter(None, [noun + "s" * (first != 1) if noun else "", verb]))
    return f"{what}: {', '.join([parts[0].replace(' by ', f' {named} by ', 1), *parts[1:]])}"


def _named(name: str | None) -> str:
    """Return a judge's name on one line, of bounded length."""
    return _PEOPLE if name is None else excerpt(name, _LONGEST)
