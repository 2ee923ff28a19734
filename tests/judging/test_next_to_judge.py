"""What to judge next: which pairs are drawn, what their grades say, and what the journal keeps."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError, DatasetError
from raglift.judging import NextToJudge, next_to_judge, pool
from raglift.records import Annotator, Fact, Passage, Query

MODEL = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
QUERIES = 12
DEPTH = 5


def runs() -> dict[str, rl.Evaluation]:
    """Two systems that share two of their first five hits for each query."""
    data = rl.Dataset(tuple(Query(f"q{number}", f"question {number}") for number in range(QUERIES)), name="d")

    def system(offset: int) -> rl.Evaluation:
        def find(question: str, k: int) -> list[rl.Chunk]:
            number = question.split()[1]
            ids = [f"c{number}-{place + offset}" for place in range(DEPTH)]
            return [rl.Chunk(f"These are the words of the chunk named {one}.", id=one) for one in ids][:k]

        return rl.evaluate(find, data, ks=(DEPTH,), metrics=["precision"], progress=False)

    return {"a": system(0), "b": system(3)}


RUNS = runs()
TRUE = {
    (f"q{number}", f"c{number}-{place}"): int((number * 7 + place * 5) % 11 < (7 if place >= 5 else 2))
    for number in range(QUERIES)
    for place in range(DEPTH + 3)
}


def labelled(grades: Mapping[tuple[str, str], int], annotator: Annotator | None = None) -> list[Query]:
    queries = []
    for number in range(QUERIES):
        given = {chunk: grade for (query, chunk), grade in grades.items() if query == f"q{number}"}
        text = "These are the words of the chunk named {}."
        facts = tuple(
            Fact((Passage(text.format(chunk), grade=grade, annotator=annotator),))
            for chunk, grade in given.items()
            if grade
        )
        irrelevant = tuple(
            Passage(text.format(chunk), grade=0, annotator=annotator) for chunk, grade in given.items() if not grade
        )
        queries.append(Query(f"q{number}", f"question {number}", facts, judged_irrelevant=irrelevant))
    return queries


def ask(labels: Iterable[Query], path: Path, **options: Any) -> NextToJudge:
    return next_to_judge(RUNS, labels, journal=path, **({"metric": f"precision@{DEPTH}"} | options))


def truth(sign: bool = True) -> float:
    total = 0.0
    for (_, chunk), grade in TRUE.items():
        place = int(chunk.split("-")[1])
        total += grade * ((place >= 3) - (sign and place < DEPTH))
    return total / QUERIES / DEPTH


def review(path: Path, most: int = 1000, **options: Any) -> list[NextToJudge]:
    """Judge what is asked for, one pair after the other, and return what was said after each."""
    grades: dict[tuple[str, str], int] = {}
    said = [ask(labelled(grades), path, **options)]
    while said[-1].pairs and len(said) <= most:
        (pair,) = said[-1].pairs
        grades[pair.query_id, pair.chunk_id] = TRUE[pair.query_id, pair.chunk_id]
        said.append(ask(labelled(grades), path, **options))
    return said


def test_a_review_ends_with_the_true_difference_and_every_interval_holds_it(tmp_path: Path) -> None:
    said = review(tmp_path / "j.jsonl")
    assert said[-1].estimate == pytest.approx(truth())
    assert said[-1].interval == pytest.approx((truth(),) * 2, abs=1e-9)
    assert said[-1].left == 0
    assert said[-1].verdict_text.startswith("Everything that matters is judged")
    assert [one.graded for one in said] == list(range(6 * QUERIES + 1))
    for before, one in itertools.pairwise(said):
        assert one.interval.low - 1e-9 <= truth() <= one.interval.high + 1e-9
        assert one.interval.high - one.interval.low <= before.interval.high - before.interval.low + 1e-9
    decided = next(one for one in said if one.is_decided)
    assert decided.left > 0
    assert decided.verdict_text == "Decided: b/retrieve is better on these queries. You can stop."
    assert said[0].needed is None
    assert all(one.needed == 0 for one in said if one.is_decided)


def test_pairs_that_weigh_nothing_in_the_difference_are_not_asked_for(tmp_path: Path) -> None:
    found = ask(labelled({}), tmp_path / "j.jsonl", n=1000)
    assert len(found.pairs) == 6 * QUERIES
    assert not {pair.chunk_id.split("-")[1] for pair in found.pairs} & {"3", "4"}
    assert all(0 < pair.probability <= 1 for pair in found.pairs)


def test_the_mean_of_one_system_stops_at_a_width(tmp_path: Path) -> None:
    options = {"system": "b/retrieve", "width": 0.3}
    said = review(tmp_path / "j.jsonl", **options)
    first = next(one for one in said if one.is_decided)
    assert first.interval.high - first.interval.low <= 0.3
    assert "narrow enough" in first.verdict_text
    assert first.figure_text.startswith("Precision@5 of b/retrieve: ")
    assert said[-1].estimate == pytest.approx(truth(sign=False))


@pytest.mark.parametrize("metric", ["dcg@5", "rbp@5", "precision@3"])
def test_other_sums_over_hits_end_with_the_figure_of_all_grades(tmp_path: Path, metric: str) -> None:
    said = review(tmp_path / "j.jsonl", metric=metric)
    everything = labelled(TRUE)
    sides = []
    for run in RUNS.values():
        score = rl.score_rankings(
            {trace.query_id: [hit.chunk.id for hit in trace.stages[0].ranking.hits] for trace in run.run.traces},
            {f"q{n}": {chunk: g for (q, chunk), g in TRUE.items() if q == f"q{n}"} for n in range(QUERIES)},
            [metric],
        )
        sides.append(float(np.nan_to_num(score.of(metric)).sum()) / QUERIES)
    assert len(everything) == QUERIES
    assert said[-1].estimate == pytest.approx(sides[1] - sides[0])


def test_what_was_judged_before_counts_and_is_not_asked_for_again(tmp_path: Path) -> None:
    before = {key: grade for key, grade in TRUE.items() if key[0] in ("q0", "q1", "q2")}
    found = ask(labelled(before), tmp_path / "j.jsonl", n=1000)
    assert found.graded_before == 3 * (DEPTH + 3)
    assert found.left == 6 * (QUERIES - 3)
    assert {pair.query_id for pair in found.pairs} == {f"q{number}" for number in range(3, QUERIES)}
    done = ask(labelled(TRUE), tmp_path / "j.jsonl")
    assert done.estimate == pytest.approx(truth())


def test_the_same_pairs_are_asked_for_until_they_have_a_grade(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    first = ask(labelled({}), path, n=3)
    assert ask(labelled({}), path, n=3).pairs == first.pairs
    assert ask(labelled({}), path, n=5).pairs[:3] == first.pairs
    second = first.pairs[1]
    skipped = ask(labelled({(second.query_id, second.chunk_id): 1}), path, n=3)
    assert skipped.graded == 0  # pairs count in the order of the draws
    assert skipped.pairs[0] == first.pairs[0]
    both = {(pair.query_id, pair.chunk_id): 1 for pair in first.pairs[:2]}
    assert ask(labelled(both), path, n=3).graded == 2


def test_the_journal_keeps_the_question_and_every_draw(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    found = ask(labelled({}), path, n=2)
    head, *draws = [json.loads(line) for line in path.read_text().splitlines()]
    assert (head["metric"], head["system"], head["versus"]) == ("precision@5", "b/retrieve", "a/retrieve")
    assert [(one["query"], one["chunk"]) for one in draws] == [(one.query_id, one.chunk_id) for one in found.pairs]
    assert ask(labelled({}), tmp_path / "other.jsonl", n=2, seed=1).pairs != found.pairs


def test_a_good_model_is_believed_and_its_grades_shape_what_is_drawn(tmp_path: Path) -> None:
    judged = labelled(TRUE, MODEL)
    found = ask(judged, tmp_path / "j.jsonl")
    assert found.graded_before == 0
    assert found.estimate == pytest.approx(0.8 * truth(), abs=0.05)
    assert ask(labelled({}), tmp_path / "other.jsonl").estimate == pytest.approx(0.0, abs=1e-9)


def test_as_text_and_as_a_frame(tmp_path: Path) -> None:
    found = ask(labelled({}), tmp_path / "j.jsonl", n=2)
    assert "Precision@5, b/retrieve − a/retrieve: " in str(found)
    assert "too early to say" in str(found)
    assert "confidence sequence" in found.to_text()
    assert found.to_frame()["query_id"].tolist() == [pair.query_id for pair in found.pairs]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "ndcg@5"}, "no sum over the first k hits"),
        ({"system": "c"}, "system: found 'c'; expected one of a/retrieve, b/retrieve"),
        ({"system": "a/retrieve", "versus": "a/retrieve"}, "the system itself"),
        ({"n": 0}, "n: found 0"),
        ({"width": -1}, "width: found -1"),
        ({"confidence": 1}, "confidence: found 1"),
        ({"relevant_from": 4}, "relevant_from: found 4"),
        ({"seed": -1}, "seed: found -1"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ask(labelled({}), tmp_path / "j.jsonl", **options)
    assert not (tmp_path / "j.jsonl").exists()


def test_labels_and_grades_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="labels: found a str"):
        ask("labels.jsonl", tmp_path / "j.jsonl")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="found the grade 5; expected 0 to 3"):
        ask(labelled({("q0", "c0-0"): 5}), tmp_path / "j.jsonl")


def test_a_journal_of_another_question_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    ask(labelled({}), path)
    with pytest.raises(ConfigurationError, match="found a review of --metric precision@5; expected dcg@5"):
        ask(labelled({}), path, metric="dcg@5")
    with pytest.raises(ConfigurationError, match="found a review of --versus a/retrieve; expected None"):
        ask(labelled({}), path, system="b/retrieve")
    fewer = {name: replace(run, dataset=run.dataset.sample(8)) for name, run in RUNS.items()}
    assert len(pool(fewer, depth=DEPTH)) < len(pool(RUNS, depth=DEPTH))
    with pytest.raises(ConfigurationError, match="of other pairs"):
        next_to_judge(fewer, labelled({}), journal=path, metric=f"precision@{DEPTH}")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: "{}\n",
        lambda text: text.replace('"probability": 0', '"probability": 7', 1),
        lambda text: text + text.splitlines()[1] + "\n",
        lambda text: text + '{"query": "q1"}\n',
        lambda text: text.replace('"format": 1', '"format": 2'),
        lambda text: text[:-20],
    ],
)
def test_a_damaged_journal_is_an_error_that_says_where(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "j.jsonl"
    ask(labelled({}), path, n=2)
    path.write_text(damage(path.read_text()))
    with pytest.raises(DatasetError, match=r"j\.jsonl"):
        ask(labelled({}), path)


def test_a_draw_that_is_no_pair_of_the_question_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    ask(labelled({}), path)
    path.write_text(path.read_text() + '{"query": "q1", "chunk": "c1-3", "probability": 0.1, "reach": 1.0}\n')
    with pytest.raises(ConfigurationError, match="no pair of this question"):
        ask(labelled({}), path)
