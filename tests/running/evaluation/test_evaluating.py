"""evaluate(): the figures, who counts in them, and what the reader is told."""

import copy
import json
import math

import numpy as np
import pytest

from raglift.auditing.dataset_audit import audit
from raglift.errors import ConfigurationError
from raglift.matching.rule import MatchRule
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import RR, HitRate, Precision, Recall
from raglift.results.comparison import compare
from raglift.retrieval.bm25 import BM25Retriever
from raglift.running.evaluation import evaluate
from raglift.running.recorded import evaluate_rankings
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking


def fact(*texts):
    return Fact(tuple(Passage(text) for text in texts))


def filler(number):
    return f"nothing to the point, number {number}"


# Three questions; what answers them is retrieved at ranks 2 and 4, at rank 1, and not at all.
ROWLOCK, OARS = "the rowlock is made of bronze", "the oars are made of ash"
KEEPER = "the keeper was called Halvard"
FERRY = "the ferry leaves at nine"
DATA = Dataset(
    (
        Query("boat", "What is the boat made of?", (fact(ROWLOCK), fact(OARS))),
        Query("keeper", "Who kept the light?", (fact(KEEPER),)),
        Query("ferry", "When does the ferry leave?", (fact(FERRY),)),
    ),
    name="island",
)
RESULTS = {
    "What is the boat made of?": [filler(1), f"We know that {ROWLOCK}.", filler(2), f"We know that {OARS}."],
    "Who kept the light?": [f"It is said that {KEEPER}.", filler(3), filler(4), filler(5)],
    "When does the ferry leave?": [filler(6), filler(7), filler(8), filler(9)],
}
# The reranker moves the boat's answers to ranks 1 and 2, and the keeper's down to rank 4.
SCORES = {
    f"We know that {OARS}.": 9.0,
    f"We know that {ROWLOCK}.": 8.0,
    filler(3): 7.0,
    filler(4): 6.0,
    filler(5): 5.0,
}


def measure(system=None, reranker=None, data=DATA, ks=(1, 3), **options):
    return evaluate(FakeRetriever(RESULTS) if system is None else system, data, reranker=reranker, ks=ks, **options)


def notes(evaluation):
    return "\n".join(evaluation.notes)


def test_before_after_and_lift_of_a_hand_computed_example():
    evaluation = measure(reranker=FakeReranker(SCORES))
    scores = evaluation.scores
    assert (evaluation.before, evaluation.after) == ("retrieve", "rerank")
    assert scores.query_ids == ("boat", "keeper", "ferry")
    by_hand = {
        # boat, keeper, ferry; before and after
        HitRate @ 1: ([0, 1, 0], [1, 0, 0]),
        HitRate @ 3: ([1, 1, 0], [1, 0, 0]),
        Precision @ 3: ([1 / 3, 1 / 3, 0], [2 / 3, 0, 0]),
        Recall @ 1: ([0, 1, 0], [1 / 2, 0, 0]),
        Recall @ 3: ([1 / 2, 1, 0], [1, 0, 0]),
        RR @ 3: ([1 / 2, 1, 0], [1, 0, 0]),
        NDCG @ 3: ([(1 / math.log2(3)) / (1 + 1 / math.log2(3)), 1, 0], [1, 0, 0]),
    }
    for metric, (before, after) in by_hand.items():
        np.testing.assert_allclose(scores.of("retrieve", metric), before)
        np.testing.assert_allclose(scores.of("rerank", metric), after)
        np.testing.assert_allclose(evaluation.lift(metric), np.subtract(after, before))
        assert scores.mean("retrieve", metric) == pytest.approx(np.mean(before))
        assert evaluation.mean_lift(metric) == pytest.approx(np.mean(after) - np.mean(before))
        assert scores.n("retrieve", metric) == 3
    assert [note for note in evaluation.notes if "equal scores" not in note] == []
    assert evaluation.truncated == {}


def test_metrics_come_in_the_order_asked_for_at_each_depth():
    evaluation = measure(metrics=["mrr", NDCG @ 2, "recall@7", Precision, "ndcg@2"], ks=(3, 1, 3))
    names = [str(metric) for metric in evaluation.scores.metrics]
    assert names == ["rr@1", "rr@3", "ndcg@2", "recall@7", "precision@1", "precision@3"]
    assert evaluation.run.spec["ks"] == [1, 2, 3, 7]
    assert [str(metric) for metric in measure(metrics="mrr", ks=range(1, 3)).scores.metrics] == [
        "rr@1",
        "rr@2",
    ]
    assert [metric.k for metric in measure(metrics=NDCG, ks=np.array([5, 2])).scores.metrics] == [2, 5]


