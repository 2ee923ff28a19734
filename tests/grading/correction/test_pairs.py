"""Figures corrected by grades of single pairs: sums over hits."""

import re
from dataclasses import replace

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.grading import pool
from raglift.grading.graded_pool import frame_of, gain_of_grades, weights_of
from raglift.metrics import parse
from raglift.testing import FakeRetriever
from raglift.types.labels import Annotator, Fact, Passage, Query

from .conftest import make_world

LINEAR = ("precision@10", "dcg@10", "dcg(gain=exponential)@5", "rbp@10", "rbp(p=0.95)@7")
DIFFERENCE = "second/retrieve − first/retrieve"


@pytest.mark.slow
@pytest.mark.parametrize("metric", LINEAR)
def test_weighted_grades_add_up_to_the_metric(world, metric):
    """Against score_rankings, where each id is one fact."""
    pairs = world.pool
    frame = frame_of(pairs, 10)
    grades = np.array([world.people[pairs.queries[q].query.id, pairs.queries[q].chunks[c].chunk.id] for q, c in frame])
    labels: dict[str, dict[str, int]] = {}
    for (query, chunk), grade in world.people.items():
        labels.setdefault(query, {})[chunk] = grade
    for name in ("first", "second"):
        weights = weights_of(parse(metric), pairs, frame, f"{name}/retrieve")
        total = (weights * gain_of_grades(parse(metric), grades.astype(float), 1)).sum()
        scored = rl.score_rankings(world.rankings(name), labels, [metric])
        assert total == pytest.approx(np.nan_to_num(scored.of(metric)).mean())


@pytest.mark.slow
def test_a_census_is_the_figure_by_people_with_no_width(world):
    of = rl.sample_for_grading(world.runs, 1).of
    found = rl.correct(world.runs, world.graded, world.sample(of), metrics=LINEAR)
    labels: dict[str, dict[str, int]] = {}
    for (query, chunk), grade in world.people.items():
        labels.setdefault(query, {})[chunk] = grade
    for metric in LINEAR:
        means = {}
        for name in ("first", "second"):
            scored = rl.score_rankings(world.rankings(name), labels, [metric])
            means[name] = float(np.nan_to_num(scored.of(metric)).mean())
            figure = found.figure(metric, f"{name}/retrieve")
            assert figure.corrected.estimate == pytest.approx(means[name])
            assert figure.corrected.width == 0
            assert figure.reason == ""
        difference = found.figure(metric, DIFFERENCE)
        assert difference.corrected.estimate == pytest.approx(means["second"] - means["first"])
        assert difference.corrected.width == 0
    assert f"People: all {of:,} pairs were graded." in " ".join(str(found).split())


@pytest.mark.slow
def test_the_difference_that_a_biased_judge_invents_is_taken_back(world):
    of = rl.sample_for_grading(world.runs, 1).of
    truth = rl.correct(world.runs, world.graded, world.sample(of), metrics=["dcg@10"]).figure("dcg@10", DIFFERENCE)
    estimates, held, widths = [], 0, np.zeros(2)
    for seed in range(60):
        found = rl.correct(world.runs, world.graded, world.sample(100, seed=seed), metrics=["dcg@10"])
        figure = found.figure("dcg@10", DIFFERENCE)
        estimates.append(figure.corrected.estimate)
        held += figure.corrected.interval.low <= truth.corrected.estimate <= figure.corrected.interval.high
        widths += figure.corrected.width, figure.people.width
    assert truth.judge > 0 > truth.corrected.estimate
    assert np.mean(estimates) == pytest.approx(truth.corrected.estimate, abs=0.15)
    assert held >= 52  # 0.95 of 60 is 57; 51 or fewer come once in a hundred times
    assert widths[0] < widths[1]


