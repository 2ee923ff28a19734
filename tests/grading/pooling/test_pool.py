"""What the systems returned, together: each distinct chunk of a query once."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.grading.grading import grade
from raglift.grading.pooling import pool
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

QUESTION = "Who keeps the lamp?"
DATA = Dataset((Query("q1", QUESTION, (Fact((Passage("the keeper"),)),)),), name="light")


def found(*chunks, reranker=None, data=DATA, **options):
    """Return the evaluation of a system that returns these chunks for every query."""
    system = FakeRetriever({query.text: chunks for query in data})
    return evaluate(system, data, reranker=reranker, ks=(1,), k=50, metrics=("rr",), **options)


def placed(start, text="the keeper of the lamp", doc="island"):
    return Chunk(text, doc_id=doc, start=start, end=start + len(text))


def chunks_of(pooled):
    (query,) = pooled.queries
    return [(each.chunk.doc_id, each.chunk.start, each.chunk.text) for each in query.chunks]


def test_every_stage_of_every_system_is_pooled_with_its_ranks():
    first = found("a", "b", "c", reranker=FakeReranker({"c": 9.0, "b": 5.0}))
    second = found("c", "d")
    pooled = pool({"one": first, "two": second}, depth=2)
    assert pooled.systems == ("one/retrieve", "one/rerank", "two/retrieve")
    assert (pooled.depth, pooled.name, len(pooled)) == (2, "light", 4)
    assert repr(pooled) == (
        "Pool('light', 1 queries, 4 pairs, the first 2 hits of one/retrieve, one/rerank, two/retrieve)"
    )
    assert {each.chunk.text: each.ranks for each in pooled.queries[0].chunks} == {
        "a": {"one/retrieve": 1},
        "b": {"one/retrieve": 2, "one/rerank": 2},
        "c": {"one/rerank": 1, "two/retrieve": 1},
        "d": {"two/retrieve": 2},
    }
    assert pooled.queries[0].query is first.dataset.queries[0]


def test_one_span_is_one_chunk_and_the_same_words_elsewhere_are_another():
    pooled = pool([found(placed(40), placed(5)), found(placed(5)), found(placed(5, doc="coast"))])
    words = "the keeper of the lamp"
    assert chunks_of(pooled) == [("coast", 5, words), ("island", 5, words), ("island", 40, words)]
    assert pooled.queries[0].chunks[1].ranks == {"fake/retrieve": 2, "fake #2/retrieve": 1}


def test_words_without_a_place_are_the_chunk_that_has_one():
    loose = Chunk("The  keeper\nof the LAMP", doc_id="island")
    for ranked in ([loose], ["the keeper of the lamp"]):
        pooled = pool([found(*ranked), found(placed(40), placed(5))])
        assert [place[:2] for place in chunks_of(pooled)] == [("island", 5), ("island", 40)]
        assert pooled.queries[0].chunks[0].ranks == {"fake/retrieve": 1, "fake #2/retrieve": 2}


def test_words_of_another_document_stay_apart_though_their_place_in_it_is_not_known():
    pooled = pool([found(Chunk("the keeper of the lamp", doc_id="coast")), found(placed(5))])
    assert [place[:2] for place in chunks_of(pooled)] == [("coast", None), ("island", 5)]


def test_a_place_that_comes_with_other_words_is_not_the_same_chunk():
    other = Chunk("somebody else's words!", doc_id="island", start=5, end=27)
    assert len(pool([found(placed(5)), found(other)])) == 2


def test_a_system_that_returns_a_chunk_twice_has_its_better_rank():
    assert pool(found("a", "b", "a")).queries[0].chunks[0].ranks == {"retrieve": 1}


def test_a_query_that_failed_or_came_back_empty_has_no_chunks():
    data = replace(DATA, queries=(*DATA.queries, Query("q2", "Where?"), Query("q3", "When?")))
    system = FakeRetriever({QUESTION: ["a"], "Where?": RuntimeError("down")})
    pooled = pool(evaluate(system, data, ks=(1,), retries=0))
    assert [len(each.chunks) for each in pooled.queries] == [1, 0, 0]


def test_what_cannot_be_pooled_is_refused_by_name():
    first = found("a")
    more = replace(DATA, queries=(*DATA.queries, Query("q9", "Where?")))
    asked = replace(DATA, queries=(replace(DATA.queries[0], text="Who?"),))
    labelled = replace(DATA, queries=(replace(DATA.queries[0], facts=()),))
    for second, message in (
        (found("a", data=more), r"queries differ between 'a/retrieve' and 'b/retrieve': found q9"),
        (found("a", data=asked), r"text of queries differ .*q1"),
        (found("a", data=labelled), r"labels of queries differ .*rescore"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            pool({"a": first, "b": second})
    with pytest.raises(ConfigurationError, match="no hit"):
        pool(found())
    with pytest.raises(ConfigurationError, match=r"pool: found raglift.*Evaluation; expected a Pool"):
        grade(first, "openai:gpt-4o-mini")
    for depth in (0, True, 2.5):
        with pytest.raises(ConfigurationError, match="depth"):
            pool(first, depth=depth)
    for nothing in ([], {}, "runs/a", [DATA]):
        with pytest.raises(ConfigurationError, match="expected an Evaluation"):
            pool(nothing)


@st.composite
def any_chunk(draw):
    words = draw(st.sampled_from(["the lamp", "The  Lamp", "a horn"]))
    doc = draw(st.sampled_from([None, "a", "b"]))
    start = draw(st.sampled_from([None, 0, 10])) if doc is not None else None
    return Chunk(words, doc_id=doc, start=start, end=None if start is None else start + 8)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(st.lists(any_chunk(), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_what_is_pooled_does_not_depend_on_the_order_of_systems_or_hits(chunks, chance):
    mixed = chance.sample(chunks, len(chunks))
    first, second = (pool(found(*order), depth=12) for order in (chunks, mixed))
    places = [
        [(each.chunk.doc_id, each.chunk.start, each.chunk.text.lower().split()) for each in pooled.queries[0].chunks]
        for pooled in (first, second)
    ]
    assert places[0] == places[1]
    assert len(places[0]) == len({(doc, start, *words) for doc, start, words in places[0]})
    assert {rank for each in first.queries[0].chunks for rank in each.ranks.values()} <= set(range(1, 13))