def test_candidates_are_raised_to_the_largest_k():
    retriever = FakeRetriever(RESULTS)
    assert measure(retriever, depth="deep", candidates=2, ks=(1, 3)).run.spec["candidates"] == 3
    assert measure(retriever, depth="deep", candidates=5, ks=(1, 3)).run.spec["candidates"] == 5
    assert measure(retriever, depth="deep", candidates=5, metrics=["ndcg@8"]).run.spec["candidates"] == 8
    assert {k for _, k in retriever.asked} == {3, 5, 8}


def test_a_failed_query_counts_0_and_is_noted():
    results = RESULTS | {"Who kept the light?": RuntimeError("no index")}
    evaluation = measure(FakeRetriever(results), FakeReranker(SCORES))
    assert evaluation.scores.of("retrieve", RR @ 3).tolist() == [0.5, 0.0, 0.0]
    assert evaluation.scores.of("rerank", RR @ 3).tolist() == [1.0, 0.0, 0.0]
    assert evaluation.scores.n("rerank", RR @ 3) == 3
    assert "1 question failed and counts 0; the first, keeper: retrieve: RuntimeError: no index" in notes(evaluation)


def test_a_query_that_fails_at_the_reranker_keeps_its_first_stage():
    class Picky(FakeReranker):
        def rerank(self, queries, rankings):
            if "Who kept the light?" in queries:
                raise RuntimeError("out of memory")
            return super().rerank(queries, rankings)

    evaluation = measure(reranker=Picky(SCORES))
    assert evaluation.scores.of("retrieve", RR @ 3).tolist() == [0.5, 1.0, 0.0]
    assert evaluation.scores.of("rerank", RR @ 3).tolist() == [1.0, 0.0, 0.0]
    assert evaluation.lift(RR @ 3).tolist() == [0.5, -1.0, 0.0]
    assert "keeper: rerank: RuntimeError: out of memory" in notes(evaluation)


def test_what_comes_back_empty_counts_0_and_is_noted():
    evaluation = measure(FakeRetriever({**RESULTS, "Who kept the light?": []}), lambda query, texts: [])
    assert evaluation.scores.mean("retrieve", RR @ 3) == pytest.approx(0.5 / 3)
    assert notes(evaluation).splitlines() == [
        "retrieve: 1 question with labels came back empty and counts 0",
        "rerank: 2 questions with labels came back empty and count 0",
    ]
    assert evaluation.mean_lift(RR @ 3) == pytest.approx(-0.5 / 3)


def test_of_bm25_it_is_said_that_no_chunk_has_a_word_of_the_query():
    evaluation = measure(BM25Retriever([Chunk(FERRY), Chunk(KEEPER), Chunk(ROWLOCK)], language="en"), ks=(1,))
    told = "retrieve: 1 question with labels came back empty and counts 0: no chunk has any of the words that BM25 "
    assert f"{told}looked for" in notes(evaluation).splitlines()


@pytest.mark.parametrize(
    ("profile", "outcome_of_fact"),
    [
        ("autorag", "is left out of its means"),
        ("ragas", "is left out of the means of Precision and F1; elsewhere it counts 0"),
    ],
)
def test_what_comes_back_empty_is_noted_as_the_profile_counts_it(profile, outcome_of_fact):
    evaluation = measure(FakeRetriever({**RESULTS, "Who kept the light?": []}), profile=profile)
    assert f"retrieve: 1 question with labels came back empty and {outcome_of_fact}" in notes(evaluation).splitlines()
    found = {str(metric): evaluation.scores.n("retrieve", metric) for metric in evaluation.scores.metrics}
    assert found["recall@3"] == (2 if profile == "autorag" else 3)
    assert found["precision@3"] == (2 if profile in ("autorag", "ragas") else 3)


