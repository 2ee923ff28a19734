"""Chunks that the embedded model reads in part are those that the model itself says it cuts."""

from __future__ import annotations

import sys

import pytest

from raglift.auditing.dataset_audit import audit
from raglift.auditing.labels import chunks_read_in_part
from raglift.retrieval.embedding import SentenceTransformerEmbedder
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query


@pytest.mark.slow
def test_the_count_is_that_of_the_model() -> None:
    chunks = [Chunk("word " * count) for count in (1, 253, 254, 255, 256, 400)] + [Chunk("한국어 " * 60)]
    parts = SentenceTransformerEmbedder("minilm").read_in_part([chunk.text for chunk in chunks])
    assert parts is not None
    assert chunks_read_in_part(chunks) == sum(parts) > 0


def test_a_missing_model_is_said_and_the_audit_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    dataset = Dataset((Query("q", "?", (Fact((Passage("one two three four five"),)),)),), (Document("d", "one " * 99),))
    found = audit(dataset, chunkers=["recursive:200/0"])
    assert found.chunkings[0].read_in_part is None
    assert "pip install 'raglift[local]'" in found.notes[0]
