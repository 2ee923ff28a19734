"""Hits that nobody judged: the range of a metric, condensed lists, and the measures that pass over them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.analysis.unjudged import condensed_to_judged
from raglift.components.bm25 import BM25Retriever
from raglift.matching.by_id import match_ids
from raglift.metrics import RR, Precision, Recall
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.records import Fact, Passage, Query

NAMES = "abcdefgh"
grades = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3), max_size=6)
ids = st.lists(st.sampled_from(NAMES + "xyz"), max_size=10, unique=True)
cases = st.lists(st.tuples(grades, ids), min_size=1, max_size=4)


def system(rankings, labels, judged="pool", **options):
    """A system that returns chunks by their ids; labels are grades of ids, 0 for what was judged irrelevant."""
    queries = tuple(
        Query(
            f"q{number}",
            f"question {number}",
            tuple(Fact((Passage(chunk_id=name, grade=grade),)) for name, grade in of_query.items() if grade),
            judged_irrelevant=tuple(Passage(chunk_id=name, grade=0) for name, grade in of_query.items() if not grade),
        )
        for number, of_query in enumerate(labels)
    )
    found = {query.text: ranking for query, ranking in zip(queries, rankings, strict=True)}
    chosen = {"ks": (4,), "metrics": ["ndcg", "recall", "precision", "rr"]} | options
    dataset = rl.Dataset(queries).with_judged(judged)
    return rl.evaluate(lambda text: [rl.Chunk(f"text {name}", id=name) for name in found[text]], dataset, **chosen)


# Condensed lists, bpref and infAP, as trec_eval has them.


@pytest.mark.parametrize(
    ("name", "theirs"), [("ndcg@5", "ndcg_cut_5"), ("ap", "map"), ("precision@5", "P_5"), ("rr", "recip_rank")]
)
@given(pairs=cases)
@settings(max_examples=40, deadline=None)
def test_condensed_lists_are_rankings_without_what_has_no_label(name: str, theirs: str, pairs) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = {str(n): labels for n, (labels, _) in enumerate(pairs) if any(labels.values())}
    rankings = {str(n): found for n, (_, found) in enumerate(pairs)}
    table = match_ids(rankings, {str(n): labels for n, (labels, _) in enumerate(pairs)})
    ours = compute(condensed_to_judged(table), parse(name))
    run = {
        query: {doc: float(-rank) for rank, doc in enumerate(d for d in rankings[query] if d in labels)}
        for query, labels in qrels.items()
    }
    measured = pytrec_eval.RelevanceEvaluator(qrels, {theirs}).evaluate(run) if qrels else {}
    for query in qrels:
        expected = measured.get(query, {}).get(theirs, 0.0) if run[query] else 0.0
        assert ours[int(query)] == pytest.approx(expected, abs=1e-9)


def test_bpref_and_inf_ap_are_trec_evals() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    labels = [{"a": 2, "b": 0, "c": 1, "d": 0}, {"a": 1, "b": 0}]
    rankings = [["b", "x", "a", "y", "c"], ["x", "a", "b"]]
    found = system(rankings, labels).holes("ndcg@4")
    run = {str(n): {name: float(-rank) for rank, name in enumerate(ranking)} for n, ranking in enumerate(rankings)}
    qrels = {str(n): of_query for n, of_query in enumerate(labels)}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"bpref", "infAP"}).evaluate(run).values()
    assert found.bpref == pytest.approx(np.mean([one["bpref"] for one in theirs]), abs=1e-6)
    assert found.inf_ap == pytest.approx(np.mean([one["infAP"] for one in theirs]), abs=1e-6)


def test_rbp_and_its_residual_are_those_of_moffat_and_zobel() -> None:
    # relevant, unjudged, irrelevant, unjudged; the residual is what these and all below rank 4 could add
    found = system([["a", "x", "b", "y", "z"]], [{"a": 1, "b": 0}]).holes("ndcg@4")
    assert found.rbp == pytest.approx(0.2 * 1)
    assert found.rbp_residual == pytest.approx(0.2 * (0.8 + 0.8**3) + 0.8**4)


# The range.


def test_the_three_suppositions_by_hand() -> None:
    # of 4 hits one is relevant, one irrelevant, two unjudged
    found = system([["a", "x", "b", "y"]], [{"a": 1, "b": 0, "c": 1}]).holes(Precision @ 4)
    assert (found.hits, found.unjudged) == (4, 2)
    assert (found.irrelevant, found.relevant) == (1 / 4, 3 / 4)
    assert found.range == (1 / 4, 3 / 4)


def test_recall_is_then_of_the_facts_that_they_are_too() -> None:
    found = system([["a", "x", "b", "y"]], [{"a": 1, "b": 0, "c": 1}]).holes(Recall @ 4)
    assert found.irrelevant == 1 / 2
    assert found.relevant == 3 / 4  # a, x, y of a, c, x, y


def test_the_share_at_each_rank_leans_on_the_share_of_all_ranks() -> None:
    labels = [{"a": 1, "b": 0}] * 50
    found = system([["a", "b", "x"]] * 50, labels).holes(Precision @ 4)
    assert [(each.judged, each.relevant) for each in found.ranks] == [(50, 50), (50, 0), (0, 0)]
    # of 100 judged hits 50 are relevant; 5 more of this share are added at each rank
    assert [each.share for each in found.ranks] == pytest.approx([52.5 / 55, 2.5 / 55, 0.5])
    assert found.as_judged == pytest.approx(1 / 4 + 0.5 / 4, abs=0.02)


@pytest.mark.parametrize(
    ("ranking", "queries", "judged", "is_estimated"),
    [
        ("abx", 50, "pool", True),
        ("abx", 50, "sample", True),
        ("abx", 50, None, False),  # not declared
        ("abx", 49, "pool", False),  # 49 judged irrelevant
        ("abxy", 50, "pool", True),  # half of the hits unjudged
        ("abxyz", 50, "pool", False),
    ],
)
def test_it_is_estimated_from_pools_and_samples_with_50_irrelevant_hits_alone(
    ranking: str, queries: int, judged: str | None, *, is_estimated: bool
) -> None:
    one = system([list(ranking)] * queries, [{"a": 1, "b": 0}] * queries, judged, ks=(5,))
    found = one.holes("precision@5")
    assert (found.as_judged is not None) == is_estimated
    assert all((each.share is not None) == is_estimated for each in found.ranks)
    assert ("It is unknown how many" in found.to_text()) != is_estimated
    assert found.range == (pytest.approx(1 / 5), pytest.approx((len(ranking) - 1) / 5))


def test_labels_missing_at_random_are_made_good() -> None:
    random = np.random.default_rng(0)
    rankings, labels, full = [], [], []
    for _ in range(300):
        names = [f"d{number}" for number in range(10)]
        relevant = random.random(10) < np.linspace(0.8, 0.1, 10)
        relevant[0] = True  # a query without a fact would be left out
        known = random.random(10) < 0.5
        known[0] = True
        rankings.append(names)
        full.append(relevant.mean())
        labels.append({name: int(is_) for name, is_, seen in zip(names, relevant, known, strict=True) if seen})
    found = system(rankings, labels, metrics=["precision@10"], ks=(10,)).holes()
    truth = float(np.mean(full))
    assert found.as_judged == pytest.approx(truth, abs=0.02)
    assert found.irrelevant < truth - 0.1
    assert found.relevant > truth + 0.1


def test_without_anything_judged_irrelevant_only_the_ends_are_known() -> None:
    found = system([["a", "x"]], [{"a": 1}]).holes(RR @ 4)
    assert (found.as_judged, found.condensed, found.bpref, found.inf_ap) == (None, None, None, None)
    assert found.range == (1.0, 1.0)
    assert "It is unknown how many" in found.to_text()


def test_all_judged_leaves_nothing_to_say() -> None:
    one = system([["a", "b"]], [{"a": 1, "b": 0}])
    assert one.holes().range == (1.0, 1.0)
    assert "All 2 hits were judged" in str(one.holes())
    assert "Unjudged hits" not in one.to_text()


def test_labels_by_text_follow_the_match_rule() -> None:
    # a hit inside what was judged irrelevant is judged; one that only contains it is not
    unwanted = Passage("The museum is open from May to September.", grade=0)
    query = Query(
        "q", "?", (Fact((Passage("The lamp is lit at dusk by the keeper."),)),), judged_irrelevant=(unwanted,)
    )
    hits = [unwanted.text, f"{unwanted.text} The lamp burns whale oil.", "Something else altogether here."]
    found = rl.evaluate(lambda _: hits, rl.Dataset((query,)), metrics=["ndcg@3"]).holes()
    assert found.unjudged == 2


def test_a_saved_run_says_the_same(tmp_path) -> None:
    one = system([["a", "x", "b", "y"]] * 4, [{"a": 1, "b": 0, "c": 1}] * 4)
    one.save(tmp_path / "run")
    assert rl.load_evaluation(tmp_path / "run").holes() == one.holes()


def test_a_metric_that_was_not_scored_is_refused() -> None:
    with pytest.raises(rl.errors.ConfigurationError, match="not scored"):
        system([["a"]], [{"a": 1}]).holes("ndcg@7")


def test_recall_up_to_a_budget_has_no_range_and_its_page_is_made_without_one(tmp_path):
    pages = rl.load_dataset("lighthouse")
    chunks = list(rl.RecursiveChunker(600, 0).split(pages.documents))
    found = rl.evaluate(BM25Retriever(chunks), pages, chunks=chunks, metrics=["recall_area"], progress=False)
    with pytest.raises(rl.errors.ConfigurationError, match="of what is read"):
        found.holes()
    found.report(tmp_path / "page.html")
    assert "Recall up to 2,000 tokens" in (tmp_path / "page.html").read_text()