def test_unlabelled_and_unanswerable_queries_are_left_out_and_counted():
    extra = (
        Query("unlabelled", "How deep is it?"),
        Query("impossible", "Who is the king?", answerable=False),
        Query("mad", "Why?", (fact(ROWLOCK),), answerable=False),
    )
    evaluation = measure(data=Dataset(DATA.queries + extra))
    assert evaluation.scores.n("retrieve", RR @ 3) == 3
    assert evaluation.scores.mean("retrieve", RR @ 3) == pytest.approx(0.5)
    assert np.isnan(evaluation.scores.of("retrieve", RR @ 3)[3:]).all()
    assert notes(evaluation).splitlines() == [
        "2 questions excluded from all averages: unanswerable",
        "1 question excluded from all averages: no labels",
    ]


@pytest.mark.parametrize("reranker", [None, FakeReranker({})])
def test_no_queries_are_an_error(reranker):
    with pytest.raises(ConfigurationError, match="found no questions in 'empty'; expected at least one"):
        measure(data=Dataset((), name="empty"), reranker=reranker)


@pytest.mark.slow
def test_a_reranker_that_cuts_is_marked_and_has_no_lift_beyond():
    evaluation = measure(reranker=FakeReranker(SCORES, top_n=2), ks=(1, 2, 3))
    assert evaluation.truncated == {"rerank": 2}
    assert evaluation.mean_lift(RR @ 2) is not None
    assert evaluation.mean_lift(RR @ 3) is None
    assert evaluation.is_truncated("rerank", RR @ 3)
    assert not evaluation.is_truncated("retrieve", RR @ 3)
    assert notes(evaluation) == "rerank: returned at most 2 hits: no fair lift at a deeper k"
    assert "†" in evaluation.to_text()


def test_a_filter_by_content_is_not_marked_and_has_lift():
    def only_known(query, texts):
        return [(place, 1.0) for place, text in enumerate(texts) if text in SCORES]

    evaluation = measure(reranker=only_known)
    assert [len(trace.stages[1].ranking) for trace in evaluation.run.traces] == [2, 3, 0]
    assert evaluation.truncated == {}
    assert evaluation.mean_lift(RR @ 3) is not None


def test_a_retriever_that_takes_no_k_is_marked():
    def search(query):
        return RESULTS[query][:2]

    evaluation = measure(search, FakeReranker(SCORES), ks=(1, 2, 3))
    assert evaluation.truncated == {"retrieve": 2}
    assert evaluation.is_truncated("retrieve", RR @ 3)
    assert evaluation.mean_lift(RR @ 3) is not None  # both stages had the same candidates
    assert notes(evaluation).splitlines() == [
        "retrieve: k could not be set on search (it takes no k)",
        "retrieve: returned at most 2 hits: no more came back, whatever was asked",
    ]


def bronze_first(store):
    """A LangChain retriever with a compressor that keeps two."""
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_core.documents import BaseDocumentCompressor

    class KeepsTwo(BaseDocumentCompressor):
        top_n: int = 2

        def compress_documents(self, documents, query, callbacks=None):
            return sorted(documents, key=lambda document: "bronze" not in document.page_content)[: self.top_n]

    compressor = KeepsTwo()
    retriever = ContextualCompressionRetriever(base_retriever=store.as_retriever(), base_compressor=compressor)
    return retriever, compressor


@pytest.fixture
def store():
    """A real LangChain vector store of all the texts."""
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    texts = [text for results in RESULTS.values() for text in results]
    store.add_documents([LangChainDocument(page_content=text, id=str(n)) for n, text in enumerate(texts)])
    return store


def test_as_deployed_every_part_keeps_its_settings(store):
    retriever, compressor = bronze_first(store)
    deployed = measure(retriever)
    for query, trace in zip(DATA.queries, deployed.run.traces, strict=True):
        asked = [document.page_content for document in retriever.invoke(query.text)]
        assert [hit.chunk.text for hit in trace.stages[1].ranking] == asked
    assert [len(trace.stages[1].ranking) for trace in deployed.run.traces] == [2, 2, 2]
    assert deployed.truncated == {"retrieve": 4, "rerank": 2}
    assert deployed.run.spec["depth"] == "deployed"
    assert compressor.top_n == 2
    assert retriever.base_compressor is compressor
    assert retriever.base_retriever.search_kwargs == {}


