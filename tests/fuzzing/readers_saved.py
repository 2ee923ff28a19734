"""Saved evaluations, and what is done with one that was loaded."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from raglift.errors import RunError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.running.evaluation import evaluate
from raglift.storage.saving import save_evaluation
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Annotator, Fact, Passage, Query
from raglift.types.rankings import IndexCost

from .reader import Reader

__all__ = ["READERS", "saved_evaluation", "the_same"]

_TEXT = "Anna said so then, and a span of it stands here; the rest is quiet."
_MODEL = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")


@cache
def saved_evaluation() -> Evaluation:
    """Return an evaluation of two stages with something in every field that is saved."""
    facts = (
        Fact((Passage("Anna said so then"), Passage(_TEXT[23:35], "d", 23, 35, grade=2))),
        Fact((Passage(chunk_id="c7", annotator=_MODEL),)),
    )
    queries = (
        Query("q1", "Who?", facts, ("easy", "names"), judged_irrelevant=(Passage("not that", annotator=_MODEL),)),
        Query("q2", "fails", (Fact((Passage("never found"),)),)),
        Query("q3", "unlabelled", annotator=_MODEL),
        Query("q4", "no answer", answerable=False),
    )
    chunks = [
        Chunk(_TEXT[:23], "c1", "d", 0, 23, metadata={"page": 3, "deep": {"list": [1, None, "x"]}}),
        Chunk(_TEXT[20:40], "c2", "d", 20, 40),
        Chunk("text", "c7"),
    ]
    hits = [(chunks[0], 0.5), (chunks[2], float("nan")), (chunks[1], float("-inf"))]
    results = {"Who?": hits, "fails": RuntimeError("no index"), "unlabelled": [("the same", None)]}
    data = Dataset(queries, (Document("d", _TEXT),), name="small")
    found = evaluate(
        FakeRetriever(results),
        data,
        reranker=FakeReranker({"text": 1.0}, top_n=2),
        metrics=["ndcg@5", "recall@1", "rbp(p=0.5)@5"],
        candidates=5,
        chunks=chunks,
        latency=2,
    )
    assert found.run.cost is not None
    cost = replace(found.run.cost, index=IndexCost(3, 3, 2, 0.5, 100))
    return replace(found, run=replace(found.run, cost=cost))


def the_same(one: Evaluation, other: Evaluation) -> None:
    """Assert that two evaluations say the same, whether or not they were saved and loaded in between."""
    assert repr(vars(one.run)) == repr(vars(other.run))  # NaN is not equal to itself, but looks like itself
    assert one.dataset.queries == other.dataset.queries
    assert one.scores.metrics == other.scores.metrics
    assert one.scores.values.tobytes() == other.scores.values.tobytes()
    shown = [(each.notes, each.profile, dict(each.truncated), dict(each.truncated_tokens)) for each in (one, other)]
    assert shown[0] == shown[1]


def _write(folder: Path) -> None:
    save_evaluation(saved_evaluation(), folder / "run")


def _read(folder: Path) -> Evaluation:
    return load_evaluation(folder / "run")


def _again(found: Evaluation) -> None:
    """Assert that it is saved as it is, once numbers that JSON has none of (a NaN in metadata) have become texts."""
    with tempfile.TemporaryDirectory() as elsewhere:
        plain = load_evaluation(save_evaluation(found, Path(elsewhere) / "plain"))
        the_same(load_evaluation(save_evaluation(plain, Path(elsewhere) / "again")), plain)


READERS: tuple[Reader, ...] = (Reader("saved evaluation", _write, _read, (RunError,), _again),)
"""All of the readers here."""
