"""A model's grades next to people's: the figures against scikit-learn, the intervals against the truth, and reasons."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from raglift.errors import ConfigurationError
from raglift.grading.comparing import agreement, agreement_of
from raglift.grading.labels import labels_of_people
from raglift.grading.pooling import pool
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.labels import Annotator, Fact, Passage, Query

pytestmark = pytest.mark.slow


def agreed(people, model, query, **options):
    return agreement_of(*map(np.asarray, (people, model, query)), **options)


GRADES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60)


@settings(deadline=None, max_examples=50)
@given(GRADES)
def test_matrix_and_kappas_are_those_of_scikit_learn(pairs):
    people, model = (np.array(column) for column in zip(*pairs, strict=True))
    assume(len(set(people[people > 0].tolist())) > 1 and 0 in people)
    found = agreed(people, model, np.arange(len(pairs)))
    np.testing.assert_array_equal(found.matrix, confusion_matrix(people, model, labels=range(4)))
    assert found.kappa.value == pytest.approx(cohen_kappa_score(people > 0, model > 0))
    assert found.weighted.value == pytest.approx(cohen_kappa_score(people, model, labels=range(4), weights="quadratic"))
    assert found.same.value == pytest.approx(float((people == model).mean()))
    assert found.raw.value == pytest.approx(float(((people > 0) == (model > 0)).mean()))


def test_the_threshold_says_what_is_relevant():
    people, model = [0, 1, 2, 3, 1, 2], [0, 2, 2, 3, 0, 1]
    found = agreed(people, model, range(6), threshold=2)
    assert found.kappa.value == pytest.approx(cohen_kappa_score(np.array(people) > 1, np.array(model) > 1))


def drawn(chance, queries, flips):
    """Return grades of two judges: the pairs of one query are alike, and so are the mistakes in it."""
    rate = chance.beta(2, 3, queries)
    mistakes = chance.beta(1, 1 / flips - 1, queries)
    query = np.repeat(np.arange(queries), 10)
    people = (chance.random(len(query)) < rate[query]).astype(int)
    model = np.where(chance.random(len(query)) < mistakes[query], 1 - people, people)
    return people, model, query


def test_where_people_only_said_relevant_that_is_relevant_at_any_threshold_of_the_model():
    people, model = [1, 1, 1, 0, 0, 0], [3, 2, 1, 1, 2, 0]
    found = agreed(people, model, range(6), threshold=2)
    assert (found.threshold, found.threshold_of_people) == (2, 1)
    assert found.raw.value == pytest.approx(4 / 6)
    assert found.kappa.value == pytest.approx(1 / 3)
    assert "both relevant (people ≥ 1, model ≥ 2) or both not" in str(found)
    graded = agreed([2, 1, 3, 0, 0, 0], model, range(6), threshold=2)  # a scale: 1 is below it for both
    assert graded.threshold_of_people == 2
    assert graded.raw.value == pytest.approx(3 / 6)


@pytest.mark.full
def test_intervals_hold_the_true_kappa_about_as_often_as_they_say():
    chance = np.random.default_rng(7)
    people, model, _ = drawn(chance, 40_000, 0.15)
    truth = cohen_kappa_score(people, model)
    held = 0
    for number in range(200):
        found = agreed(*drawn(chance, 60, 0.15), levels=2, seed=number).kappa
        held += found.low <= truth <= found.high
    assert 0.89 <= held / 200 <= 0.985


def test_pairs_of_one_query_are_no_independent_evidence():
    people, model, query = (np.repeat(each, 3) for each in drawn(np.random.default_rng(3), 60, 0.15))
    by_query = agreed(people, model, query, levels=2).kappa
    by_pair = agreed(people, model, np.arange(len(query)), levels=2).kappa
    assert by_query.high - by_query.low > 1.3 * (by_pair.high - by_pair.low)


@pytest.mark.parametrize(
    ("people", "model", "query", "name", "reason"),
    [
        ([], [], [], "kappa", "no pair that both judged"),
        ([1, 1, 1], [1, 0, 1], [0, 1, 2], "kappa", "people found every pair relevant"),
        ([0, 0, 0], [1, 0, 1], [0, 1, 2], "kappa", "people found no pair relevant"),
        ([0, 1, 1], [1, 0, 1], [0, 1, 2], "weighted", "people gave no two positive grades"),
        ([2, 2, 2], [2, 2, 2], [0, 1, 2], "weighted", "people gave no two positive grades"),
        ([0, 1, 5], [1, 0, 3], [0, 1, 2], "weighted", "people's grades go to 5 and the model's to 3"),
        ([0, 1, 5], [1, 0, 3], [0, 1, 2], "same", "not one scale"),
    ],
)
def test_what_has_no_meaning_is_none_with_a_reason(people, model, query, name, reason):
    found = getattr(agreed(people, model, query), name)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert reason in found.why


MODEL = Annotator("openai:gpt-4o-mini", "relevance@12345678", "2026-11-21")
HITS = ["the keeper lives there", "the horn is loud today", "the boat comes tuesday", "nobody read this one yet"]


def labelled(*facts, irrelevant=(), key="q1", text="Who?"):
    return Query(key, text, tuple(Fact((each,)) for each in facts), judged_irrelevant=tuple(irrelevant))


def pooled(*queries):
    return pool(evaluate(FakeRetriever({query.text: HITS for query in queries}), Dataset(queries), ks=(1,)))


def grades_for(pooled_query, **by_word):
    return tuple(by_word.get(each.chunk.text.split()[1]) for each in pooled_query.chunks)


def test_pairs_that_match_no_label_count_as_irrelevant_or_are_left_out():
    query = labelled(Passage(HITS[0], grade=2), irrelevant=[Passage(HITS[1])])
    found = pooled(query)
    model = [grades_for(found.queries[0], keeper=3, horn=0, boat=1, read=None)]
    counted = agreement(found, [query], model)
    assert (counted.pairs, counted.assumed, counted.left_out) == (3, 1, 1)
    assert [row[:4] for row in counted.matrix] == [(1, 1, 0, 0), (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 0)]
    without = agreement(found, [query], model, unmatched_as_irrelevant=False)
    assert (without.pairs, without.assumed, without.left_out) == (2, 0, 2)
    assert "1 pair matching no label of people: counted as irrelevant" in str(counted)
    assert "2 pairs left out" in str(without)


def test_grades_and_settings_that_do_not_fit_are_refused():
    query = labelled(Passage(HITS[0]))
    found = pooled(query)
    for threshold in (4, 7):
        with pytest.raises(ConfigurationError, match=rf"threshold: found {threshold}; expected 1 to 3, the highest"):
            agreement(found, [query], [(1, 0, 0, 0)], threshold=threshold)
    with pytest.raises(
        ConfigurationError, match=r"found 2 grades of 1 questions; expected one for each of the 4 chunks"
    ):
        agreement(found, [query], [(1, 0)])


def test_a_scale_that_people_did_not_use_to_its_end_is_told():
    found = agreed([0, 1, 2, 2, 0, 1], [0, 1, 2, 2, 1, 1], range(6))
    assert found.weighted.value is not None
    assert "people's grades go to 2 and the model's to 3: if these are two scales" in " ".join(str(found).split())


def test_queries_that_people_did_not_label_are_no_evidence():
    one, two = labelled(Passage(HITS[0])), labelled(key="q2", text="When?")
    irrelevant = labelled(irrelevant=[Passage(HITS[1])], key="q3", text="Where?")
    found = pooled(one, two, irrelevant)
    model = [grades_for(each, keeper=1, horn=0, boat=0, read=0) for each in found.queries]
    checked = agreement(found, [one, two, irrelevant], model)
    assert (checked.pairs, checked.queries) == (5, 2)  # of the third only what somebody judged


def test_labels_of_models_are_not_taken_for_peoples():
    by_model = replace(Passage(HITS[1]), annotator=MODEL)
    query = labelled(Passage(HITS[0]), by_model, irrelevant=[replace(Passage(HITS[2]), annotator=MODEL)])
    mixed = replace(query, facts=(Fact((*query.facts[0].passages, by_model)), query.facts[1]))
    assert labels_of_people(query) == labels_of_people(mixed) == labelled(Passage(HITS[0]))
    found = pooled(query)
    model = [grades_for(found.queries[0], keeper=1, horn=1, boat=0, read=0)]
    assert agreement(found, [query], model).matrix[0][1] == 1  # the horn is irrelevant to people


def test_nothing_by_people_says_so_and_prints_no_nan():
    query = labelled(replace(Passage(HITS[0]), annotator=MODEL))
    found = agreement(pooled(query), [query], [(1, 1, 0, 0)], judge="gpt")
    assert found.pairs == 0
    assert str(found) == "gpt against people: no labels by people to check the judge against"
    assert "no labels by people" in found.to_markdown()
    assert "no labels by people" in found._repr_html_()


def test_what_is_printed_has_the_matrix_the_kappas_and_no_nan():
    people, model, query = [0, 1, 1, 0, 1, 0], [0, 3, 0, 0, 1, 2], [0, 0, 1, 1, 2, 2]
    found = agreed(people, model, query, judge="openai:gpt | <b>")
    for text in (str(found), found.to_markdown(), found._repr_html_()):
        assert "nan" not in text.lower()
        assert "quadratic" in text
        assert "people gave no two positive grades" in text.replace("&#x27;", "'")
    assert "<b>" not in found._repr_html_()
    rows = [line.split() for line in str(found).splitlines()]
    assert ["0", "2", "0", "1", "0", "3"] in rows
    assert ["all", "3", "1", "1", "1", "6"] in rows
