"""LlamaIndex's JSON: `LabelledRagDataset`, and `EmbeddingQAFinetuneDataset`. LlamaIndex itself is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raglift.datasets.documents import DocumentSource, read_documents
from raglift.errors import Fault
from raglift.types.anchors import whole_document
from raglift.types.documents import Document
from raglift.types.labels import Annotator, Passage, Query, distinct_facts
from raglift.types.parsing import read_characters, read_name, read_string
from raglift.utilities.strict_files import parse_text, read_text
from raglift.utilities.validation import Location, quoted, shown

PAIRS = ("queries", "corpus", "relevant_docs")
"""The fields of an EmbeddingQAFinetuneDataset."""


def read_llama_index(
    path: Path, faults: list[Fault], *, documents: DocumentSource = None
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries of a LabelledRagDataset, or the queries and documents of an EmbeddingQAFinetuneDataset.

    Of a LabelledRagDataset, each reference context is a fact, as a literal text, and the queries are q1, q2, …; a query
    that a model wrote names it; the reference answers are not read. Of an EmbeddingQAFinetuneDataset, the corpus is the
    documents, and each relevant one of a query is a fact.
    """
    location = Location(path.name, faults)
    text = read_text(path, location)
    entry = None if text is None else parse_text(text, location)
    if entry is None:
        return (), ()
    if isinstance(entry.get("examples"), list):
        rows = ((location / "examples" / index, example) for index, example in enumerate(entry["examples"]))
        read = (_read_example(f"q{number}", example, here) for number, (here, example) in enumerate(rows, start=1))
        return tuple(query for query in read if query is not None), read_documents(documents)
    tables = {name: entry[name] for name in PAIRS if isinstance(entry.get(name), dict)}
    if len(tables) < len(PAIRS):
        location.fault(shown(entry), f"a list of examples, or the objects {', '.join(PAIRS)}")
        return (), ()
    return _read_pairs(tables, location)


def _read_example(query_id: str, example: Any, location: Location) -> Query | None:
    if not isinstance(example, dict):
        location.fault(shown(example), "an object")
        return None
    text = read_string(example.get("query"), location / "query")
    contexts = example.get("reference_contexts") or []
    if not isinstance(contexts, list):
        (location / "reference_contexts").fault(shown(contexts), "a list of texts, or null")
        return None
    places = [location / "reference_contexts" / number for number in range(len(contexts))]
    texts = [read_string(context, here) for context, here in zip(contexts, places, strict=True)]
    facts = distinct_facts((Passage(context),) for context in texts if context is not None)
    writer = example.get("query_by")
    annotator = None
    if isinstance(writer, dict) and writer.get("type") == "ai":
        # LlamaIndex says no more of a model than its name
        annotator = Annotator(str(writer.get("model_name") or "a model"), "LlamaIndex", "unknown")
    return None if text is None else Query(query_id, text, facts, annotator=annotator)


def _read_pairs(
    tables: Mapping[str, dict[str, Any]], location: Location
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    documents = {}
    for doc_id, text in tables["corpus"].items():
        here = location / "corpus" / quoted(doc_id)
        if read_name(doc_id, here) and read_characters(text, here) is not None:
            documents[doc_id] = Document(doc_id, text)
    for query_id in tables["relevant_docs"].keys() - tables["queries"].keys():
        (location / "relevant_docs" / quoted(query_id)).fault("an unknown query id", "an id of queries")
    queries = []
    for query_id, text in tables["queries"].items():
        here = location / "queries" / quoted(query_id)
        if not (read_name(query_id, here) and read_string(text, here)):
            continue
        relevant = tables["relevant_docs"].get(query_id, [])
        at = location / "relevant_docs" / quoted(query_id)
        unknown = [doc_id for doc_id in relevant if doc_id not in documents]
        if unknown:
            at.fault(shown(unknown[0]), "an id of the corpus")
        passages = [whole_document(documents[doc_id]) for doc_id in relevant if doc_id in documents]
        queries.append(Query(query_id, text, distinct_facts((passage,) for passage in passages)))
    return tuple(queries), tuple(documents.values())