@pytest.mark.slow
def test_a_langchain_retriever_with_a_llama_index_postprocessor(store):
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

    class BronzeFirst(BaseNodePostprocessor):
        top_n: int = 2

        def _postprocess_nodes(self, nodes, query_bundle=None):
            assert query_bundle.query_str in RESULTS
            return sorted(nodes, key=lambda node: "bronze" not in node.text)[: self.top_n]

    retriever, postprocessor = store.as_retriever(search_kwargs={"k": 2}), BronzeFirst()
    evaluation = measure(retriever, postprocessor, depth="deep", candidates=12, ks=(1, 12))
    assert evaluation.scores.of("rerank", RR @ 1).tolist() == [1.0, 0.0, 0.0]
    assert evaluation.scores.of("retrieve", HitRate @ 12).tolist() == [1.0, 1.0, 0.0]
    assert evaluation.mean_lift(HitRate @ 12) == 0.0  # top_n was raised to all candidates
    before, after = (stage.ranking for stage in evaluation.run.traces[0].stages)
    assert {hit.chunk.id for hit in before} == {hit.chunk.id for hit in after}
    assert retriever.search_kwargs == {"k": 2}
    assert postprocessor.top_n == 2


def test_nothing_of_the_users_is_changed():
    retriever, reranker = FakeRetriever(RESULTS), FakeReranker(SCORES)
    results, scores, data = copy.deepcopy(retriever.results), dict(reranker.scores), copy.deepcopy(DATA)
    ks, metrics, rerankers = [3, 1], ["rr"], [reranker]
    evaluate(retriever, DATA, reranker=rerankers, ks=ks, metrics=metrics)
    assert (retriever.results, reranker.scores, DATA) == (results, scores, data)
    assert (ks, metrics, rerankers) == ([3, 1], ["rr"], [reranker])


@pytest.mark.slow
def test_concurrency_gives_the_same_evaluation():
    sequential = measure(reranker=FakeReranker(SCORES))
    for options in ({"concurrency": 3}, {"concurrency": 2, "timeout": 10}):
        at_once = measure(reranker=FakeReranker(SCORES), **options)
        np.testing.assert_array_equal(at_once.scores.values, sequential.scores.values)
        for one, other in zip(at_once.run.traces, sequential.run.traces, strict=True):
            assert [stage.ranking for stage in one.stages] == [stage.ranking for stage in other.stages]


def test_coverage_adds_up_what_the_hits_cover_and_containment_wants_one_hit():
    whole = "the ferry leaves at nine in summer and at ten in winter"
    data = Dataset((Query("ferry", "When does it leave?", (fact(whole),)),))
    system = FakeRetriever({"When does it leave?": [f"We read: {whole[:32]}", f"{whole[26:]}, they say"]})
    for match, recall, precision in [
        ("containment", (0, 0), (0, 0)),
        ("coverage", (1, 1), (1, 1)),
        (MatchRule("coverage", threshold=0.9), (0, 1), (1, 1)),
    ]:
        scores = measure(system, data=data, ks=(1, 2), match=match).scores
        assert tuple(scores.mean("retrieve", Recall @ k) for k in (1, 2)) == recall
        assert tuple(scores.mean("retrieve", Precision @ k) for k in (1, 2)) == precision


def test_by_coverage_a_scrap_is_not_relevant_though_the_tutorial_lets_it_match():
    data = Dataset((Query("ferry", "?", (fact(FERRY),)),))
    for match, relevant in [("containment", 1), ("coverage", 0)]:
        found = measure(FakeRetriever({"?": ["leaves"]}), data=data, ks=(1,), match=match, profile="tutorial")
        assert found.scores.mean("retrieve", Precision @ 1) == relevant


@pytest.mark.slow
def test_the_match_rule_and_the_profile_are_recorded():
    spec = measure().run.spec
    assert spec["match"] == {
        "mode": "containment",
        "minimum_length": 20,
        "unicode_folding": False,
        "threshold": None,
    }
    assert spec["profile"] == "default"
    assert spec["doc_key"] is None
    spec = measure(profile="tutorial").run.spec
    assert (spec["profile"], spec["match"]["minimum_length"]) == ("tutorial", 0)
    spec = measure(match=MatchRule(unicode_folding=True), profile="tutorial").run.spec
    assert (spec["match"]["minimum_length"], spec["match"]["unicode_folding"]) == (20, True)


