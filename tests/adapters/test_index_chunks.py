"""All chunks of an index, determined by the system or given by the user in any form that a retriever may return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import NodeWithScore, TextNode

from raglift.adapters.adapt import all_chunks
from raglift.errors import ConfigurationError
from raglift.matching.rule import MatchRule
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.retrieval.bm25 import BM25Retriever
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

pytestmark = pytest.mark.slow

TEXT = "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book."
CUTS = ((0, 37), (38, 55), (56, 88))
DATA = Dataset(
    (
        Query("dusk", "a", (Fact((Passage(TEXT[4:37], "tower.md", 4, 37),)),)),
        Query("book", "b", (Fact((Passage(TEXT[60:88], "tower.md", 60, 88),)),)),
        Query("both", "c", (Fact((Passage(TEXT[22:70], "tower.md", 22, 70),)),)),
    ),
    (Document("tower.md", TEXT),),
)
FORMS: dict[str, Callable[[int, int], Any]] = {
    "chunks": lambda a, b: Chunk(TEXT[a:b], doc_id="tower.md", start=a, end=b),
    "langchain": lambda a, b: LangChainDocument(TEXT[a:b], metadata={"source": "data/tower.md", "start_index": a}),
    "llama-index": lambda a, b: TextNode(
        text=TEXT[a:b], start_char_idx=a, end_char_idx=b, metadata={"file_name": "tower.md"}
    ),
    "nodes with scores": lambda a, b: NodeWithScore(node=FORMS["llama-index"](a, b), score=0.5),
    "texts": lambda a, b: TEXT[a:b],
    "mappings": lambda a, b: {"text": TEXT[a:b], "doc_id": "tower.md"},
}


def outcomes(evaluation: Evaluation) -> dict[str, int]:
    return {loss.outcome: loss.facts for loss in evaluation.failure_analysis().losses if loss.facts}


def measured(chunks: Any, match: str | MatchRule = "containment") -> Evaluation:
    system = FakeRetriever({"a": [Chunk(TEXT[:37], doc_id="tower.md", start=0, end=37)]})
    return evaluate(system, DATA, chunks=chunks, match=match, ks=(3,), depth="deep", candidates=3)


@pytest.mark.parametrize("form", FORMS)
def test_chunks_in_every_form_tell_what_was_attainable(form: str) -> None:
    chunks = [FORMS[form](*cut) for cut in CUTS]
    assert outcomes(measured(chunks)) == {"found": 1, "not_retrieved": 1, "not_attainable": 1}
    assert outcomes(measured(iter(chunks))) == outcomes(measured(tuple(chunks)))


@pytest.mark.parametrize("form", ["chunks", "langchain", "llama-index"])
def test_it_survives_saving_and_another_match_rule(form: str, tmp_path: Any) -> None:
    evaluation = measured([FORMS[form](*cut) for cut in CUTS])
    loaded = load_evaluation(evaluation.save(tmp_path / "run"))
    assert loaded.run.inventory is not None
    assert loaded.run.inventory.chunks == 3
    assert str(loaded.failure_analysis()) == str(evaluation.failure_analysis())
    for threshold in (0.5, 1.0):
        rule = MatchRule("coverage", threshold=threshold)
        again, direct = rescore(loaded, match=rule, ks=(3,)), measured([FORMS[form](*cut) for cut in CUTS], rule)
        assert outcomes(again) == outcomes(direct) == {"found": 1, "not_retrieved": 2}
        omegas = [rescore(each, match=rule, metrics=["span_precision_omega"]) for each in (again, direct)]
        assert omegas[0].to_frame().equals(omegas[1].to_frame())


def test_offsets_of_chunks_are_checked_like_those_of_hits() -> None:
    """An offset that is false is dropped: the chunk is then told by its text."""
    chunks = [Chunk(TEXT[a:b], doc_id="tower.md", start=a + 7, end=b + 7) for a, b in CUTS]
    found = measured(chunks).run.inventory
    assert found is not None
    assert all(chunk.start is None for chunk in found.touching)
    assert outcomes(measured(chunks)) == {"found": 1, "not_retrieved": 1, "not_attainable": 1}


def test_raglifts_own_retriever_tells_its_chunks_and_a_reranker_does_not_hide_them() -> None:
    chunks = [FORMS["chunks"](*cut) for cut in CUTS]
    evaluation = evaluate(BM25Retriever(chunks), DATA, reranker=FakeReranker({}), ks=(3,), candidates=3)
    assert evaluation.run.inventory is not None
    assert evaluation.run.inventory.chunks == 3
    given = evaluate(BM25Retriever(chunks), DATA, chunks=chunks[:1], ks=(3,))
    assert given.run.inventory is not None
    assert given.run.inventory.chunks == 1


@pytest.mark.parametrize("own", [[], ["text"], "text", None])
def test_what_else_a_system_calls_chunks_is_not_taken_for_them(own: Any) -> None:
    system = FakeRetriever({})
    vars(system)["chunks"] = own
    assert all_chunks(system, None, doc_key=None) is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("text", "chunks: found a str; expected a list of all chunks"),
        (5, "chunks: found a int; expected a list of all chunks"),
        ({"text": "one"}, "chunks: found a dict; expected a list of all chunks"),
        (LangChainDocument("one"), "chunks: found a Document; expected a list of all chunks"),
        (TextNode(text="one"), "chunks: found a TextNode; expected a list of all chunks"),
        ([], "chunks: found none; expected a list of all chunks"),
        (["text", 5], r"chunks\[1\]: found a int; expected a text, a LangChain Document"),
        ([Document("tower.md", TEXT)], r"chunks\[0\]: found a Document; .*cut it with a chunker first"),
        (DATA, r"chunks\[0\]: found a Query; expected a text"),
        ([Ranking()], r"chunks\[0\]: found a Ranking; expected a text"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_what_is_no_list_of_chunks_is_refused_before_anything_is_asked(wrong: Any, message: str) -> None:
    system = FakeRetriever({})
    with pytest.raises(ConfigurationError, match=message):
        evaluate(system, DATA, chunks=wrong)
    assert system.asked == []
