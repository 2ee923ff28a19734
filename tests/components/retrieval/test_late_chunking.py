"""Late chunking: token embeddings of the whole document, averaged over each chunk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from raglift.adapters.embeddings import embedder_by_name
from raglift.adapters.splitters import chunker_by_name
from raglift.base.cache import Cache
from raglift.components.embedding import build_index, embed, texts_to_embed
from raglift.components.late_chunking import LateChunkingEmbedder
from raglift.components.models import load_sentence_transformer
from raglift.errors import ConfigurationError
from raglift.records.documents import Chunk, Document
from raglift.running.systems import LocalSystem, build_retriever
from raglift.sweep.specification.record import Sweep

pytestmark = pytest.mark.slow
SHORT = "Berlin is the capital of Germany. The city has 3.85 million inhabitants. It lies on the Spree."
LONG = " ".join(f"Sentence {number} tells of the lighthouse keeper and his {number % 7} lamps." for number in range(60))


@pytest.fixture(scope="module")
def late() -> LateChunkingEmbedder:
    return LateChunkingEmbedder(dtype="float32")


def vectors(embedder, documents: list[Document], chunks) -> np.ndarray:
    texts = texts_to_embed(chunks, embedder, documents)
    return embed(embedder, texts, "document", Cache(None), progress=False).vectors


def test_a_vector_is_the_mean_of_the_chunks_tokens_in_the_whole_document(late: LateChunkingEmbedder) -> None:
    documents = [Document("d", SHORT)]
    chunks = chunker_by_name("sentence:40").split(documents)
    assert [chunk.text for chunk in chunks] == [
        "Berlin is the capital of Germany.",
        "The city has 3.85 million inhabitants.",
        "It lies on the Spree.",
    ]
    model = load_sentence_transformer("minilm", "float32")
    tokens = model.encode([SHORT], output_value="token_embeddings")[0].numpy()
    places = model.tokenizer(SHORT, return_offsets_mapping=True)["offset_mapping"]
    found = vectors(late, documents, chunks)
    for chunk, vector in zip(chunks, found, strict=True):
        inside = [n for n, (start, end) in enumerate(places) if chunk.start <= start < end <= chunk.end]
        expected = tokens[inside].mean(axis=0)
        np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)


def test_a_chunk_knows_what_is_around_it(late: LateChunkingEmbedder) -> None:
    documents = [Document("d", SHORT)]
    chunks = chunker_by_name("sentence:40").split(documents)
    (query,) = embed(late, ["How many people live in Berlin?"], "query", Cache(None), progress=False).vectors
    plain = embedder_by_name("minilm", dtype="float32")
    alone = vectors(plain, documents, chunks)
    np.testing.assert_array_equal(
        query, embed(plain, ["How many people live in Berlin?"], "query", Cache(None), progress=False).vectors[0]
    )
    assert (vectors(late, documents, chunks) @ query)[2] > (alone @ query)[2]


def test_windows_cover_a_long_document_and_each_token_is_taken_once(late: LateChunkingEmbedder) -> None:
    chunks = chunker_by_name("recursive:300/0").split([Document("d", LONG)])
    parts = [json.loads(text) for text in late.inputs(chunks, [Document("d", LONG)])]
    windows = {window for each in parts for window, _, _ in each}
    model = load_sentence_transformer("minilm", "float32")
    assert len(windows) > 2
    assert max(len(model.tokenizer(window)["input_ids"]) for window in windows) <= 256
    assert all(window in LONG for window in windows)
    for chunk, each in zip(chunks, parts, strict=True):
        assert "".join(window[first:last] for window, first, last in each) == chunk.text
    assert any(len(each) == 2 for each in parts)
    assert late.read_in_part(["a"]) == [False]


def test_vectors_depend_neither_on_other_chunks_nor_on_batches(late: LateChunkingEmbedder) -> None:
    documents = [Document("d", LONG), Document("e", SHORT)]
    chunks = chunker_by_name("recursive:200/50").split(documents)
    together = vectors(late, documents, chunks)
    apart = np.concatenate([vectors(late, documents, [chunk]) for chunk in chunks[::5]])
    np.testing.assert_array_equal(together[::5], apart)


def test_vectors_are_kept_and_not_taken_for_others(late: LateChunkingEmbedder, tmp_path: Path) -> None:
    documents, cache = [Document("d", SHORT)], Cache(tmp_path / "cache")
    chunks = chunker_by_name("sentence:40").split(documents)
    first, again = (build_index(chunks, late, documents=documents, cache=cache, progress=False) for _ in range(2))
    assert (first.computed, again.computed, again.cost.distinct_texts) == (3, 0, 3)
    np.testing.assert_array_equal(first.vectors, again.vectors)
    other = [Document("d", SHORT.replace("Berlin", "Potsdam"))]
    moved = chunker_by_name("sentence:40").split(other)[1:]
    assert [chunk.text for chunk in moved] == [chunk.text for chunk in chunks[1:]]
    assert build_index(moved, late, documents=other, cache=cache, progress=False).computed == 2
    plain = embedder_by_name("minilm", dtype="float32")
    assert build_index(chunks, plain, documents=documents, cache=cache, progress=False).computed == 3


def test_the_context_of_a_chunk_is_read_with_its_windows(late: LateChunkingEmbedder) -> None:
    documents = [Document("d", f"# Lights of the north\n\n{LONG}")]
    chunks = chunker_by_name("recursive:300/0+headings").split(documents)
    parts = json.loads(late.inputs(chunks[5:6], documents)[0])
    assert all(window.startswith("Lights of the north\n\n") for window, _, _ in parts)
    assert "".join(window[first:last] for window, first, last in parts) == chunks[5].text
    huge = [Document("d", "# " + "very " * 1000 + "\n\n" + LONG)]
    chunk = chunker_by_name("recursive:300/0+headings").split(huge)[-1]
    model = load_sentence_transformer("minilm", "float32")
    [(window, first, last)] = json.loads(late.inputs([chunk], huge)[0])
    assert window[first:last] == chunk.text
    assert len(model.tokenizer(window)["input_ids"]) <= 256


@pytest.mark.parametrize(
    "chunk",
    [
        Chunk("A text that no document has.", doc_id="d"),
        Chunk("Of no document.", start=3, end=18),
        Chunk("", doc_id="d", start=5, end=5),
        Chunk("\u200b", doc_id="d"),
    ],
)
def test_a_chunk_without_a_place_is_a_document_of_its_own(late: LateChunkingEmbedder, chunk: Chunk) -> None:
    [vector] = vectors(late, [Document("d", SHORT)], [chunk])
    assert np.isfinite(vector).all()


@pytest.mark.parametrize("name", ["minilm-static(late)", "(late)", "openai:text-embedding-3-small(late)"])
def test_models_without_token_embeddings_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"expected late chunking of a model .*, as minilm\(late\)"):
        embedder_by_name(name)
    with pytest.raises(ConfigurationError, match=r"expected late chunking of a model .*, as minilm\(late\)"):
        Sweep(dataset="lighthouse", embeddings=name)


def test_late_chunking_needs_documents_and_a_retriever_that_embeds(late: LateChunkingEmbedder) -> None:
    with pytest.raises(ConfigurationError, match="late chunking: found no documents"):
        build_index([Chunk("a")], late)
    import raglift as rl

    with pytest.raises(ConfigurationError, match=r"found 'minilm\(late\)' with bm25, which embeds nothing"):
        build_retriever(rl.load_dataset("lighthouse"), LocalSystem("bm25", embedding="minilm(late)"))