def test_the_spec_is_plain_and_says_what_ran():
    spec = measure(concurrency=2, retries=1).run.spec
    json.dumps(spec)
    assert spec["dataset"]["name"] == "island"
    assert spec["dataset"]["queries"] == 3
    assert (spec["concurrency"], spec["retries"], spec["timeout"]) == (2, 1, None)
    assert {"python", "numpy", "raglift"} <= set(spec["environment"])
    assert spec["started"].endswith("+00:00")


def test_the_dataset_hash_is_of_what_is_in_it():
    def hash_of(queries, documents=()):
        return measure(data=Dataset(tuple(queries), tuple(documents))).run.spec["dataset"]["hash"]

    one = hash_of(DATA.queries)
    assert hash_of(DATA.queries) == one
    others = [
        hash_of(DATA.queries[:2]),
        hash_of(DATA.queries, [Document("d", "text")]),
        hash_of(DATA.queries, [Document("d", "text \ud800")]),
        hash_of([*DATA.queries[:2], Query("ferry", "When does the ferry leave?", (fact("at ten o'clock sharp"),))]),
    ]
    assert len({one, *others}) == 5


def test_doc_key_names_the_documents():
    documents = (Document("boats", f"... {ROWLOCK} ..."), Document("spoons", f"... {ROWLOCK} ..."))
    data = Dataset((Query("q", "bronze?", (Fact((Passage(ROWLOCK, doc_id="boats"),)),)),), documents)

    def search(query, k):
        return [{"text": f"so {ROWLOCK}", "metadata": {"book": book}} for book in ("spoons", "boats")]

    known = evaluate(search, data, ks=(1, 2), doc_key="book", metrics=["rr"])
    assert known.scores.of("retrieve", RR @ 2).tolist() == [0.5]
    assert known.run.spec["doc_key"] == "book"
    unknown = evaluate(search, data, ks=(1, 2), metrics=["rr"])
    assert unknown.scores.of("retrieve", RR @ 2).tolist() == [1.0]
    assert "2 matches by text alone" in notes(unknown)


def test_a_number_of_hits_that_a_system_does_not_take_is_noted():
    def fixed(query):
        return ["one", "two"]

    data = Dataset.from_dict({"Which?": ["one"]})
    (note,) = [found for found in evaluate(fixed, data, k=5).notes if "no effect" in found]
    assert note.startswith(
        "retrieve: returns as many hits as its own settings say, so k=5 has no effect; the depths of"
    )
    assert not [found for found in evaluate(fixed, data, ks=(5,)).notes if "no effect" in found]
    assert not [found for found in evaluate(lambda query, k: fixed(query)[:k], data, k=5).notes if "no effect" in found]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"concurency": 4},
            "found the option 'concurency'; expected one of concurrency, .*ks, .*reranker",
        ),
        ({"metrics": ["ndgc"]}, "found 'ndgc' .*ndcg"),
        ({"profile": "trek"}, "profile: found 'trek'; expected one of 'default', 'tutorial', 'autorag', 'trec'"),
        ({"match": "cover"}, "match: found 'cover'; expected one of 'containment'"),
        ({"ks": 5}, "ks: found 5; expected a list of depths"),
        ({"ks": None}, "ks: found None"),
        ({"candidates": "many", "depth": "deep"}, "candidates: found 'many'"),
        ({"depth": "deeper"}, "depth: found 'deeper'; expected one of 'deployed', 'deep'"),
        ({"reranker": 5}, "reranker: found a int"),
        ({"data": {"a": ["b"]}}, r"dataset: found a dict; expected a Dataset, from load_dataset\(\)"),
    ],
    ids=repr,
)
def test_what_cannot_be_used_is_refused_before_anything_is_asked(options, message):
    retriever = FakeRetriever(RESULTS)
    with pytest.raises(ConfigurationError, match=message):
        measure(retriever, **options)
    assert retriever.asked == []


