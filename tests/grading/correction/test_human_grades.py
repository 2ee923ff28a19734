"""Samples for people to grade: drawn, written, filled in and read back; and what is wrong with them."""

import json
from dataclasses import replace

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError, DatasetError
from raglift.grading import read_human_sample
from raglift.types.labels import Fact, Passage, Query

from .conftest import make_world


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_a_sample_is_written_with_grades_to_fill_in_and_read_back(world, tmp_path):
    drawn = rl.sample_for_grading(world.runs, 30, seed=4)
    path = drawn.write(tmp_path / "to_grade.jsonl")
    assert read_human_sample(path) == drawn
    entries = lines(path)
    assert len(entries) == 30
    first = entries[0]
    assert first["grade"] is None
    assert (first["seed"], first["k"], first["sampled"]) == (4, 10, "pairs")
    assert {"query", "chunk", "question", "text"} <= first.keys()
    for entry in entries:
        entry["grade"] = world.people[entry["query"], entry["chunk"]]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    assert read_human_sample(path) == world.grade(drawn)
    found = rl.correct(world.runs, world.graded, path, metrics=["precision@10"])
    assert found.statement == "corrected by 30 human grades"
    with pytest.raises(DatasetError, match=r"expected a free name|may not be replaced"):
        drawn.write(path)


def test_only_pairs_among_the_first_k_hits_are_drawn(world):
    shallow = rl.sample_for_grading(world.runs, 40, k=1)
    top = {(q, ids[0]) for name in ("first", "second") for q, ids in world.rankings(name).items()}
    assert {(pair.query, pair.chunk) for pair in shallow.pairs} <= top
    assert shallow.of == len(top)


@pytest.mark.slow
def test_labels_of_the_review_page_fill_in_grades(world):
    sample = rl.sample_for_grading(world.runs, 30)
    chunks = {(pair.query, pair.chunk): pair for pair in sample.pairs}
    queries = []
    for query in dict.fromkeys(pair.query for pair in sample.pairs):
        passages = [
            Passage(pair.text, pair.doc, grade=world.people[query, pair.chunk])
            for pair in sample.pairs
            if pair.query == query
        ]
        relevant = tuple(Fact((passage,)) for passage in passages if passage.grade)
        irrelevant = tuple(passage for passage in passages if not passage.grade)
        queries.append(Query(query, f"text of {query}", relevant, judged_irrelevant=irrelevant))
    graded = sample.with_labels(world.runs, queries)
    assert {(pair.query, pair.chunk): pair.grade for pair in graded.pairs} == {key: world.people[key] for key in chunks}


def test_the_first_pairs_of_a_uniform_sample_may_do_but_not_those_that_were_easy(world):
    sample = world.sample(60)
    begun = replace(sample, pairs=(*sample.pairs[:40], *(replace(pair, grade=None) for pair in sample.pairs[40:])))
    found = rl.correct(world.runs, world.graded, begun, metrics=["precision@10"])
    assert found.human_grades == 40
    gaps = replace(
        sample, pairs=tuple(replace(pair, grade=None) if place % 3 else pair for place, pair in enumerate(sample.pairs))
    )
    with pytest.raises(
        ConfigurationError, match=r"40 of 60 sampled pairs without a grade.*in order, from the first on"
    ):
        rl.correct(world.runs, world.graded, gaps)


def changed(sample, **fields):
    return replace(sample, pairs=(replace(sample.pairs[0], **fields), *sample.pairs[1:]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": "q99"}, "unknown queries: q99"),
        ({"chunk": "nowhere"}, "1 pair of query and chunk outside of the pool"),
        ({"grade": 7}, "found grade 7 for query .*; expected 0 to 3, the scale of the model"),
    ],
)
def test_grades_that_cannot_be_joined_are_refused(world, change, message):
    with pytest.raises(ConfigurationError, match=message):
        rl.correct(world.runs, world.graded, changed(world.sample(40), **change))


def test_only_grades_of_what_was_drawn_are_filled_in(world):
    sample = rl.sample_for_grading(world.runs, 30)
    key = (sample.pairs[0].query, sample.pairs[0].chunk)
    assert repr(sample.with_grades({key: 2})) == "HumanSample(30 pairs, 1 graded; pairs drawn)"
    with pytest.raises(ConfigurationError, match='found one of query "q1" and chunk "c9"; expected pairs'):
        sample.with_grades({("q1", "c9"): 1})
    for wrong in (-1, 1.0, True):
        with pytest.raises(ConfigurationError, match=rf"found {wrong}; expected an integer from 0 to"):
            sample.with_grades({key: wrong})


