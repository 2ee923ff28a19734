"""LlamaIndex's JSON: `LabelledRagDataset`, and `EmbeddingQAFinetuneDataset`. LlamaIndex itself is not needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.datasets.documents import read_documents
from raglift.errors import ConfigurationError
from raglift.types.anchors import whole_document
from raglift.types.documents import Document
from raglift.types.labels import Annotator, Fact, Passage, Query, distinct_facts
from raglift.types.parsing import read_characters, read_name, read_string
from raglift.utilities.strict_files import parse_text, read_text
from raglift.utilities.validation import Location, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault


PAIRS = ("queries", "corpus", "relevant_docs")
"""The fields of an EmbeddingQAFinetuneDataset."""


def read_llama_index(
    path: Path, faults: list[Fault], *, documents: DocumentSource = None
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries of a LabelledRagDataset, or the queries and documents of an EmbeddingQAFinetuneDataset.

    Of a LabelledRagDataset, each reference context is a fact, as a literal text, and the queries are q1, q2, …; the
    a query that a model wrote names it; the
    reference answers are not read. Of an EmbeddingQAFinetuneDataset, the corpus is the documents,
    and each relevant one of a query is a fact.

    Args:
        path: the JSON file.
        faults: where what is wrong is noted.
        documents: the source texts of a LabelledRagDataset, which has none.

    Raises:
        ConfigurationError: documents for an EmbeddingQAFinetuneDataset, which brings its own.
    """
    location = Location(path.name, faults)
    text = read_text(path, location)
    entry = None if text is None else parse_text(text, location)
    if entry is None:
        return (), ()
    if "examples" in entry:
        return _read_examples(entry["examples"], location / "examples"), read_documents(documents)
    if documents is not None:
        raise ConfigurationError(
            "load_dataset: found documents= with an EmbeddingQAFinetuneDataset: it brings its own documents; "
            "expected none"
        )
    missing = [name for name in PAIRS if name not in entry]
    if missing:
        location.fault(shown(entry), f"the field examples, or the fields {', '.join(PAIRS)}")
        return (), ()
    return _read_pairs(entry, location)


def _read_examples(examples: Any, location: Location) -> tuple[Query, ...]:
    if not isinstance(examples, list):
        location.fault(shown(examples), "a list of examples")
        return ()
    queries = []
    for index, example in enumerate(examples):
        here = location / index
        if not isinstance(example, dict):
            here.fault(shown(example), "an object")
            continue
        text = read_string(example.get("query"), here / "query")
        writer = _read_writer(example.get("query_by"), here / "query_by")
        contexts = example.get("reference_contexts")
        if contexts is not None and not isinstance(contexts, list):
            (here / "reference_contexts").fault(shown(contexts), "a list of texts, or null")
            continue
        texts = [
            read_string(context, here / "reference_contexts" / number) for number, context in enumerate(contexts or ())
        ]
        facts = distinct_facts((Passage(context),) for context in texts if context is not None)
        if text is not None:
            queries.append(Query(f"q{index + 1}", text, facts, annotator=writer))
    return tuple(queries)


def _read_writer(value: Any, location: Location) -> Annotator | None:
    """Return the model that wrote a query; None for a person, or if it is not said; and a fault for no writer."""
    if value is None:
        return None
    model = value.get("model_name", "") if isinstance(value, dict) else None
    if not isinstance(model, str) or value.get("type") not in ("human", "ai"):
        location.fault(shown(value), 'null, or an object with a model_name and a type, "human" or "ai"')
        return None
    return None if value["type"] == "human" else _writer(model.strip() or "a model")


def _writer(model: str) -> Annotator:
    """Return a model of which LlamaIndex says no more than its name."""
    return Annotator(model, "LlamaIndex", "unknown")


def _read_pairs(entry: Mapping[str, Any], location: Location) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    tables: dict[str, dict[str, Any]] = {}
    for name in PAIRS:
        tables[name] = entry[name] if isinstance(entry[name], dict) else {}
        if tables[name] is not entry[name]:
            (location / name).fault(shown(entry[name]), "an object")
    documents = {}
    for doc_id, text in tables["corpus"].items():
        here = location / "corpus" / quoted(doc_id)
        if read_name(doc_id, here) and read_characters(text, here) is not None:
            documents[doc_id] = Document(doc_id, text)
    for query_id in tables["relevant_docs"]:
        if query_id not in tables["queries"]:
            (location / "relevant_docs" / quoted(query_id)).fault("an unknown query id", "an id of queries")
    queries = []
    for query_id, text in tables["queries"].items():
        here = location / "queries" / quoted(query_id)
        if read_name(query_id, here) and read_string(text, here):
            at = location / "relevant_docs" / quoted(query_id)
            facts = _read_relevant(tables["relevant_docs"].get(query_id, []), documents, at)
            queries.append(Query(query_id, text, facts))
    return tuple(queries), tuple(documents.values())


def _read_relevant(ids: Any, documents: Mapping[str, Document], location: Location) -> tuple[Fact, ...]:
    if not isinstance(ids, list):
        location.fault(shown(ids), "a list of ids of the corpus")
        return ()
    passages = []
    for index, doc_id in enumerate(ids):
        if isinstance(doc_id, str) and doc_id in documents:
            passages.append(whole_document(documents[doc_id]))
        else:
            (location / index).fault(shown(doc_id), "an id of the corpus")
    return distinct_facts((passage,) for passage in passages)
