"""Judged@k joins the default measures where the labels say what was judged, and notes say what they leave open."""

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.metrics.computing import DEFAULT_METRICS
from raglift.metrics.judged_measures import Judged
from raglift.metrics.rank_measures import Recall
from raglift.results.comparison import compare
from raglift.results.evaluation import load_evaluation
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeRetriever

RANKS = [1, 2, None, 3]


@pytest.fixture
def labelled(ranked, judged_by_model):
    """An evaluation of labels that a model gave, of which some lines were judged irrelevant."""

    def build(**options):
        return judged_by_model(ranked(RANKS), labels=4, irrelevant={0: [1], 1: [1], 2: [1, 2, 3]}, **options)

    return build


def measures(evaluation):
    return {metric.name for metric in evaluation.scores.metrics}


def test_it_stays_away_where_people_said_what_is_relevant(ranked):
    assert "judged" not in measures(ranked(RANKS, metrics=DEFAULT_METRICS))
    assert not any("judged" in note for note in ranked(RANKS, metrics=DEFAULT_METRICS).notes)


@pytest.mark.parametrize("labels", [{"labels": 1}, {"written": 1}, {"irrelevant": {0: [2]}}])
def test_it_joins_where_a_model_had_a_part_or_something_was_judged_irrelevant(ranked, judged_by_model, labels):
    again = judged_by_model(ranked(RANKS), **labels)
    assert [metric for metric in again.scores.metrics if metric.name == "judged"] == [Judged @ 1, Judged @ 3]
    direct = evaluate(FakeRetriever({}), again.dataset, ks=(2,))
    assert direct.scores.metrics[-1] == Judged @ 2
    assert "Judged@1" in str(again)


def test_it_does_not_join_measures_that_were_asked_for(labelled):
    assert measures(labelled(metrics=["recall"])) == {"recall"}
    assert measures(labelled(metrics=["recall", "judged"])) == {"recall", "judged"}


def test_its_values_are_shares_of_the_hits(labelled):
    evaluation = labelled()
    # the answer and line 1; line 1 and the answer; three lines judged irrelevant; nothing but the answer
    np.testing.assert_allclose(evaluation.scores.of("retrieve", Judged @ 3), [2 / 3, 2 / 3, 1, 1 / 3])
    assert evaluation.scores.of("retrieve", Judged @ 1).tolist() == [1, 1, 1, 0]


def test_what_was_judged_irrelevant_changes_no_other_measure(ranked, labelled):
    plain, judged = rescore(ranked(RANKS), ks=(1, 3)), labelled()
    for metric in plain.scores.metrics:
        np.testing.assert_array_equal(plain.scores.of("retrieve", metric), judged.scores.of("retrieve", metric))


def test_it_is_saved_and_loaded_and_joins_when_scored_again(labelled, tmp_path):
    evaluation = labelled()
    loaded = load_evaluation(evaluation.save(tmp_path / "run"))
    assert loaded.scores.metrics == evaluation.scores.metrics
    assert loaded.dataset.label_sources == evaluation.dataset.label_sources
    assert str(loaded) == str(evaluation)
    again = rescore(load_evaluation(labelled(metrics=["recall"]).save(tmp_path / "other")), ks=(1, 3))
    np.testing.assert_array_equal(again.scores.values, evaluation.scores.values)


def test_a_note_says_how_much_nobody_judged(labelled):
    (note,) = [note for note in labelled().notes if "judged" in note and "nobody" in note]
    assert note == "nobody judged 33.3% of the first 3 hits of each query: they count as irrelevant (see Judged@k)"


def test_no_note_where_nearly_all_was_judged(ranked, judged_by_model):
    every = judged_by_model(ranked([1] * 4), labels=4, irrelevant={number: range(1, 7) for number in range(4)})
    assert every.scores.mean("retrieve", Judged @ 3) == 1
    assert every.notes == ()


def test_a_note_says_that_labels_are_mixed(ranked, judged_by_model):
    mixed = judged_by_model(ranked([1] * 4), labels=3)
    assert mixed.notes[0] == (
        "the labels are mixed: passages were judged by openai:gpt-4o-mini (relevance@3f9a1c07) (3) and by people (1), "
        "who may not agree; the figures rest on all of them"
    )
    alone = judged_by_model(ranked([1] * 4), labels=4)
    assert not any("mixed" in note for note in alone.notes)
    written = judged_by_model(ranked([1] * 4), written=2)  # who asked is no judge
    assert not any("mixed" in note for note in written.notes)


def test_it_never_decides(labelled):
    evaluation = labelled(metrics=["judged", "recall"])
    assert compare([evaluation, evaluation]).primary == Recall @ 3
    with pytest.raises(ConfigurationError, match="no measure of quality"):
        compare([evaluation, evaluation], primary="judged@3")
