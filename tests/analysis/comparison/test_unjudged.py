"""What hits that nobody judged can do to a figure and to a verdict."""

import dataclasses

import numpy as np
import pytest

from raglift.analysis.unjudged import is_unjudged_note, unjudged_of
from raglift.gating.deciding import gate
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import Precision, Recall
from raglift.records.dataset import Dataset
from raglift.records.documents import Chunk
from raglift.records.labels import Fact, Passage, Query
from raglift.results.comparison import compare
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeRetriever


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


def figures(evaluation, metric, **options):
    (found, values) = unjudged_of({"": evaluation}, metric, **options)
    return found, values


def test_the_share_is_of_the_first_hits_of_the_labelled_queries():
    one = system([["a", "b", "x", "y"], ["a", "x"]], relevant="a", irrelevant="b")
    found, _ = figures(one, NDCG @ 4)
    assert found.shares[""] == 3 / 6
    assert (found.relevant, found.judged) == (2, 3)


def test_if_all_judged_hits_but_one_are_relevant_nearly_all_unjudged_ones_would_be():
    # of 4 judged hits 2 are relevant, so of 4 unjudged ones 2 are taken to be: precision rises by half of what it could
    one = system([["a", "b", "x", "y"], ["a", "b", "z", "w"]], relevant="a", irrelevant="b")
    found, values = figures(one, Precision @ 4)
    assert found.counted[""] == 1 / 4
    assert found.supposed[""] == pytest.approx(1 / 4 + 2 / 8)
    assert values.shape == (1, 2)


def test_recall_falls_with_relevant_hits_that_another_system_found():
    first = system([["a", "b", "x"]] * 40, relevant="a", irrelevant="b")
    second = system([["a", "b"]] * 40, relevant="a", irrelevant="b")
    places = dict.fromkeys("12", np.arange(40))
    found, _ = unjudged_of({"1": first, "2": second}, Recall @ 4, places)
    assert found.shares == {"1": 1 / 3, "2": 0.0}
    # half of the 40 chunks x are taken to be relevant; the second system finds none of them
    assert found.supposed == {"1": 1.0, "2": pytest.approx(0.5 + 0.5 * 0.5)}
    alone, _ = unjudged_of({"1": first, "2": second}, Recall @ 4, places, same_chunks=False)
    assert alone.supposed["2"] == 1.0


def test_the_figures_are_the_same_each_time():
    one = system([["a", "b", "x", "y", "z"]] * 5, relevant="a", irrelevant="b")
    first, second = (figures(one, NDCG @ 4)[0].supposed for _ in range(2))
    assert first == second


@pytest.mark.parametrize("irrelevant", ["", "c"])
def test_where_no_hit_was_judged_irrelevant_nothing_is_supposed(irrelevant, judged_by_model, ranked):
    if irrelevant:
        found, values = figures(system([["a", "x"]], relevant="a", irrelevant=irrelevant), NDCG @ 4)
    else:
        found, values = figures(judged_by_model(ranked([1, 2]), labels=2, metrics=["rr", "ndcg"]), NDCG @ 3)
    assert (found.supposed, values) == (None, None)


def test_nothing_is_said_where_people_named_what_is_relevant_or_nearly_all_was_judged():
    assert unjudged_of({"": system([["a", "x"]], relevant="a")}, NDCG @ 4) is None
    assert unjudged_of({"": system([["a", "b"]], relevant="a", irrelevant="b")}, NDCG @ 4) is None


def test_at_a_budget_the_hits_that_fit_are_looked_at():
    one = system([["a", "b", "x", "y"]], relevant="a", irrelevant="b", metrics=["ndcg"], ks=("tokens(6)",))
    (metric,) = one.scores.metrics
    found, _ = figures(one, metric)
    assert found.shares[""] == 1 / 3  # each text has two tokens


# In a comparison: whether the verdict could turn.


def test_a_comparison_says_what_the_verdict_would_be():
    common = {"relevant": "ad", "irrelevant": "bce"}
    early, late = (system([hits] * 40, **common) for hits in (["a", "b", "c", "e"], ["b", "c", "a", "x"]))
    found = compare({"early": early, "late": late}, primary="ndcg@4")
    assert found.row("late").verdict == "worse"
    assert found.unjudged.turned == {}
    first, second = (found.unjudged.supposed[name] for name in ("early", "late"))
    (warning,) = found.warnings
    assert warning == (
        "of the top-4 hits, 0.0% in early and 25.0% in late have no label and count as irrelevant; if the same share "
        f"of them were relevant as of the labelled ones (40 of 160), NDCG@4 would be {first:.3f} instead of 0.613 in "
        f"early and be {second:.3f} instead of 0.307 in late, and the verdict would stay the same"
    )


def test_a_verdict_that_could_turn_is_named():
    queries = 40
    common = {"relevant": "a", "irrelevant": "bce"}
    both = {
        "judged": system([["a", "b", "c", "e"]] * queries, **common),
        "unjudged": system([["x", "y", "a", "z"]] * queries, **common),
    }
    found = compare(both, primary="precision@4")
    assert found.row("unjudged").verdict == "not significant"
    assert found.unjudged.turned == {"unjudged": "better"}
    assert found.warnings[0].endswith("the verdict could change: unjudged would be better")
    assert found.row("unjudged").verdict == "not significant"  # what is supposed decides nothing


def test_judged_is_in_no_table_and_in_the_frame_where_it_was_asked_for():
    one = system([["a", "b", "x"]] * 3, relevant="a", irrelevant="b", metrics=["ndcg", "judged", "unjudged"])
    assert "Judged@" not in str(one)
    assert "Unjudged@" not in str(one)
    assert "Judged@" not in one.to_markdown()
    assert {"Judged", "Unjudged"} <= set(one.to_frame()["metric"])
    together = compare({"one": one, "other": dataclasses.replace(one)})
    assert "Judged@" not in str(together)
    assert "judged@4" in set(together.to_frame()["metric"])


def test_judged_shows_where_nothing_else_was_taken():
    assert "Judged@4" in str(system([["a", "x"]], relevant="a", metrics=["judged"]))


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
        return [text for text in (*result.notes, *result.warnings) if is_unjudged_note(text)]

    assert len(told(gate(late, minimum={"ndcg@4": 0}))) == 1
    (only,) = told(gate(late, baseline=early, no_regression=["ndcg@4"]))
    assert "the verdict would" in only


def test_notes_of_runs_saved_by_the_first_version_are_recognized():
    assert is_unjudged_note("nobody judged 60.0% of the first 2 hits of each query: they count as irrelevant")
    assert not is_unjudged_note("20 queries excluded from all averages: unanswerable")
