"""Plain functions as retrievers and rerankers: every accepted kind of result, and what is refused."""

import asyncio
import functools
from decimal import Decimal

import numpy as np
import pytest

from raglift.adapters.functions import chunk_and_score, reranker_stage, retriever_stage, retriever_stages
from raglift.errors import ConfigurationError
from raglift.types.documents import Chunk
from raglift.types.rankings import Hit, Ranking

CHUNK = Chunk("Prince Vasili", id="c1", doc_id="war", start=3, end=16)


def retrieve(function, k=10, doc_key=None):
    retriever = retriever_stage(function, doc_key=doc_key).retriever
    if hasattr(retriever, "aretrieve_one"):
        return asyncio.run(retriever.aretrieve_one("who?", k))
    return retriever.retrieve_one("who?", k)


def texts(ranking):
    return [hit.chunk.text for hit in ranking]


@pytest.mark.parametrize(
    ("result", "chunk", "score"),
    [
        ("Prince Vasili", Chunk("Prince Vasili"), None),
        (CHUNK, CHUNK, None),
        (Hit(CHUNK, 7, 0.5), CHUNK, 0.5),
        ({"text": "Prince Vasili", "id": "c1", "doc_id": "war", "start": 3, "end": 16}, CHUNK, None),
        ({"text": "Prince Vasili", "score": 2}, Chunk("Prince Vasili"), 2.0),
        ({"text": "t", "id": 0, "doc_id": 7}, Chunk("t", id="0", doc_id="7"), None),
        ({"text": "t", "metadata": {"doc_id": "war"}}, Chunk("t", doc_id="war", metadata={"doc_id": "war"}), None),
        ({"text": "t", "start": np.int64(1), "end": "2"}, Chunk("t", start=1), None),
        ({"text": "t", "start_index": 4}, Chunk("t", start=4), None),
        ({"text": "t", "metadata": {"start_index": 4}}, Chunk("t", start=4, metadata={"start_index": 4}), None),
        ({"text": "t", "start_index": -1}, Chunk("t"), None),
        ({"text": "t", "source": "war.md", "vector": [0.5]}, Chunk("t", metadata={"source": "war.md"}), None),
        (("Prince Vasili", 0.5), Chunk("Prince Vasili"), 0.5),
        (["Prince Vasili", 0.5], Chunk("Prince Vasili"), 0.5),
        (("Prince Vasili", None), Chunk("Prince Vasili"), None),
        ((CHUNK, np.float32(0.5)), CHUNK, 0.5),
        ((CHUNK, np.int64(3)), CHUNK, 3.0),
        ((CHUNK, np.array(0.5)), CHUNK, 0.5),
        ((CHUNK, Decimal("0.5")), CHUNK, 0.5),
        ((CHUNK, float("-inf")), CHUNK, float("-inf")),
        (({"text": "t", "score": 1.0}, 0.25), Chunk("t"), 0.25),
    ],
)
def test_every_accepted_kind_of_result(result, chunk, score):
    found, found_score = chunk_and_score(result)
    assert found == chunk
    assert found_score == score
    assert found_score is None or type(found_score) is float


def test_doc_key_names_the_document_of_a_mapping():
    result = {"text": "t", "doc_id": "chunk-file-7", "metadata": {"book": "war"}}
    assert chunk_and_score(result, "book")[0].doc_id == "war"
    assert chunk_and_score(result, "absent")[0].doc_id is None


@pytest.mark.parametrize(
    "result",
    [
        None,
        7,
        b"bytes",
        {"title": "no text"},
        {"text": None},
        object(),
        (0.5, "score first"),
        ("doc-1", "an id, then the text"),
        ("text", "0.5"),
        ("text", True),
        ("text", {"a": "dict"}),
        ("text", 0.5, "three"),
    ],
)
def test_other_results_are_refused(result):
    with pytest.raises(ConfigurationError, match=r"^a retriever's result: found a .*; expected"):
        chunk_and_score(result)