def test_a_list_of_plain_dicts_is_a_dataset():
    records = [{"question": "lit when?", "passages": ["lit at dusk"]}, {"question": "who?", "passages": ["the keeper"]}]
    texts = {"lit when?": ["the lamp is lit at dusk"], "who?": ["nobody"]}
    one, other = (evaluate(lambda query, k=k: texts[query][:k], records, ks=(1,)) for k in (1, 0))
    assert [query.id for query in one.dataset] == ["q1", "q2"]
    assert one.scores.of("retrieve", "recall@1").tolist() == [1, 0]
    assert compare(one, other).row("function #2").difference.mean < 0
    ranked = {query.id: Ranking.of((Chunk(text), None) for text in texts[query.text]) for query in one.dataset}
    same = evaluate_rankings(ranked, one.dataset, system="file", ks=(1,))
    assert same.scores.of("retrieve", "recall@1").tolist() == [1, 0]
    assert (same.truncated, same.depth_limit) == (one.truncated, one.depth_limit)
    assert (same.run.spec["returned"], same.run.spec.keys() & {"dtype", "retries", "batch_size"}) == (1, set())
    assert "; 1 candidate;" in str(same)


def test_label_texts_are_looked_for_in_every_document():
    documents = [Document("a", "The lamp is lit at dusk."), Document("b", "The horn  is blown in\nfog.")]
    relevant = {
        "lit when?": ["is LIT at dusk", "the lamp is never lit"],
        "blown when?": ["horn is blown in fog", "the lamp is never lit", "blown at noon"],
    }
    evaluation = evaluate(lambda query: ["nothing"], Dataset.from_dict(relevant, documents=documents), ks=(1,))
    (note,) = [note for note in evaluation.notes if "occur in none" in note]
    assert note.startswith("3 label texts occur in none of the documents")
    assert "question q1: 'the lamp is never lit'" in note


CAPITALS = (
    Document("france.md", "France is in Europe. Its capital has been Paris for centuries. People drink wine."),
    Document("germany.md", "Berlin is the capital of Germany."),
)


def test_answers_in_place_of_passages_are_pointed_out():
    relevant = {"capital of France?": ["Paris, I think"], "capital of Germany?": ["It is the city of Berlin"]}
    data = Dataset.from_dict(relevant, documents=CAPITALS)
    evaluation = evaluate(lambda query, k: [document.text for document in CAPITALS], data, ks=(1,))
    expected = (
        "no label text occurs in any document: are these answers rather than passages? A label is a passage of a "
        "document, word for word; no passage is like the first, “Paris, I think” of question q1"
    )
    assert expected in evaluation.notes
    assert expected in audit(data).notes


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["Its capital has been Pariss for centuries."], "are the labels from another version of the documents?"),
        (["Paris, I think", "Berlin is the capital"], None),
    ],
)
def test_other_labels_are_not_called_answers(labels, said):
    data = Dataset.from_dict({"capital?": labels}, documents=CAPITALS)
    notes = evaluate(lambda query: ["nothing"], data, ks=(1,)).notes
    assert [said in note for note in notes if "in any document" in note] == ([True] if said else [])


def test_a_timeout_that_cannot_apply_is_said():
    data = Dataset.from_dict({"q": ["the text that answers it"]})
    reranker = FakeReranker({})  # takes all queries at once
    evaluation = evaluate(lambda query: ["the text"], data, reranker=reranker, ks=(1,), timeout=5)
    assert "rerank: takes all questions at once, so the timeout of one question does not apply" in evaluation.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "mteb"}, "profile: found 'mteb'; expected one of 'default'"),
        ({"candidates": 20}, "candidates: found 20 without a reranker, for a system that is asked as it is deployed"),
        ({"candidates": 20, "reranker": "none"}, "candidates: found 20 without a reranker"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        measure(**options)


def test_a_dataset_may_be_given_by_its_name():
    found = measure(lambda query: ["The lamp"], data="lighthouse")
    assert found.dataset.name == "lighthouse"
    assert len(found.run.traces) == len(found.dataset.queries) > 0


def test_offsets_that_are_false_are_dropped_and_counted():
    document = Document("log", f"It is said that {KEEPER}. {ROWLOCK}.")
    chunks = [Chunk(KEEPER, id="a", doc_id="log", start=0, end=len(KEEPER)), Chunk(ROWLOCK, id="b", doc_id="log")]
    evaluation = measure(lambda query: chunks, data=Dataset(DATA.queries, (document,)))
    assert any("1 distinct chunk came with offsets at which their document has another" in n for n in evaluation.notes)
    assert evaluation.hits("keeper")[0].chunk.start != 0