@pytest.mark.slow
def test_the_population_of_queries_is_less_certain(world):
    sample = world.sample(150)
    here, everywhere = (
        rl.correct(world.runs, world.graded, sample, metrics=["precision@10"], estimand=estimand)
        for estimand in ("these-queries", "population")
    )
    for one, other in zip(here.figures, everywhere.figures, strict=True):
        assert one.corrected.estimate == pytest.approx(other.corrected.estimate)
        assert other.corrected.width > one.corrected.width
    assert "questions like these 40" in " ".join(str(everywhere).split())
    assert "if people had graded every pair" in " ".join(str(here).split())


def test_a_sample_without_an_error_of_the_judge_has_the_interval_of_people(world):
    perfect = replace(world, model=world.people)
    figure = rl.correct(perfect.runs, perfect.graded, perfect.sample(120), metrics=["dcg@10"]).figures[0]
    assert figure.corrected.interval == figure.people.interval
    assert figure.corrected.width > 0


@pytest.mark.slow
def test_lift_is_corrected_where_there_is_a_reranker(world):
    class Upside:
        def rerank_one(self, query, ranking):
            return rl.Ranking.of([(hit.chunk, float(hit.rank)) for hit in reversed(ranking.hits)])

    results = {
        f"text of {q}": [rl.Chunk(f"{q} says {c}", id=c, doc_id=c) for c in ids]
        for q, ids in world.rankings("first").items()
    }
    run = rl.evaluate(FakeRetriever(results), world.runs["first"].dataset, reranker=Upside(), candidates=10)
    sample = rl.sample_for_grading(run, 120)
    sample = sample.with_grades(
        {(pair.query, pair.chunk): world.people[pair.query, pair.chunk] for pair in sample.pairs}
    )
    labels = [
        Query(
            q,
            f"text of {q}",
            tuple(
                Fact((Passage(f"{q} says {c}", c, grade=world.model[q, c], annotator=Annotator("gpt", "p", "d")),))
                for c in ids
                if world.model[q, c]
            ),
        )
        for q, ids in world.rankings("first").items()
    ]
    found = rl.correct(run, labels, sample, metrics=["dcg@10", "precision@10"])
    assert found.judge == "gpt"
    kinds = [(figure.kind, figure.name) for figure in found.figures][:3]
    assert kinds == [("mean", "retrieve"), ("mean", "rerank"), ("lift", "rerank − retrieve")]
    lift = found.figure("dcg@10", "rerank − retrieve")
    assert lift.corrected.interval.high < 0  # turned around, the best come last
    same = found.figure("precision@10", "rerank − retrieve")
    assert same.corrected.interval == (0, 0)  # the same ten hits


@pytest.mark.slow
def test_a_comparison_is_corrected_as_its_evaluations_are(world):
    labelled = [
        Query(query, f"text of {query}", (Fact((Passage(f"{query} says 0", f"{query}/0"),)),))
        for query in world.rankings("first")
    ]
    runs = {name: rl.rescore(run, labels=labelled) for name, run in world.runs.items()}
    sample = world.sample(100)
    by_name, compared = (rl.correct(each, world.graded, sample) for each in (runs, rl.compare(runs)))
    assert compared.rows() == by_name.rows()


@pytest.mark.slow
def test_the_page_of_an_evaluation_or_a_comparison_has_the_corrected_figures(world, tmp_path):
    found = rl.correct(world.runs, world.graded, world.sample(100), metrics=["precision@10"])
    page = rl.compare(world.runs).report(tmp_path / "two.html", also=[found]).read_text(encoding="utf-8")
    assert "Figures corrected by 100 human grades" in page
    assert "How the figures were corrected" in page
    figure = found.figure("precision@10", found.figures[0].name)
    assert f"{figure.corrected.estimate:.3f}" in page
    one = world.runs["first"].report(tmp_path / "one.html", also=[found]).read_text(encoding="utf-8")
    assert "Figures corrected by 100 human grades" in one
    assert "corrected by" not in world.runs["first"].report(tmp_path / "alone.html").read_text(encoding="utf-8")