@pytest.mark.parametrize("name", ["k", "top_k", "n", "limit"])
def test_a_function_that_takes_a_depth_is_given_it(name):
    namespace = {}
    exec(f"def search(query, {name}=3): return [str(i) for i in range({name})]", namespace)  # noqa: S102
    stage = retriever_stage(namespace["search"])
    assert stage.depth_fixed == ()
    assert stage.system == "function search"
    assert len(stage.retriever.retrieve_one("who?", 5)) == 5


def test_a_function_that_takes_no_depth_says_so():
    def search(query):
        return ["a", "b", "c"]

    stage = retriever_stage(search)
    assert stage.depth_fixed == ("search (it takes no k)",)
    assert texts(retrieve(search)) == ["a", "b", "c"]
    assert texts(retrieve(search, k=2)) == ["a", "b"]


class Searcher:
    def __init__(self, letters="abc"):
        self.letters = letters

    def __call__(self, query, k):
        return list(self.letters[:k])

    def search(self, query, *, top_k):
        return list(self.letters[:top_k])


async def search_async(query, k, letters="abc"):
    await asyncio.sleep(0)
    return list(letters[:k])


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (Searcher(), "Searcher"),
        (Searcher().search, "search"),
        (functools.partial(Searcher().search), "search"),
        (functools.partial(Searcher(), k=1), "Searcher"),
        (lambda query, k: list("abc"[:k]), "<lambda>"),
        (lambda query, k: (letter for letter in "abc"[:k]), "<lambda>"),
        (lambda query, k: np.array(list("abc"[:k])), "<lambda>"),
        (search_async, "search_async"),
        (functools.partial(search_async, letters="abcd"), "search_async"),
    ],
)
def test_everything_callable_is_a_retriever(function, name):
    stage = retriever_stage(function)
    assert stage.system == f"function {name}"
    assert stage.depth_fixed == ()
    assert texts(retrieve(function, k=2)) == ["a", "b"]


def test_a_function_without_a_signature():
    assert retriever_stage(str.split).depth_fixed
    assert texts(retrieve(str.split)) == ["who?"]


def test_a_coroutine_from_a_lambda_is_refused_with_the_way_out():
    with pytest.raises(ConfigurationError, match=r"returned a coroutine.*async def"):
        retrieve(lambda query: search_async(query, 1))
    with pytest.raises(ConfigurationError, match=r"returned a coroutine.*async def"):
        rerank(lambda query, texts: search_async(query, 1))


RANKING = Ranking.of([(Chunk("x", id="1"), 0.9), (Chunk("y", id="2"), 0.8), (Chunk("z", id="3"), 0.7)])


def rerank(function, ranking=RANKING):
    reranker = reranker_stage(function).reranker
    if hasattr(reranker, "arerank_one"):
        return asyncio.run(reranker.arerank_one("who?", ranking))
    return reranker.rerank_one("who?", ranking)


async def scores_async(query, texts):
    return [1.0, 3.0, 2.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda query, texts: [1, 3, 2],
        lambda query, texts: (1.0, 3.0, 2.0),
        lambda query, texts: np.array([1, 3, 2], dtype=np.float32),
        lambda query, texts: [np.float16(1), np.float64(3), np.int8(2)],
        lambda query, texts: (score for score in [1.0, 3.0, 2.0]),
        lambda query, texts: [(1, 3.0), (2, 2.0), (0, 1.0)],
        lambda query, texts: [[1, 3.0], [2, 2.0], [0, 1.0]],
        lambda query, texts: np.array([[1, 3.0], [2, 2.0], [0, 1.0]]),
        lambda query, texts: [(np.int64(1), np.float32(3)), (np.int64(2), 2.0), (0, 1.0)],
        lambda query, texts: {1: 3.0, 2: 2.0, 0: 1.0}.items(),
        functools.partial(lambda scores, query, texts: scores, [1, 3, 2]),
        scores_async,
    ],
)
def test_scores_and_pairs_reorder(function):
    ranking = rerank(function)
    assert [(hit.chunk.id, hit.rank, hit.score) for hit in ranking] == [("2", 1, 3.0), ("3", 2, 2.0), ("1", 3, 1.0)]


