"""What hits that nobody judged can do to a figure and to a verdict."""

import dataclasses

import numpy as np
import pytest

from raglift.analysis.unjudged import unjudged_of
from raglift.gating.deciding import gate
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import Precision, Recall
from raglift.report.sentences import comparison_sentence
from raglift.results.comparison import compare
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query


def system(rankings, relevant, irrelevant=(), **options):
    """A system that returns chunks by their ids, one ranking a query; the labels are of ids too."""
    queries = tuple(
        Query(
            f"q{number}",
            f"question {number}",
            tuple(Fact((Passage(chunk_id=name),)) for name in relevant),
            judged_irrelevant=tuple(Passage(chunk_id=name, grade=0) for name in irrelevant),
        )
        for number in range(len(rankings))
    )
    found = {query.text: ranking for query, ranking in zip(queries, rankings, strict=True)}
    settings = {"ks": (4,), "metrics": ["ndcg", "recall", "precision"]} | options
    chunks = {name: Chunk(f"text {name}", id=name) for ranking in rankings for name in ranking}
    return evaluate(lambda text: [chunks[name] for name in found[text]], Dataset(queries), **settings)


def test_the_share_is_of_the_first_hits_of_the_labelled_queries():
    one = system([["a", "b", "x", "y"], ["a", "x"]], relevant="a", irrelevant="b")
    found = unjudged_of({"": one}, NDCG @ 4)
    assert (found.shares[""], found.to_label) == (3 / 6, 3)


def test_without_a_declaration_the_range_alone_is_said():
    one = system([["a", "b", "x", "y"]] * 60, relevant="a", irrelevant="b")
    found = unjudged_of({"": one}, Precision @ 4)
    assert found.ranges[""] == (1 / 4, 3 / 4)
    (note,) = (remark.text for remark in one.remarks if remark.kind == "unjudged")
    low, high = unjudged_of({"": one}, NDCG @ 4).ranges[""]
    assert note == (
        f"of the top-4 hits, 50.0% have no label and count as irrelevant; NDCG@4 is {low:.3f} to {high:.3f}, depending "
        "on them; label next the 120 hits (raglift labels review)"
    )


def test_recall_falls_with_relevant_hits_that_another_system_found():
    first = system([["a", "b", "x"]] * 40, relevant="a", irrelevant="b")
    second = system([["a", "b"]] * 40, relevant="a", irrelevant="b")
    places = dict.fromkeys("12", np.arange(40))
    found = unjudged_of({"1": first, "2": second}, Recall @ 4, places)
    assert found.shares == {"1": 1 / 3, "2": 0.0}
    assert found.ranges == {"1": (1.0, 1.0), "2": (0.5, 1.0)}  # the second system does not find x
    alone = unjudged_of({"1": first, "2": second}, Recall @ 4, places, same_chunks=False)
    assert alone.ranges["2"] == (1.0, 1.0)


def test_nothing_is_said_where_people_named_what_is_relevant_or_nearly_all_was_judged():
    assert unjudged_of({"": system([["a", "x"]], relevant="a")}, NDCG @ 4) is None
    assert unjudged_of({"": system([["a", "b"]], relevant="a", irrelevant="b")}, NDCG @ 4) is None


def test_at_a_budget_the_hits_that_fit_are_looked_at():
    one = system([["a", "b", "x", "y"]], relevant="a", irrelevant="b", metrics=["ndcg"], ks=("tokens(6)",))
    (metric,) = one.scores.metrics
    found = unjudged_of({"": one}, metric)
    assert found.shares[""] == 1 / 3  # each text has two tokens


def test_a_comparison_says_the_range_of_each_and_what_to_label_next():
    common = {"relevant": "ad", "irrelevant": "bce"}
    early, late = (system([hits] * 40, **common) for hits in (["a", "b", "c", "e"], ["b", "c", "a", "x"]))
    found = compare({"early": early, "late": late}, primary="ndcg@4")
    assert found.row("late").verdict == "worse"
    assert found.unjudged.to_label == 40  # x, which early does not return
    (warning,) = found.warnings
    assert "0.0% in early and 25.0% in late have no label" in warning
    assert warning.endswith("label next the 40 hits that not all of the systems return (raglift labels review)")


@pytest.mark.slow
def test_what_is_unjudged_is_in_no_headline_and_changes_no_verdict():
    common = {"relevant": "a", "irrelevant": "bce"}
    both = {
        "judged": system([["a", "b", "c", "e"]] * 60, **common),
        "unjudged": system([["b", "x", "y", "c"]] * 60, **common),
    }
    found = compare(both, primary="precision@4")
    assert found.row("unjudged").verdict == "worse"
    assert comparison_sentence(found).endswith("statistically significant on 60 questions.")


@pytest.mark.slow
def test_judged_is_shown_where_it_was_asked_for():
    one = system([["a", "b", "x"]] * 3, relevant="a", irrelevant="b", metrics=["ndcg", "judged"])
    assert "Judged@4" in str(one)
    assert "Judged@4" in one.to_markdown()
    assert "judged@4" in set(one.to_frame()["metric"])
    together = compare({"one": one, "other": dataclasses.replace(one)})
    assert "Judged@4" in str(together)
    assert "judged@4" in set(together.to_frame()["metric"])


def test_an_id_of_two_texts_of_which_one_was_judged_counts_as_judged():
    passage = Passage("It is in the tower, as they say.")
    dataset = Dataset((Query("q", "where is it", (Fact((passage,)),), judged_irrelevant=(passage,)),))
    hits = [Chunk("It is in the tower, as they say.", id="c"), Chunk("Something else altogether.", id="c")]
    evaluation = evaluate(FakeRetriever({"where is it": hits}), dataset, ks=(1, 2))
    assert any("have no label" in note for note in evaluation.notes)


def test_a_gate_says_it_once_in_the_words_of_the_comparison():
    common = {"relevant": "ad", "irrelevant": "bce", "metrics": ["ndcg"]}
    early, late = (system([hits] * 40, **common) for hits in (["a", "b", "x", "e"], ["b", "c", "a", "x"]))

    def told(result):
        return [text for text in (*result.notes, *result.warnings) if "have no label" in text]

    assert len(told(gate(late, minimum={"ndcg@4": 0}))) == 1
    (only,) = told(gate(late, baseline=early, no_regression=["ndcg@4"]))
    assert "25.0% in baseline and 25.0% in function" in only