def test_how_often_people_disagree_and_how_many_more_grades_halve_an_interval(world):
    sample = world.sample(100)
    found = rl.correct(world.runs, world.graded, sample, metrics=["precision@10"])
    relevant = [(world.model[pair.query, pair.chunk] > 0, pair.grade > 0) for pair in sample.pairs]
    assert found.only_model == sum(model and not people for model, people in relevant) > 0
    assert found.only_people == sum(people and not model for model, people in relevant)
    for figure in found.figures:
        more = found.further_grades(figure)
        wider = rl.correct(world.runs, world.graded, world.sample(100 + more), metrics=["precision@10"])
        width = wider.figure("precision@10", figure.name).corrected.width
        assert width == pytest.approx(figure.corrected.width / 2, rel=0.35)  # of one sample; by simulation elsewhere
    assert found.further_grades(figure, 1.0) == 0
    census = rl.correct(world.runs, world.graded, world.sample(found.of), metrics=["rbp@10"])
    assert census.further_grades(census.figures[0]) is None
    everywhere = rl.correct(world.runs, world.graded, sample, metrics=["precision@10"], estimand="population")
    assert everywhere.further_grades(everywhere.figures[0]) is None


def test_queries_marked_as_unanswerable_do_not_count():
    world = make_world(30, unanswerable=5)
    sample = world.sample(100)
    assert not {pair.query for pair in sample.pairs} & {f"q{number}" for number in range(5)}
    found = rl.correct(world.runs, world.graded, sample, metrics=["precision@10"])
    assert found.queries == 25


@pytest.mark.slow
def test_metrics_that_are_no_sum_over_hits_are_refused_with_the_reason(world):
    sample = world.sample(50)
    for metric in ("ndcg@10", "rr@10", "recall@10", "hit_rate@10", "ap@10", "rbp(gain=graded)@10"):
        with pytest.raises(ConfigurationError, match=r"no sum over hits.*sampled='queries'"):
            rl.correct(world.runs, world.graded, sample, metrics=[metric])


def test_grades_of_other_runs_are_refused(world):
    shallow = replace(world, runs={"first": world.runs["first"]}).graded
    with pytest.raises(ConfigurationError, match=r"found none of \d+ pairs of these evaluations.*of the same runs"):
        rl.correct(world.runs, shallow, world.sample(50))


def test_what_is_corrected_is_a_frame_and_a_figure_by_its_name(world):
    found = rl.correct(world.runs, world.graded, world.sample(50), metrics=["precision@10"])
    assert repr(found).startswith("Correction('made', corrected by 50 human grades, 3 figures")
    frame = found.to_frame()
    assert list(frame["corrected"]) == [figure.corrected.estimate for figure in found.figures]
    with pytest.raises(KeyError, match=r"dcg@10 of 'first/retrieve'.*; there are precision@10 of 'first/retrieve', "):
        found.figure("dcg@10", "first/retrieve")


def test_only_sums_over_hits_have_weights(world):
    frame = frame_of(world.pool, 10)
    for metric in ("ndcg@10", "recall@tokens(100)"):
        with pytest.raises(ConfigurationError, match=f"found {re.escape(metric)}; expected a metric that is a sum"):
            weights_of(parse(metric), world.pool, frame, "first/retrieve")


def test_grades_of_more_runs_serve_some_of_them_and_others_are_refused(world):
    one = {"first": world.runs["first"]}
    sample = rl.sample_for_grading(one, 100)
    sample = sample.with_grades(
        {(pair.query, pair.chunk): world.people[pair.query, pair.chunk] for pair in sample.pairs}
    )
    found = rl.correct(one, world.graded, sample, metrics=["precision@10"])
    assert [figure.name for figure in found.figures] == ["retrieve"]
    assert len(pool(one, depth=10)) < len(world.pool)
    with pytest.raises(ConfigurationError, match=r"a sample that was drawn from .* other pairs than the"):
        rl.correct(world.runs, world.graded, sample)