def test_equal_scores_keep_their_order():
    assert texts(rerank(lambda query, texts: [0.5, 0.5, 0.5])) == ["x", "y", "z"]
    assert texts(rerank(lambda query, texts: [-0.0, 0.0, float("inf")])) == ["z", "x", "y"]


def test_texts_reorder_and_may_be_left_out():
    ranking = rerank(lambda query, texts: ["z", "x"])
    assert [(hit.chunk.id, hit.rank, hit.score) for hit in ranking] == [("3", 1, None), ("1", 2, None)]


def test_equal_texts_are_distinguished_by_their_order():
    twins = Ranking.of([(Chunk("x", id="1"), None), (Chunk("y", id="2"), None), (Chunk("x", id="3"), None)])
    ranking = rerank(lambda query, texts: ["x", "x", "y"], twins)
    assert [hit.chunk.id for hit in ranking] == ["1", "3", "2"]
    with pytest.raises(ConfigurationError, match="returned a text that it was not given: 'x'"):
        rerank(lambda query, texts: ["x", "x", "x"], twins)


def test_pairs_may_leave_hits_out_and_so_may_nothing_at_all():
    assert texts(rerank(lambda query, texts: [(2, 0.5)])) == ["z"]
    assert texts(rerank(lambda query, texts: [])) == []


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ([1.0, 2.0], "2 items for 3 texts"),
        ([1.0, 2.0, 3.0, 4.0], "4 items for 3 texts"),
        ([1.0, float("nan"), 2.0], "3 items for 3 texts, as nan"),
        ([True, False, True], "as True"),
        ([(0, 1.0), (3, 2.0)], r"as \(3, 2.0\)|as \(0, 1.0\)"),
        ([(-1, 1.0)], r"as \(-1, 1.0\)"),
        ([(0.5, 1.0)], r"as \(0.5, 1.0\)"),
        ([(0, float("nan"))], r"as \(0, nan\)"),
        ([(0, 1.0), (0, 0.5)], "an index twice"),
        ([[0.1], [0.2], [0.3]], r"as \[0.1\]"),
        ([None, None, None], "as None"),
        (["x", 0.5, "z"], "3 items for 3 texts, as 'x'"),
        (["w"], "a text that it was not given: 'w'"),
        ("xyz", "str"),
        (b"xyz", "bytes"),
        ({"x": 1.0}, "dict"),
        (None, "NoneType"),
        (0.5, "float"),
    ],
)
def test_other_results_of_a_reranker_are_refused(result, found):
    with pytest.raises(ConfigurationError, match=f"<lambda> returned .*{found}"):
        rerank(lambda query, texts: result)


def test_a_reranker_that_is_async_is_not_asked_about_nothing() -> None:
    assert rerank(scores_async, Ranking()) == Ranking()


def test_numbers_that_are_each_once_are_doubted_unless_another_query_has_others() -> None:
    texts = [Chunk(letter, id=letter) for letter in "abcdef"]
    one, other = Ranking.of((text, None) for text in texts), Ranking.of((text, None) for text in texts[::-1])
    places = {"a": 3, "b": 1, "c": 0, "d": 2, "e": 5, "f": 4}
    reranker = reranker_stage(lambda query, given: [places[text] for text in given]).reranker
    answered = [reranker.rerank_one("who?", ranking) for ranking in (one, other)]
    assert "returned the numbers 0 to 5 for each query" in reranker.doubt(answered)
    counts = Ranking.of((text, 1.0) for text in texts)
    assert reranker.doubt([*answered, counts]) is None


def test_methods_of_a_class_in_c_are_not_judged_by_a_signature_that_they_do_not_have() -> None:
    class Known:
        retrieve_one = {"a": []}.pop

    assert retriever_stages(Known())[0].system == "Known"
