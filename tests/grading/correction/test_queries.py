"""Figures of complete lists, corrected by queries of which people graded every pair."""

from dataclasses import replace

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.grading import HumanSample, NoAnswer

from .conftest import make_world

pytestmark = pytest.mark.slow

METRICS = ("ndcg@10", "rr@10", "recall@5", "hit_rate@3", "ap@10", "precision@10")
DIFFERENCE = "second/retrieve − first/retrieve"


def by_people(world, name, metric):
    """Return the mean under people's labels of the pool; a query with nothing relevant counts 0."""
    pairs = world.pool
    labels = {
        entry.query.id: {one.chunk.id: world.people[entry.query.id, one.chunk.id] for one in entry.chunks}
        for entry in pairs.queries
    }
    return float(np.nan_to_num(rl.score_rankings(world.rankings(name), labels, [metric]).of(metric)).mean())


def test_all_queries_are_a_census_of_every_metric(world):
    found = rl.correct(world.runs, world.graded, world.sample(40, sampled="queries"), metrics=METRICS)
    for metric in METRICS:
        means = [by_people(world, name, metric) for name in ("first", "second")]
        assert found.figure(metric, "first/retrieve").corrected.estimate == pytest.approx(means[0])
        difference = found.figure(metric, DIFFERENCE)
        assert difference.corrected.estimate == pytest.approx(means[1] - means[0])
        assert difference.corrected.width == pytest.approx(0, abs=1e-12)
    assert "People: all 40 questions were graded." in " ".join(str(found).split())


@pytest.mark.full
def test_the_judge_is_corrected_and_helps(world):
    held, widths = 0, np.zeros(2)
    truth = [by_people(world, name, "ndcg@10") for name in ("first", "second")]
    for seed in range(40):
        sample = world.sample(25, sampled="queries", seed=seed)
        figure = rl.correct(world.runs, world.graded, sample, metrics=["ndcg@10"]).figure("ndcg@10", DIFFERENCE)
        held += figure.corrected.interval.low <= truth[1] - truth[0] <= figure.corrected.interval.high
        widths += figure.corrected.width, figure.people.width
    assert held >= 34
    assert widths[0] < 1.02 * widths[1]


def test_by_default_ndcg_rr_and_precision_are_corrected(world):
    found = rl.correct(world.runs, world.graded, world.sample(25, sampled="queries"))
    assert list(dict.fromkeys(str(figure.metric) for figure in found.figures)) == ["ndcg@10", "rr@10", "precision@10"]
    assert (found.sampled, found.drawn, found.of) == ("queries", 25, 40)
    assert found.human_grades > 250
    assert f"corrected by {found.human_grades} human grades" in str(found)
    assert {figure.corrected.units for figure in found.figures} == {40}


def test_a_query_of_which_a_pair_is_missing_is_no_complete_list(world):
    sample = world.sample(25, sampled="queries")
    part = HumanSample(sample.pairs[1:], "queries", sample.k, sample.of, sample.frame, sample.seed)
    first = sample.pairs[0].query
    with pytest.raises(ConfigurationError, match=f'pairs of query "{first}" graded; expected all pairs'):
        rl.correct(world.runs, world.graded, part)


def test_metrics_that_have_no_value_a_query_are_refused(world):
    sample = world.sample(25, sampled="queries")
    with pytest.raises(ConfigurationError, match="found no depth in hits"):
        rl.correct(world.runs, world.graded, sample, metrics=["ndcg@tokens(100)"])
    with pytest.raises(ConfigurationError, match="SpanPrecision@10: it cannot be computed from grades alone"):
        rl.correct(world.runs, world.graded, sample, metrics=["span_precision@10"])


def test_the_first_queries_of_a_sample_may_do(world):
    sample = world.sample(30, sampled="queries")
    queries = list(dict.fromkeys(pair.query for pair in sample.pairs))
    begun = [pair for pair in sample.pairs if pair.query in queries[:22]]
    drawn = rl.sample_for_grading(world.runs, 30, sampled="queries")
    some = drawn.with_grades({(pair.query, pair.chunk): pair.grade for pair in begun})
    found = rl.correct(world.runs, world.graded, some, metrics=["ndcg@10"])
    assert (found.drawn, found.human_grades) == (22, len(begun))


@pytest.mark.parametrize("estimand", ["these-queries", "population"])
def test_a_query_that_no_system_has_hits_for_counts_zero_without_being_graded(estimand):
    world = make_world(40, empty=10)
    sample = world.sample(30, sampled="queries")
    assert sample.of == 30
    found = rl.correct(world.runs, world.graded, sample, metrics=["ndcg@10"], estimand=estimand)
    figure = found.figure("ndcg@10", "first/retrieve")
    assert figure.corrected.estimate == pytest.approx(by_people(world, "first", "ndcg@10"))
    assert found.queries == 40
    assert (figure.corrected.width == 0) == (estimand == "these-queries")


def test_a_population_of_few_queries_and_pairs_without_a_grade_are_warned_of(world):
    small = make_world(25)
    rows = small.graded.grades
    holes = replace(small.graded, grades=((NoAnswer("refused"), *rows[0][1:]), *rows[1:]))
    found = rl.correct(small.runs, holes, small.sample(100), estimand="population")
    text = " ".join(str(found).split())
    assert "25 questions, fewer than 30: intervals for a population may be too narrow" in text
    assert "1 pair without a grade by the model: irrelevant in its figures" in text
