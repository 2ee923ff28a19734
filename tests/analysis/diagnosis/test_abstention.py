"""Knowing when not to answer: which score answers and errors are at, and thresholds that keep errors rare."""

from __future__ import annotations

import math

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.types import Fact, Passage, Query
from raglift.types.rankings import Ranking


def measured(rows, **options):
    """Evaluate a system on queries: (kind, hits), where kind is the label or None, and hits are (id, doc, score)."""
    queries = tuple(
        Query(
            f"q{number:03}",
            f"question {number}",
            () if label is None else (Fact((Passage(chunk_id=label),)),),
            answerable=label is not None,
        )
        for number, (label, _) in enumerate(rows)
    )
    found = {
        query.text: Ranking.of((rl.Chunk(f"text {name}", id=name, doc_id=doc), score) for name, doc, score in hits)
        for query, (_, hits) in zip(queries, rows, strict=True)
    }

    class System:
        def retrieve(self, texts, k):
            return [Ranking(found[text].hits[:k]) for text in texts]

    return rl.evaluate(System(), rl.Dataset(queries), **({"ks": (2,), "metrics": ["recall", "ndcg"]} | options))


def drawn(seed, *, answerable=120, unanswerable=120, shift=1.5, right=0.8):
    """Return an evaluation whose first hits score higher by `shift` where the query is answerable."""
    draw = np.random.default_rng(seed)
    rows = [
        ("a" if known else None, [("a" if known and draw.random() < right else "x", "d", float(score))])
        for known, score in [
            *((True, draw.normal(shift)) for _ in range(answerable)),
            *((False, draw.normal()) for _ in range(unanswerable)),
        ]
    ]
    return measured(rows)


FEW = [
    ("a", [("a", "d", 0.9), ("x", "e", 0.5)]),  # right
    ("b", [("x", "e", 0.7), ("b", "d", 0.6)]),  # right, at rank 2
    ("c", [("x", "e", 0.4), ("y", "e", 0.3)]),  # wrong
    (None, [("x", "e", 0.8)]),
    (None, []),
]


@pytest.fixture(scope="module")
def few():
    return measured(FEW)


def test_a_threshold_answers_by_the_first_score_and_a_query_without_hits_never(few):
    found = few.abstention(risk=0.95, delta=0.5)
    both = (found.chosen_on, found.checked_on)
    assert sum(side.answered.of for side in both) == 3
    assert sum(side.false_answers.of for side in both) == 2
    for side in both:
        assert side.wrong_answers.of == side.answered.count + side.false_answers.count
        assert side.no_answer_rate == 1 - side.wrong_answers.of / (side.answered.of + side.false_answers.of)


def test_scores_separate_answerable_from_unanswerable_queries(few):
    found = few.abstention(risk=0.95, delta=0.5)
    # of six pairs, five have the higher score at the answerable query: only 0.7 and 0.4 are below 0.8
    assert found.separation.auroc == pytest.approx(4 / 6)


def test_false_answers_are_kept_rare_and_the_other_half_shows_it():
    found = drawn(1).abstention(risk=0.15)
    assert found.chosen_on.false_answers.share < 0.15
    assert all((side.answered.of, side.false_answers.of) == (60, 60) for side in (found.chosen_on, found.checked_on))
    assert found.checked_on.false_answers.share < 0.2
    assert found.checked_on.answered.share > 0.5
    assert len(str(found.threshold)) <= 6  # a number that people can write down


@pytest.mark.parametrize("draws", [12, pytest.param(1000, marks=pytest.mark.full)])
def test_the_promise_is_kept(draws):
    """The true share of unanswerable queries above the threshold is rarely higher than promised."""
    thresholds = [drawn([seed, 7]).abstention(risk=0.1).threshold for seed in range(draws)]
    broken = sum(0.5 * math.erfc(at / math.sqrt(2)) > 0.1 for at in thresholds)
    assert broken / draws <= 0.1 + 3 * math.sqrt(0.09 / draws)


# What is shown


def test_a_threshold_is_said_in_a_sentence():
    text = str(drawn(1).abstention(risk=0.15))
    assert "with 90% confidence at most 15.0% of unanswerable questions are answered" in " ".join(text.split())
    assert "AUROC" in text


@pytest.mark.slow
def test_scores_that_say_nothing_are_told():
    assert "do not tell answerable questions from unanswerable ones" in " ".join(
        str(drawn(4, shift=0.0).abstention(risk=0.2)).split()
    )
    assert "do not tell" not in str(drawn(1).abstention(risk=0.2))


def test_where_nothing_unanswerable_is_answered_every_question_may_be():
    rows = [*([("a", [("a", "d", 0.5)])] * 40), *([(None, [])] * 60)]
    found = measured(rows).abstention(risk=0.2)
    assert found.threshold == -math.inf
    assert "Answer every question" in str(found)


# Wrong input


def test_too_few_queries_are_told_with_how_many_it_takes():
    told = r"risk: found 0.01; expected at least 0.038, the smallest share of false answers that 60 unanswerable"
    with pytest.raises(ConfigurationError, match=told):
        drawn(5).abstention(risk=0.01)


def test_a_dataset_without_unanswerable_queries_is_refused():
    with pytest.raises(ConfigurationError, match="3 labelled questions and 0 marked unanswerable"):
        measured(FEW[:3]).abstention()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"risk": 0}, "risk: found 0; expected a number between 0 and 1"),
        ({"stage": "rerank"}, "stage: found 'rerank'; expected one of 'retrieve'"),
    ],
)
def test_wrong_options_are_told(few, options, told):
    with pytest.raises(ConfigurationError, match=told):
        few.abstention(**options)


def test_rankings_without_scores_and_sessions_have_no_threshold():
    plain = measured([("a", [("a", "d", None)]), (None, [("x", "d", None)])])
    with pytest.raises(ConfigurationError, match="stage: found 'retrieve', which gives no scores; expected one whose"):
        plain.abstention()
    data = plain.dataset
    sessions = [rl.Session(query.id, [rl.Call.of(query.text, [rl.Chunk("text a", id="a")])]) for query in data.queries]
    with pytest.raises(ConfigurationError, match="abstention: found sessions or repeated questions; expected one"):
        rl.evaluate_sessions(sessions, data).abstention()
