from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import raglift as rl
from raglift.apps.walkthrough import TUTORIAL_METRICS, Settings, show_metrics, walk
from raglift.errors import ConfigurationError, Fault
from raglift.metrics.rank_measures import F1, HitRate, Precision, Recall
from raglift.results.evaluation import Evaluation
from raglift.running.systems import LocalSystem
from raglift.testing.fakes import FakeRetriever
from raglift.types.anchors import Resolution, UnresolvedLabel
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def book(book_path: Path) -> Dataset:
    return rl.load_dataset("war_and_peace", documents=book_path)


def with_two_of_three_labels(book: Dataset) -> Evaluation:
    """Ten real chunks for the tutorial's question, of which the 3rd and the 8th hold its first two labels."""
    query = book.query("anna-pavlovna")
    chunks = rl.RecursiveChunker(1000, 100).split(book.documents)

    def holds(label: int) -> rl.Chunk:
        passage = query.facts[label].passages[0]
        return next(c for c in chunks if c.start <= passage.start and passage.end <= c.end)  # type: ignore[operator]

    others = [chunk for chunk in chunks if "Anna" not in chunk.text][:8]
    hits = [*others[:2], holds(0), *others[2:6], holds(1), *others[6:]]
    alone = Dataset((query,), book.documents, "war_and_peace")
    retriever = FakeRetriever({query.text: hits})
    settings = {"ks": (10,), "profile": "tutorial", "metrics": TUTORIAL_METRICS}
    return rl.evaluate(retriever, alone, **settings)


def test_ten_hits_that_hold_two_of_three_labels_print_the_tutorials_numbers(book: Dataset) -> None:
    evaluation = with_two_of_three_labels(book)
    text = metrics_of(evaluation)
    assert [number_after(name, text) for name in ("HitRate@10", "Precision@10", "Recall@10", "F1@10")] == [
        "1",
        "0.20",
        "0.67",
        "0.31",
    ]
    exact = [evaluation.scores.mean("retrieve", m @ 10) for m in (HitRate, Precision, Recall, F1)]
    assert exact == pytest.approx([1, 0.2, 2 / 3, 4 / 13])


def metrics_of(evaluation: Evaluation) -> str:
    console = Console(file=io.StringIO(), width=200)
    show_metrics(evaluation, 10, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def number_after(name: str, text: str) -> str:
    found = re.search(rf"^{name}\s+(\S+)", text, re.MULTILINE)
    assert found, text
    return found[1]


def test_each_of_the_tutorials_labels_matches_exactly_one_chunk_of_the_book(book: Dataset) -> None:
    from raglift.matching.match import match_rankings
    from raglift.matching.rule import MatchRule
    from raglift.types.rankings import Ranking

    query = book.query("anna-pavlovna")
    ranking = Ranking.of((chunk, None) for chunk in rl.RecursiveChunker(1000, 100).split(book.documents))
    judged = match_rankings([query], [[ranking]], MatchRule())[0]
    assert sorted(judged.matches.fact.tolist()) == [0, 1, 2]


def lamp_and_lens() -> Dataset:
    """A part of the small corpus, so that this runs where the book is not, and soon."""
    whole = rl.load_dataset("lighthouse")
    documents = tuple(document for document in whole.documents if document.id == "lamp-and-lens.md")
    queries = tuple(
        query
        for query in whole
        if all(
            passage.doc_id == "lamp-and-lens.md"
            for passages in (*(fact.passages for fact in query.facts), query.judged_irrelevant)
            for passage in passages
        )
    )
    return Dataset(queries, documents, "lighthouse")


def test_the_walkthrough_shows_every_step_for_one_question() -> None:
    dataset = lamp_and_lens()
    settings = Settings(LocalSystem(chunker=rl.RecursiveChunker(600, 60)), k=5)
    question = next(
        query for query in dataset if any(p.doc_id == "lamp-and-lens.md" for fact in query.facts for p in fact.passages)
    )
    console = Console(file=io.StringIO(), width=80)
    evaluation = walk(dataset, [question], settings, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.findall(r"^(\d+)\. ", text, re.MULTILINE) == [str(step) for step in range(1, 10)]
    assert question.text in " ".join(text.split())
    assert re.search(r"^rank  cosine  label  chunk", text, re.MULTILINE)
    assert re.search(r"^rank  was +score  label  chunk", text, re.MULTILINE)
    assert len(re.findall(r"^ +\d+ +(?:\d+ +)?-?\d+\.\d{4} .* lamp-and-lens\.md:\d+", text, re.MULTILINE)) == 10
    assert "onnx:bge-small-en-v1.5" in text
    assert "cross-encoder" in text
    assert {metric.k for metric in evaluation.scores.metrics} == {1, 3, 5}


def test_the_walkthrough_shows_means_with_n_for_many_questions() -> None:
    dataset = lamp_and_lens()
    questions = [query for query in dataset if query.is_labelled][:10]
    console = Console(file=io.StringIO(), width=200)
    walk(dataset, questions, Settings(LocalSystem(chunker=rl.RecursiveChunker(600, 60)), k=5), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"(n = {len(questions)})" in text
    assert "MRR@5" in text


def test_labels_that_are_not_as_the_text_and_chunks_longer_than_the_model_reads_are_told() -> None:
    dataset = lamp_and_lens()
    left_out = UnresolvedLabel("relevant[0]", "words of another edition", Fault("lamp", "none", "these"), "q1")
    resolution = Resolution(left_out=(left_out,), queries_left_out=("q1",), labels=2)
    console = Console(file=io.StringIO(), width=200)
    settings = Settings(LocalSystem(chunker=rl.RecursiveChunker(4000, 0)), k=1)
    walk(replace(dataset, resolution=resolution), [dataset.queries[0]], settings, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"! {resolution.notes[0]}" in text
    assert re.search(r"! \d+ chunks are longer than the model reads: their beginning was embedded", text)


def test_no_question_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="found no question"):
        walk(rl.load_dataset("lighthouse"), [], Settings(), Console(file=io.StringIO()))


def test_a_question_whose_labels_are_not_found_says_where_they_are_and_corpus_text_is_only_shown() -> None:
    """The document's id looks like markup, its text like a terminal's commands; both are printed, neither is obeyed."""
    filler = "\n\n".join(
        f"The \x1b[31mlamp was lit in night {night}, said the log of the keeper." for night in range(40)
    )
    answer = "Submarines were sighted off the cape in the spring of that year."
    document = rl.Document("[/b]notes.md", f"{filler}\n\n{answer}")
    dataset = Dataset.from_dict({"When was the lamp lit?": [answer]}, documents=[document])
    console = Console(file=io.StringIO(), width=200)
    settings = Settings(LocalSystem(chunker=rl.RecursiveChunker(80, 0)), k=2)
    walk(dataset, list(dataset), settings, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"None of the labels is among these hits.*label 1 at rank \d+", text)
    assert "[/b]notes.md: " in text
    assert "\x1b" not in text
