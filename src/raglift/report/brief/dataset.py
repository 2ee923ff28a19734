"""A dataset in short: how much there is of what, and one of its queries."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from raglift.report.document import Document, Section, Table
from raglift.report.format import passage_text
from raglift.report.page.cells import row_of

if TYPE_CHECKING:
    from raglift.records import Dataset, Query

__all__ = ["dataset_brief"]

_TAGS = 20
_FACTS = 5


def dataset_brief(dataset: Dataset) -> Document:
    """Return what a dataset consists of, its tags, and an example."""
    labelled = [query for query in dataset if query.is_labelled]
    facts = [fact for query in labelled for fact in query.facts]
    counts = {
        "queries": len(dataset),
        "labelled": len(labelled),
        "marked unanswerable": sum(not query.answerable for query in dataset),
        "facts": len(facts),
        "passages": sum(len(fact.passages) for fact in facts),
        "documents": len(dataset.documents),
        "characters": sum(len(document.text) for document in dataset.documents),
    }
    tags = Counter(tag for query in dataset for tag in query.tags)
    table = Table("How much there is", tuple(counts), (row_of(f"{count:,}" for count in counts.values()),), words=())
    sections = [_tags(tags)] if tags else []
    sections += [_example(labelled[0])] if labelled else []
    notes = () if dataset.documents else ("The documents are not known: labels only.",)
    labels = str(dataset.label_sources)
    return Document(dataset.name, "", table, (), notes=notes, sections=tuple(sections), labels=labels)


def _tags(tags: Counter[str]) -> Section:
    rows = tuple(row_of((tag, f"{count:,}")) for tag, count in tags.most_common(_TAGS))
    more = len(tags) - len(rows)
    said = (f"and {more:,} more",) if more else ()
    return Section(
        f"Tags: {len(tags):,}",
        said,
        (Table("Queries of each tag", ("tag", "queries"), rows, rests_on_labels=False),),
        folded=True,
    )


def _example(query: Query) -> Section:
    """Return one query with the passages of its first facts."""
    rows = [
        row_of((str(number) if not place else "or", passage_text(passage)))
        for number, fact in enumerate(query.facts[:_FACTS], start=1)
        for place, passage in enumerate(fact.passages[:_FACTS])
    ]
    table = Table("What its answer needs", ("fact", "passage"), tuple(rows), words=(0, 1))
    return Section("For example", (f"{query.id}: {query.text}",), (table,))
