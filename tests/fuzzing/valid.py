"""What may be returned: records that hold together, whatever the file said."""

from __future__ import annotations

from collections.abc import Sequence

from raglift.records.dataset import Dataset
from raglift.records.documents import Document
from raglift.records.labels import Passage

__all__ = ["valid_dataset", "valid_documents"]


def valid_dataset(dataset: Dataset) -> None:
    """Assert that ids are unique, texts are texts, and each label is where it says it does."""
    valid_documents(dataset.documents)
    assert dataset.queries
    ids = [query.id for query in dataset.queries]
    assert len(ids) == len(set(ids))
    by_id = {document.id: document for document in dataset.documents}
    for query in dataset.queries:
        assert _is_text(query.id)
        assert _is_text(query.text)
        assert all(_is_text(tag) for tag in query.tags)
        assert query.answerable or not query.facts
        for fact in query.facts:
            assert fact.passages
            for passage in fact.passages:
                assert 1 <= passage.grade <= 1000
                _check_passage(passage, by_id)
        for passage in query.judged_irrelevant:
            assert passage.grade == 0
            _check_passage(passage, by_id)


def valid_documents(documents: Sequence[Document]) -> None:
    """Assert that ids are unique and texts are texts."""
    ids = [document.id for document in documents]
    assert len(ids) == len(set(ids))
    for document in documents:
        assert _is_text(document.id)
        assert isinstance(document.text, str)
        document.text.encode()  # no half characters
        assert all(isinstance(name, str) for name in document.metadata)


def _check_passage(passage: Passage, documents: dict[str, Document]) -> None:
    if passage.chunk_id is not None:
        assert _is_text(passage.chunk_id)
        return
    assert passage.text is not None
    assert _is_text(passage.text)
    if passage.doc_id is not None and documents:
        assert passage.doc_id in documents
    if passage.start is not None and passage.end is not None:
        assert 0 <= passage.start < passage.end
        document = documents.get(passage.doc_id or "")
        assert document is None or document.text[passage.start : passage.end] == passage.text


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.encode() is not None
