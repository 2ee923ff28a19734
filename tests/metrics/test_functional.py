from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.metrics.functional import dcg, f1_at_k, hit_rate_at_k, idcg, ndcg, precision_at_k, recall_at_k
from raglift.types.documents import Chunk
from raglift.types.rankings import Hit, Ranking


@pytest.mark.parametrize(
    ("function", "relevance", "expected"),
    [
        (dcg, [3, 2, 3, 0, 1], 6.1487),  # 6.1488 where each term is rounded before they are added
        (idcg, [3, 2, 3, 0, 1], 6.3235),
        (ndcg, [3, 2, 3, 0, 1], 0.9724),
        (dcg, [1, 2, 3, 0, 1], 4.1487),
        (ndcg, [1, 2, 3, 0, 1], 0.7990),
        (ndcg, [], 0),
        (ndcg, [0, 0], 0),
    ],
)
def test_worked_values(function: Callable, relevance: list[int], expected: float) -> None:
    assert function(relevance, k=5) == pytest.approx(expected, abs=1e-4)
    assert function(relevance) == function(relevance, k=5) == function(tuple(relevance), 99)


def test_the_ideal_is_the_given_list_sorted_unless_all_grades_are_given() -> None:
    assert ndcg([1, 0, 1], k=5) == pytest.approx(0.9197, abs=5e-5)
    assert ndcg([1, 0, 1], k=5, ideal=[1, 1, 1]) == pytest.approx(0.7039, abs=5e-5)
    assert ndcg([2], ideal=[1, 3, 2], k=1) == pytest.approx(2 / 3)
    assert idcg([1, 3], k=1) == 3  # the whole list is sorted before it is cut


@given(st.lists(st.floats(0, 9)), st.integers(1, 12))
def test_ndcg_of_a_list_lies_between_nothing_and_its_ideal(relevance: list[float], k: int) -> None:
    assert 0 <= ndcg(relevance, k) <= 1
    assert ndcg(sorted(relevance, reverse=True), k) in (0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dcg([1], 0), "k: found 0; expected an integer, 1 or more"),
        (lambda: recall_at_k(["a"], ["a"], 2.0), "k: found 2.0; expected an integer, 1 or more"),
        (lambda: hit_rate_at_k("war", ["war"], 5), "docs: found one text; expected a list"),
        (lambda: precision_at_k([3], ["war"], 5), "docs: found a int; expected a text, or an object with one"),
    ],
)
def test_what_cannot_be_used_is_refused(call: Callable, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()


def test_texts_match_when_one_contains_the_other() -> None:
    docs = ["x", "It was in JULY,\n1805", "war", "z"]
    truth = ["july, 1805", "war and peace", "Moscow"]
    assert hit_rate_at_k(docs, truth, 4) == 1
    assert precision_at_k(docs, truth, 4) == 2 / 4
    assert recall_at_k(docs, truth, 4) == 2 / 3
    assert (hit_rate_at_k(docs, truth, 1), recall_at_k(docs, truth, 2)) == (0, 1 / 3)
    assert precision_at_k(["war"], ["war"], 10) == 0.1  # also when fewer came back


@pytest.mark.parametrize(("docs", "truth"), [([""], ["war"]), (["war"], [" \n"]), ([], ["war"]), (["war"], [])])
def test_an_empty_text_never_matches(docs: list[str], truth: list[str]) -> None:
    assert [of(docs, truth, 3) for of in (hit_rate_at_k, precision_at_k, recall_at_k)] == [0, 0, 0]
    assert recall_at_k(["war"], ["war", ""], 1) == 1 / 2


@pytest.mark.parametrize(("precision", "recall", "f1"), [(0, 0, 0), (1, 0, 0), (0.2, 2 / 3, 0.3077), (1, 1, 1)])
def test_f1(precision: float, recall: float, f1: float) -> None:
    assert f1_at_k(precision, recall) == pytest.approx(f1, abs=5e-5)


def langchain_document(text: str) -> object:
    documents = pytest.importorskip("langchain_core.documents")
    return documents.Document(page_content=text, metadata={"source": "war"})


def llama_index_scored(text: str) -> object:
    schema = pytest.importorskip("llama_index.core.schema")
    return schema.NodeWithScore(node=schema.TextNode(text=text, metadata={"file_name": "war"}), score=0.5)


def llama_index_multimodal(text: str) -> object:
    schema = pytest.importorskip("llama_index.core.schema")
    return schema.Node(text_resource=schema.MediaResource(text=text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    [str, Chunk, lambda text: Hit(Chunk(text), 1), langchain_document, llama_index_scored, llama_index_multimodal],
)
def test_the_documents_of_every_framework_have_a_text(build: Callable[[str], object]) -> None:
    docs = [build("no such word"), build("It was in July, 1805")]
    assert precision_at_k(docs, ["July, 1805"], 2) == 1 / 2
    assert recall_at_k(docs, ["war"], 2) == 0  # metadata are no text


def test_a_ranking_is_a_list_of_documents() -> None:
    ranking = Ranking.of([(Chunk("war"), 0.9), (Chunk("peace"), 0.8)])
    assert (recall_at_k(ranking, ["peace"], 1), recall_at_k(ranking, ["peace"], 2)) == (0, 1)
