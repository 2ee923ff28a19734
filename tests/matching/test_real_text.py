"""On real text, what is told from the texts alone is what offsets tell, up to 20 characters at each end of a passage.

That holds for passages of which no 20 characters stand anywhere else: words that do could come from there as well.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.parsing import parse
from raglift.results.evaluation import Evaluation
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.running.evaluation import evaluate
from raglift.text.normalization import normalize, normalize_with_offsets
from raglift.text.tokens import load_encoding
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

pytestmark = pytest.mark.slow

BUNDLED = Path(__file__).parents[2] / "corpora" / "lighthouse" / "documents"


class Source:
    """Documents, and the stretches of them of which no 20 normalized characters stand anywhere else."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = tuple(documents)
        texts = [normalize_with_offsets(document.text) for document in documents]
        seen = Counter(text.text[at : at + 20] for text in texts for at in range(len(text.text) - 19))
        self.stretches: list[tuple[Document, int, int]] = []
        for document, text in zip(documents, texts, strict=True):
            windows = range(len(text.text) - 19)
            repeated = [at for at in windows if seen[text.text[at : at + 20]] > 1]
            for before, after in pairwise([-1, *repeated, len(windows)]):
                if after - before > 80:
                    self.stretches.append((document, *text.source_span(before + 1, after + 19)))

    def passage(self, stretch: int, first: float, part: float) -> Passage:
        """Return a part of one stretch: which, from where, and how much, each as a share of what there is."""
        document, start, end = self.stretches[stretch % len(self.stretches)]
        length = max(40, round(part * min(end - start, 800)))
        begin = start + round(first * max(0, end - start - length))
        text = document.text[begin : min(begin + length, end)]
        begin, text = begin + len(text) - len(text.lstrip()), text.strip()
        return Passage(text, document.id, begin, begin + len(text))

    def sample(self, count: int, seed: int = 0) -> list[Passage]:
        shares = np.random.default_rng(seed).random((count, 3)).tolist()
        return [self.passage(int(which * len(self.stretches)), first, part) for which, first, part in shares]


@pytest.fixture(scope="module")
def source() -> Source:
    return Source([Document(path.name, path.read_text(encoding="utf-8")) for path in sorted(BUNDLED.glob("*.md"))])


def unplaced(chunk: Chunk) -> Chunk:
    return replace(chunk, doc_id=None, start=None, end=None)


def is_satisfied(passage: Passage, chunks: Iterable[Chunk], threshold: float) -> bool:
    ranking = Ranking.of((chunk, None) for chunk in chunks)
    (judged,) = match_rankings(
        [Query("q", "?", (Fact((passage,)),))], [[ranking]], MatchRule("coverage", threshold=threshold)
    )
    return len(judged.satisfied.fact) > 0


def assert_same_verdict(passage: Passage, chunks: Sequence[Chunk], threshold: float) -> bool:
    """By text a fact is satisfied as by offsets; False if the 20 characters at either end could tip the balance."""
    by_text, by_offsets = (is_satisfied(passage, each, threshold) for each in (map(unplaced, chunks), chunks))
    if not by_offsets:
        assert not by_text
        return True
    clearly = threshold + 60 / len(passage.text or "")  # with the white space beside these characters
    if clearly > 1 or not is_satisfied(passage, chunks, clearly):
        return False
    assert by_text
    return True


def long_enough(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Leave out the chunks that are too short to be told by their text, as headings."""
    return [chunk for chunk in chunks if len(normalize(chunk.text)) >= 20]


class WordCounts(Embeddings):
    """Near for texts that share words; needs no model."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors = np.full((len(texts), 256), 1e-6)
        for vector, text in zip(vectors, texts, strict=True):
            np.add.at(vector, [zlib.crc32(word.encode()) % 256 for word in normalize(text).split()], 1)
        return vectors.tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def split_by_langchain(source: Source, cut: int) -> tuple[list[LangChainDocument], list[LangChainDocument]]:
    """Return LangChain's chunks with its own offsets, and with true ones; the first characters are cut off before."""
    count = load_encoding("cl100k_base").count
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=60, chunk_overlap=30, length_function=count, add_start_index=True
    )
    documents = [Document(document.id, document.text[cut:]) for document in source.documents]
    given = splitter.create_documents(
        [document.text for document in documents], [{"source": f"data/{document.id}"} for document in documents]
    )
    places = {
        (f"data/{chunk.doc_id}", chunk.text): (chunk.start or 0) + cut
        for chunk in RecursiveChunker(60, 30, unit="tokens").split(documents)
    }
    true = [
        document.model_copy(
            update={"metadata": {"source": name, "start_index": places[name, document.page_content]}}, deep=True
        )
        for document in given
        for name in [document.metadata["source"]]
    ]
    return given, true


def evaluation_of(documents: list[LangChainDocument], data: Dataset) -> Evaluation:
    store = InMemoryVectorStore.from_documents(documents, WordCounts())
    return evaluate(
        store, data, match="coverage", metrics=["recall", "span_recall"], ks=(5,), depth="deep", candidates=5
    )


def chunks_of(evaluation: Evaluation) -> list[tuple[Chunk, ...]]:
    return [trace.stages[0].ranking.chunks for trace in evaluation.run.traces]


@pytest.mark.parametrize("cut", [0, 30], ids=["whole", "without a header"])
def test_false_offsets_of_langchains_splitter_change_no_figure(source: Source, cut: int) -> None:
    """LangChain counts the overlap in tokens when it looks for its chunks: a third is not found where it looks."""
    given, true = split_by_langchain(source, cut)
    starts = [[document.metadata["start_index"] for document in each] for each in (given, true)]
    assert sum(one != other for one, other in zip(*starts, strict=True)) > len(given) / 5

    labels = source.sample(40)
    queries = [Query(f"q{n}", (label.text or "")[:200], (Fact((label,)),)) for n, label in enumerate(labels)]
    data = Dataset(tuple(queries), source.documents)
    with_false, with_true = evaluation_of(given, data), evaluation_of(true, data)
    texts = [[[chunk.text for chunk in of_query] for of_query in chunks_of(each)] for each in (with_false, with_true)]
    assert texts[0] == texts[1]
    kept = [chunk for of_query in chunks_of(with_false) for chunk in of_query if chunk.start is not None]
    assert all(data.document_by_id[c.doc_id or ""].text[c.start : c.end] == c.text for c in kept)
    assert any("offsets were dropped" in note for note in with_false.notes) == (cut > 0)
    assert not any("offsets were dropped" in note for note in with_true.notes)

    satisfied = [each.scores.of("retrieve", parse("recall@5")) for each in (with_false, with_true)]
    hits = map(long_enough, chunks_of(with_true))
    told = [assert_same_verdict(*case, 0.5) for case in zip(labels, hits, strict=True)]
    assert sum(told) > 10
    assert np.array_equal(satisfied[0][told], satisfied[1][told])
    recall = [each.scores.of("retrieve", parse("span_recall@5")) for each in (with_false, with_true)]
    assert np.all(np.abs(recall[0] - recall[1]) <= [60 / len(label.text or "") for label in labels])
    assert recall[1].mean() > 0.4
