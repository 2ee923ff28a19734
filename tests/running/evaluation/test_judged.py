"""Judged@k is taken where it is named; where labels say what was judged, a note says what they leave open."""

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.metrics.computing import DEFAULT_METRICS
from raglift.metrics.graded_measures import Judged
from raglift.metrics.rank_measures import Recall
from raglift.results.comparison import compare
from raglift.results.evaluation import load_evaluation
from raglift.running.scoring import rescore

RANKS = [1, 2, None, 3]


@pytest.fixture
def labelled(ranked, judged_by_model):
    """An evaluation of labels that a model gave, of which some lines were judged irrelevant."""

    def build(**options):
        return judged_by_model(ranked(RANKS), labels=4, irrelevant={0: [1], 1: [1], 2: [1, 2, 3]}, **options)

    return build


def measures(evaluation):
    return {metric.name for metric in evaluation.scores.metrics}


@pytest.mark.parametrize("labels", [{}, {"labels": 1}, {"written": 1}, {"irrelevant": {0: [2]}}])
def test_it_is_taken_where_it_is_named_alone(ranked, judged_by_model, labels):
    assert "judged" not in measures(judged_by_model(ranked(RANKS), **labels))
    assert measures(judged_by_model(ranked(RANKS), metrics=["recall", "judged"], **labels)) == {"recall", "judged"}


def test_nothing_is_noted_where_people_said_what_is_relevant(ranked):
    assert not any("judged" in note for note in ranked(RANKS, metrics=DEFAULT_METRICS).notes)


def test_its_values_are_shares_of_the_hits(labelled):
    evaluation = labelled(metrics=["judged"])
    # the answer and line 1; line 1 and the answer; three lines judged irrelevant; nothing but the answer
    np.testing.assert_allclose(evaluation.scores.of("retrieve", Judged @ 3), [2 / 3, 2 / 3, 1, 1 / 3])
    assert evaluation.scores.of("retrieve", Judged @ 1).tolist() == [1, 1, 1, 0]


def test_what_was_judged_irrelevant_changes_no_other_measure(ranked, labelled):
    plain, judged = rescore(ranked(RANKS), ks=(1, 3)), labelled()
    for metric in plain.scores.metrics:
        np.testing.assert_array_equal(plain.scores.of("retrieve", metric), judged.scores.of("retrieve", metric))


@pytest.mark.slow
def test_it_is_saved_and_loaded(labelled, tmp_path):
    evaluation = labelled(metrics=["recall", "judged"])
    loaded = load_evaluation(evaluation.save(tmp_path / "run"))
    assert loaded.scores.metrics == evaluation.scores.metrics
    assert loaded.dataset.label_sources == evaluation.dataset.label_sources
    assert str(loaded) == str(evaluation)


def test_a_note_says_how_much_nobody_judged_and_what_that_can_do(labelled):
    (note,) = [note for note in labelled().notes if "have no label" in note]
    assert note == (
        "of the top-3 hits, 33.3% have no label and count as irrelevant; NDCG@3 is 0.533 to 0.653, depending on them; "
        "label next the 4 hits (raglift labels review)"
    )


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