def test_too_few_grades_are_refused_with_how_many_are_missing(world):
    with pytest.raises(ConfigurationError, match="found 12 graded pairs; expected at least 20: grade 8 more"):
        rl.correct(world.runs, world.graded, world.sample(12))
    with pytest.raises(ConfigurationError, match=r"found 15 queries of which every pair is graded.*grade 5 more"):
        rl.correct(world.runs, world.graded, world.sample(15, sampled="queries"))


@pytest.mark.slow
def test_the_same_grade_everywhere_says_nothing_of_the_spread(world):
    sample = world.sample(60)
    same = replace(sample, pairs=tuple(replace(pair, grade=2) for pair in sample.pairs))
    found = rl.correct(world.runs, world.graded, same, metrics=["precision@10"])
    assert "gave all" in found.figures[0].reason
    assert found.figures[0].corrected.estimate > 0.9
    for figure in found.figures:
        assert np.isnan((*figure.corrected.interval, *figure.people.interval, *figure.bias_interval)).all()
    assert "nan" not in found.to_markdown().lower()


def test_one_query_says_nothing_of_a_population():
    one = make_world(1)
    census = one.sample(rl.sample_for_grading(one.runs, 1).of)
    found = rl.correct(one.runs, one.graded, census, metrics=["precision@10"], estimand="population")
    assert {figure.reason for figure in found.figures} == {
        "1 query cannot say how queries differ: at least 2 are needed"
    }
    assert "nan" not in str(found).lower()


def test_a_pair_twice_is_refused(world):
    sample = world.sample(40)
    twice = replace(sample, pairs=(*sample.pairs, replace(sample.pairs[0], grade=3 - (sample.pairs[0].grade or 0))))
    with pytest.raises(ConfigurationError, match="twice; expected each pair once"):
        rl.correct(world.runs, world.graded, twice)


@pytest.mark.slow
def test_what_is_no_sample_is_refused_with_what_to_do(world):
    with pytest.raises(ConfigurationError, match="found a dict; expected a sample, as sample_for_grading"):
        rl.correct(world.runs, world.graded, {})
    with pytest.raises(ConfigurationError, match="grades: found a str; expected what grade"):
        rl.correct(world.runs, "graded.jsonl", world.sample(40))
    with pytest.raises(ConfigurationError, match="estimand: found 'everything'; expected one of 'these-queries'"):
        rl.correct(world.runs, world.graded, world.sample(40), estimand="everything")
    with pytest.raises(ConfigurationError, match="a sample from the first 12 hits; the model graded the first 10"):
        rl.correct(world.runs, world.graded, replace(world.sample(40), k=12))
    with pytest.raises(ConfigurationError, match=r"drawn from .* other pairs"):
        rl.correct(world.runs, world.graded, replace(world.sample(40), frame="0" * 16))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 10_000}, "n: found 10,000; expected at most"),
        ({"n": 41, "sampled": "queries"}, "expected at most 40: there are no more queries"),
        ({"n": 10, "sampled": "hits"}, "sampled: found 'hits'"),
        ({"n": 0}, "n: found 0"),
        ({"n": 5, "seed": -1}, "seed: found -1"),
    ],
)
def test_samples_that_cannot_be_drawn_are_refused(world, options, message):
    with pytest.raises(ConfigurationError, match=message):
        rl.sample_for_grading(world.runs, **options)


GOOD = {"query": "q1", "chunk": "c1", "grade": 1}


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (GOOD | {"chunk": "c2", "grade": -1}, r"f.jsonl:2: grade: found -1"),
        (GOOD | {"chunk": "c2", "grade": "high"}, 'grade: found "high"'),
        (GOOD | {"chunk": "c2", "seed": 4}, "seed: found 4; expected null, as above"),
        (GOOD | {"chunk": "c2", "grades": 4}, "unknown field"),
        (GOOD | {"chunk": ""}, "chunk: found an empty text"),
    ],
)
def test_faults_of_a_file_are_named_with_their_line(tmp_path, second, message):
    path = tmp_path / "f.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (GOOD, second)), encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read_human_sample(path)


def test_an_empty_file_and_none_are_no_sample(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="no pairs"):
        read_human_sample(path)
    with pytest.raises(DatasetError, match="no readable file"):
        read_human_sample(tmp_path / "missing.jsonl")
