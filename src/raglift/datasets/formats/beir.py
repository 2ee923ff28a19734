"""The three tables of BEIR and MTEB, corpus, queries and qrels: their rows as queries and documents, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.datasets.documents import write_document_lines
from raglift.datasets.formats.judged_documents import Judgments, Topic, judged_documents
from raglift.datasets.formats.mapping import grade_of
from raglift.datasets.formats.presets import TABLE_COLUMNS
from raglift.types.parsing import read_id, read_string
from raglift.utilities.validation import Location, quoted

if TYPE_CHECKING:
    from raglift.datasets.formats.rows import Row
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Document
    from raglift.types.labels import Query


CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
_HEADER = "query-id\tcorpus-id\tscore"


def judged_queries(
    queries: Iterable[Row],
    judged: Judgments,
    others: Iterable[Row],
    documents: Iterable[Document],
    *,
    topics_name: str,
    documents_name: str,
) -> tuple[Query, ...]:
    """Return the queries of a table that are judged, or judged nowhere."""
    elsewhere = {str(row.values.get(TABLE_COLUMNS["qrels"]["query"][0])) for row in others}
    topics = []
    for row in queries:
        named, content = _field(row, "queries", "id"), _field(row, "queries", "text")
        query_id = None if named is None else read_id(*named)
        text = None if content is None else read_string(*content)
        if query_id and text and (query_id in judged or query_id not in elsewhere):
            topics.append(Topic(row.location, query_id, text, read_tags(row.values.get("metadata"))))
    by_id = {document.id: document for document in documents}
    return judged.to_queries(topics, by_id, topics_name=topics_name, documents_name=documents_name)


def read_judgments(rows: Iterable[Row]) -> Judgments:
    """Return the judgments of a table of qrels."""
    judged = Judgments()
    columns = [names[0] for names in TABLE_COLUMNS["qrels"].values()]
    for row in rows:
        if row.header is not None and not row.values.keys() >= set(columns):
            row.header.fault(f"the columns {', '.join(map(quoted, row.values))}", ", ".join(columns))
            break
        query, doc, grade = (_field(row, "qrels", name) for name in ("query", "document", "grade"))
        if query is None or doc is None or grade is None:
            continue
        query_id, doc_id = read_id(*query), read_id(*doc)
        relevance = grade_of(*grade)
        if query_id and doc_id and relevance is not None:
            judged.add(query_id, doc_id, relevance, row.location)
    return judged


def _field(row: Row, table: str, name: str) -> tuple[Any, Location] | None:
    """Return the value of a column with its location; None, and a fault, if the row has none."""
    names = TABLE_COLUMNS[table][name]
    found = next((each for each in names if each in row.values), None)
    if found is None:
        expected = f"the field {' or '.join(map(repr, names))} in every row"
        (row.location / names[0]).fault("no such field", expected)
        return None
    return row.values[found], row.location / found


def read_tags(metadata: Any) -> tuple[str, ...]:
    """Return the tags that `write_beir` wrote; other metadata is left alone."""
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    given = isinstance(tags, list) and all(isinstance(tag, str) and tag.strip() for tag in tags)
    return tuple(tags) if given and tags else ()


def write_beir(dataset: Dataset, folder: Path, *, split: str = "test") -> None:
    """Write the files of a BEIR folder."""
    with (folder / CORPUS).open("w", encoding="utf-8", newline="\n") as file:
        write_document_lines(dataset.documents, file)
    with (folder / QUERIES).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(topic_value(query), ensure_ascii=False) + "\n" for query in dataset.queries)
    (folder / QRELS).mkdir()
    with (folder / QRELS / f"{split}.tsv").open("w", encoding="utf-8", newline="\n") as file:
        file.write(_HEADER + "\n")
        file.writelines(_judgement_lines(dataset.queries, dataset.document_by_id))


def topic_value(query: Query) -> dict[str, Any]:
    """Return the line of `queries.jsonl` for a query; its tags, if any, are in `metadata`."""
    value: dict[str, Any] = {"_id": query.id, "text": query.text}
    return {**value, "metadata": {"tags": list(query.tags)}} if query.tags else value


def _judgement_lines(queries: tuple[Query, ...], documents: Mapping[str, Document]) -> Iterator[str]:
    for query in queries:
        for doc_id, grade in judged_documents(query, documents):
            yield f"{query.id}\t{doc_id}\t{grade}\n"
