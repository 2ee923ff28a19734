"""What came of writing questions as users get it: kept questions as queries, and queries as a file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.auditing.relabelling import Quotes
from raglift.dataset import passage_value, write_dataset, write_queries
from raglift.judging.generating.brief import generation_brief
from raglift.judging.generating.records import SYNTHETIC, GenerationRecord
from raglift.judging.generating.terminal import generation_text
from raglift.judging.prompts import load_prompt
from raglift.paths import user_path
from raglift.records import Annotator, Fact, Passage, Query
from raglift.report.presenting import summary_of, text_of
from raglift.results import Presentable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from raglift.judging.generating.corpus import Passages
    from raglift.judging.generating.drafts import Draft
    from raglift.records import Document

__all__ = ["Generation", "queries_of"]

_LINES = (".jsonl", ".ndjson")

text_of.register(GenerationRecord, generation_text)
summary_of.register(GenerationRecord, generation_brief)


@dataclass(frozen=True, eq=False, repr=False)
class Generation(Presentable, GenerationRecord):
    """Questions that a model wrote about a corpus, and what was thrown away on the way."""

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
        """Write the queries to a `.jsonl` file, or queries and documents to a new folder.

        In a file, labels are quote anchors, `{"doc", "from", "to"}`, so that a person can read them, and spans where no
        anchor leads to the place. A file that is there is replaced, unless `overwrite` is false;
        a folder must be empty.

        Raises:
            DatasetError: no question was kept, or it cannot be written.
        """
        target = user_path(path)
        dataset = self.dataset
        if target.suffix.lower() in _LINES:
            anchored = _anchored(dataset.documents)
            return write_queries(
                dataset.queries, target, dataset.documents, passage_value=anchored, overwrite=overwrite
            )
        return write_dataset(dataset, target)


def queries_of(drafts: Sequence[Draft], passages: Passages, model: str, date: str) -> tuple[Query, ...]:
    """Return the queries of the drafts that are kept.

    Args:
        drafts: what is kept.
        passages: the corpus, which tells how hard they are found.
        model: who wrote them.
        date: the day of it.
    """
    return tuple(_query(draft, passages, model, date) for draft in drafts)


def _query(draft: Draft, passages: Passages, model: str, date: str) -> Query:
    style = draft.task.style
    annotator = Annotator(model, load_prompt(style.prompt).version, date)
    facts = tuple(
        Fact((Passage(label.text, label.doc_id, label.start, label.end, annotator=annotator),))
        for label in draft.labels
    )
    difficulty = (passages.difficulty(draft.text, facts),) if facts else ()
    # The words decide the id, so that files of several seeds can be put together
    digest = hashlib.sha256(f"{style.name}\x00{draft.text}".encode()).hexdigest()[:8]
    return Query(
        f"{style.name}-{digest}",
        draft.text,
        facts,
        (SYNTHETIC, style.name, *difficulty),
        answerable=bool(facts),
        annotator=annotator,
    )


def _anchored(documents: Sequence[Document]) -> Callable[..., Any]:
    """Return what writes a span as the words at its ends, where these lead back to it."""
    quotes = Quotes(documents)

    def value_of(passage: Passage, *, default_grade: int = 1) -> Any:
        value = passage_value(passage, default_grade=default_grade)
        if passage.doc_id is None or passage.start is None or passage.end is None or not isinstance(value, dict):
            return value
        found = quotes.find(passage.doc_id, passage.start, passage.end)
        if found is None:
            return value
        rest = {name: field for name, field in value.items() if name not in ("doc", "start", "end")}
        return {"doc": passage.doc_id, "from": found[0], "to": found[1], **rest}

    return value_of
