from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import raglift as rl
from raglift.retrieval.chunkers import Chunker, RecursiveChunker, TokenChunker
from raglift.retrieval.embedding import SentenceTransformerEmbedder, build_index
from raglift.retrieval.retrievers import DenseRetriever

LAMP = (
    "The lamp is lit at dusk. Its two wicks are trimmed every fourth hour. The keeper writes the times in the log.\n\n"
)
HORN = "In fog the horn is blown every ninety seconds. The compressor needs water. Nobody sleeps while it sounds.\n\n"

Span = tuple[str, int, int]


@pytest.fixture(scope="module")
def benchmark(script: Callable[[str], Any]) -> Any:
    return script("chunking_evaluation")


@pytest.fixture(scope="module")
def embedder() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(dtype="float32")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Two texts that repeat themselves, and three questions."""
    texts = {"lamp": LAMP * 6 + "The glass is wiped with chamois.", "horn": HORN * 5}
    questions = [
        ("How often are the wicks trimmed?", ["trimmed every fourth hour", "The keeper writes the times"], "lamp"),
        ("With what is the glass wiped?", ["wiped with chamois"], "lamp"),
        ("How often is the horn blown?", ["every ninety seconds. The compressor"], "horn"),
    ]
    (tmp_path / "corpora").mkdir()
    for name, text in texts.items():
        (tmp_path / "corpora" / f"{name}.md").write_text(text, encoding="utf-8")
    with (tmp_path / "questions_df.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "references", "corpus_id"])
        for question, quotes, name in questions:
            starts = [texts[name].index(quote) for quote in quotes]
            references = [
                {"content": quote, "start_index": start, "end_index": start + len(quote)}
                for quote, start in zip(quotes, starts, strict=True)
            ]
            writer.writerow([question, json.dumps(references), name])
    return tmp_path


def characters(spans: Iterable[Span]) -> set[tuple[str, int]]:
    return {(text, place) for text, start, end in spans for place in range(start, end)}


def meet(first: Span, second: Span) -> bool:
    """Whether two spans share a character, or one begins where the other ends."""
    return first[0] == second[0] and first[1] <= second[2] and second[1] <= first[2]


def span_figures(passages: Sequence[Span], hits: Sequence[Span], chunks: Sequence[Span]) -> list[float]:
    """Recall, precision, precision omega and IoU of one question, from locations alone: sets of characters."""
    wanted = characters(passages)
    covered = wanted & characters(hits)
    returned = sum(end - start for _, start, end in hits)
    touching = characters(chunk for chunk in chunks if any(meet(chunk, passage) for passage in passages))
    reached = wanted & touching
    return [
        len(covered) / len(wanted),
        len(covered) / returned,
        len(reached) / (len(touching) + len(wanted - reached)),
        len(covered) / (returned + len(wanted - covered)),
    ]


def span_of(piece: Any) -> Span:
    assert piece.doc_id is not None
    assert piece.start is not None
    assert piece.end is not None
    return piece.doc_id, piece.start, piece.end


def expected_values(dataset: rl.Dataset, chunker: Chunker, embedder: SentenceTransformerEmbedder) -> Any:
    chunks = chunker.split(dataset.documents)
    retriever = DenseRetriever(build_index(chunks, embedder))
    rankings = retriever.retrieve([query.text for query in dataset], 5)
    places = [span_of(chunk) for chunk in chunks]
    return np.array(
        [
            span_figures(
                [span_of(passage) for fact in query.facts for passage in fact.passages],
                [span_of(hit.chunk) for hit in ranking],
                places,
            )
            for query, ranking in zip(dataset, rankings, strict=True)
        ]
    ).T


def test_the_reference_counts_as_by_hand() -> None:
    passages = [("a", 10, 20), ("a", 25, 30)]
    hits = [("a", 0, 15), ("a", 10, 18), ("b", 0, 27)]  # 8 of 15 characters, in 15 + 8 + 27
    chunks = [*hits, ("a", 16, 28), ("a", 30, 40)]  # of these four touch a passage, with 38 characters
    assert span_figures(passages, hits, chunks) == pytest.approx([8 / 15, 8 / 50, 13 / (38 + 2), 8 / (50 + 7)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "chunker", [RecursiveChunker(20, 10, "tokens"), RecursiveChunker(9, 0, "tokens"), TokenChunker(16, 8)], ids=str
)
def test_what_is_measured_is_what_the_places_say(benchmark, embedder, tiny: Path, chunker: Chunker) -> None:
    dataset = benchmark.read_questions(tiny)
    row = benchmark.measure("some 20/10", chunker, dataset, embedder)
    expected = expected_values(dataset, chunker, embedder)
    assert row.values == pytest.approx(expected)
    assert row.chunks == len(chunker.split(dataset.documents)) > 5
    assert len(np.unique(expected)) > 6  # neither nothing nor everything was found


def beginning_of(dataset: rl.Dataset, doc_id: str, length: int) -> rl.Dataset:
    """One document up to a location, and the questions that this much answers."""
    queries = [
        query
        for query in dataset
        if all(
            passage.doc_id == doc_id and (passage.end or 0) <= length
            for fact in query.facts
            for passage in fact.passages
        )
    ]
    return rl.Dataset(tuple(queries), (rl.Document(doc_id, dataset.document_by_id[doc_id].text[:length]),))


@pytest.mark.slow
def test_so_it_is_on_a_real_text(benchmark, embedder, corpora_folder: Path) -> None:
    folder = corpora_folder / "chunking_evaluation"
    if not folder.is_dir():
        pytest.skip(f"no chunking evaluation at {folder}")
    dataset = beginning_of(benchmark.read_questions(folder), "state_of_the_union", 14_000)
    assert len(dataset) >= 10
    (_, chunker), *_ = benchmark.settings()
    row = benchmark.measure("recursive 250/125", chunker, dataset, embedder)
    assert row.values == pytest.approx(expected_values(dataset, chunker, embedder))
    assert 0 < row.values[0].mean() < 1


@pytest.mark.slow
def test_a_row_is_printed_for_each_way_of_splitting(benchmark, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.main([str(tiny)]) == 0
    out = capsys.readouterr().out
    assert "3 questions, 4 passages, 2 texts in one index; top 5" in out
    assert "all-MiniLM-L6-v2" in out
    assert "float32" in out
    rows = [line for line in out.splitlines() if "±" in line][1:]
    assert [row[:17].strip() for row in rows] == [
        f"{kind} {sizes}" for kind in ("recursive", "token") for sizes in ("250/125", "250/0", "200/0")
    ]
    # two short texts: every chunk is among the first five
    assert all(row[19:31].split() == ["100.0", "±", "0.0"] for row in rows)
