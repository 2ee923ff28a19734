"""What became of the labels of a dataset in another version of its documents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from raglift.rendering.presenting import Presentable
from raglift.types.dataset import Dataset
from raglift.types.labels import Fact
from raglift.updating.placing import by_fact

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from raglift.auditing.records import Place
    from raglift.results.evaluation import Evaluation
    from raglift.types.documents import Document
    from raglift.types.labels import Passage, Query
    from raglift.types.metric import Metric
    from raglift.updating.attribution import MetricChange

Kind = Literal["unchanged", "moved", "edited", "elsewhere", "ambiguous", "gone"]
"""What can become of a passage."""

KINDS: dict[Kind, str] = {
    "unchanged": "the same text in the same document, next to the same text",
    "moved": "the same text, but for its format, at another place, or in another document",
    "edited": "its place is found, in other words",
    "elsewhere": "it is not at its place; another passage says the same, or much the same",
    "ambiguous": "its text is there, but which place is its own is not certain",
    "gone": "no place in the documents has its text, or much the same",
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
    """What else is different of a passage whose words are the same: `white space`, `quotation marks`, …"""
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

        A fact keeps those of its passages whose places are certain, or were decided. A fact whose passages were all
        dropped by decision is left out, and so is a question that has no other.
        """
        made = (_updated_query(query, self.by_query[query.id]) for query in self.dataset)
        queries = tuple(query for query in made if query is not None)
        return Dataset(queries, self.documents, self.dataset.name)

    @cached_property
    def waiting(self) -> tuple[str, ...]:
        """The ids of the questions that wait for a decision: no passage of a fact of theirs has a certain place."""
        return tuple(query.id for query in self.dataset if any(map(_waits, by_fact(query, self.by_query[query.id]))))

    @cached_property
    def by_query(self) -> Mapping[str, Sequence[UpdatedPassage]]:
        """What became of the passages of each question."""
        found: dict[str, list[UpdatedPassage]] = {query.id: [] for query in self.dataset}
        for each in self.passages:
            found[each.query_id].append(each)
        return found

    def decide(self, decisions: str | os.PathLike[str] | Iterable[Mapping[str, Any]]) -> LabelUpdate:
        """Return the update with a person's decisions.

        Args:
            decisions: the file that the page of `raglift labels update` saves, or what is on its lines, as
                `{"query": "q1", "where": "relevant[0]", "old": "3f9a1c07aa10", "choose": "drop"}`. `old` is the
                beginning of the SHA-256 hash of the old text, 12 digits. `choose` is "drop", or a place and the text
                there: `{"doc", "start", "end", "text"}`.

        Raises:
            DatasetError: a decision about no passage of these labels, about another text than the label has, or for
                a place with another text; every fault is listed.
        """
        from raglift.updating.deciding import apply_decisions

        return apply_decisions(self, decisions)

    def write(
        self, path: str | os.PathLike[str], *, labels: str | os.PathLike[str] | None = None, overwrite: bool = False
    ) -> Path:
        """Write the updated questions as JSON Lines, and beside them a history: how each label came to its place.

        Each label keeps its form: a literal text, a whole document, or a page. Any other span becomes a quote anchor,
        or, if no quotes lead to it, offsets with their text. The history of `labels.jsonl` is `labels.history.json`.

        Args:
            path: the new file.
            labels: the file that the old labels were read from; what its history says comes first in the new one.
            overwrite: whether a file that is there may be replaced; that of the old labels never is.

        Returns:
            The path.

        Raises:
            ConfigurationError: the file is there, or it is that of the old labels.
            DatasetError: no question can be written, the old history cannot be read, or the files cannot be written;
                nothing was written.
        """
        from raglift.updating.writing import write_update

        return write_update(self, path, labels=labels, overwrite=overwrite)

    def change(self, before: Evaluation, after: Evaluation, metric: Metric | str | None = None) -> MetricChange:
        """Return how much of a metric's change is labels that moved, labels that died, and the system.

        Args:
            before: a run over the old documents, scored by the old labels.
            after: a run over the new documents, whatever labels it was scored by.
            metric: one that `before` was scored by; by default what decides there.

        Raises:
            ConfigurationError: see `attribute_change`.
        """
        from raglift.updating.attribution import attribute_change

        return attribute_change(self, before, after, metric)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a passage.

        Columns: `query_id`, `where`, `kind`, `rule`, `changes`, `old_text`, `old_doc`, `old_start`, `old_end`,
        `new_text`, `new_doc`, `new_start`, `new_end` (of the new place; if it is not certain, of the best candidate),
        `likeness` (of the candidate), `decided`.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for each in self.passages:
            best = None if each.new is not None or each.decided else next(iter(each.candidates), None)
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


def _columns(which: str, place: Place | None) -> Mapping[str, Any]:
    values = (place.doc_id, place.start, place.end) if place is not None else (None, None, None)
    return dict(zip((f"{which}_doc", f"{which}_start", f"{which}_end"), values, strict=True))


def _waits(fact: list[UpdatedPassage]) -> bool:
    """Whether no passage of a fact has a certain place, and somebody has to decide about one."""
    return all(each.new is None for each in fact) and not all(each.decided for each in fact)


def _updated_query(query: Query, passages: Sequence[UpdatedPassage]) -> Query | None:
    """Return a question with the labels as they are now; None if a fact waits for a decision, or none is left."""
    facts = by_fact(query, passages)
    places = [dict.fromkeys(each.new for each in fact if each.new is not None) for fact in facts]
    certain = tuple(Fact(tuple(found)) for found in places if found)
    if any(map(_waits, facts)) or (facts and not certain):
        return None
    judged = passages[sum(map(len, facts)) :]
    return replace(query, facts=certain, judged_irrelevant=tuple(each.new for each in judged if each.new is not None))
