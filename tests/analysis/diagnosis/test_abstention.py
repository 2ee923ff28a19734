"""Knowing when not to answer: which score answers and errors are at, and thresholds that keep errors rare."""

from __future__ import annotations

import math

import numpy as np
import pytest

import raglift as rl
from raglift.analysis.answering import at_threshold
from raglift.errors import ConfigurationError
from raglift.records import Fact, Passage, Query
from raglift.records.rankings import Ranking


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


def test_what_a_threshold_does_by_hand(few):
    at = at_threshold(few, 0.7, stage="retrieve")
    assert (at.answered.count, at.answered.of) == (2, 3)
    assert (at.false_answers.count, at.false_answers.of) == (1, 2)
    assert (at.wrong_answers.count, at.wrong_answers.of) == (1, 3)
    assert at.recall == pytest.approx(2 / 3)
    assert at.no_answer_rate == pytest.approx(2 / 5)


def test_a_query_without_hits_is_never_answered(few):
    at = at_threshold(few, -math.inf, stage="retrieve")
    assert (at.answered.count, at.false_answers.count) == (3, 1)


def test_an_answer_needs_a_relevant_hit_among_the_first_k(few):
    assert at_threshold(few, 0.7, stage="retrieve", k=1).wrong_answers.count == 2


def test_scores_separate_answerable_from_unanswerable_queries(few):
    found = few.abstention(risk=0.95, delta=0.5)
    # of six pairs, five have the higher score at the answerable query: only 0.7 and 0.4 are below 0.8
    assert found.separation.auroc == pytest.approx(4 / 6)
    assert [group.queries for group in found.groups] == [2, 1, 2]
    assert found.groups[2].quantiles == (0.8,) * 5


def test_the_curve_is_over_all_queries(few):
    frame = few.abstention(risk=0.95, delta=0.5).to_frame()
    assert list(frame["threshold"]) == [0.9, 0.8, 0.7, 0.4]
    assert list(frame["coverage"]) == [0.2, 0.4, 0.6, 0.8]
    assert list(frame["risk"]) == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])


def test_false_answers_are_kept_rare_and_the_other_half_shows_it():
    found = drawn(1).abstention(risk=0.15)
    assert found.chosen_on.false_answers.share < 0.15
    assert found.checked_on.false_answers.of == 60
    assert found.checked_on.false_answers.share < 0.2
    assert found.checked_on.answered.share > 0.5
    assert len(str(found.threshold)) <= 6  # a number that people can write down


def test_each_half_has_as_many_of_each_kind():
    found = drawn(2).abstention(risk=0.2)
    for side in (found.chosen_on, found.checked_on):
        assert (side.answered.of, side.false_answers.of) == (60, 60)


def test_the_halves_follow_from_the_seed():
    evaluation = drawn(3)
    thresholds = [evaluation.abstention(risk=0.2, seed=seed).threshold for seed in (0, 0, 1)]
    assert thresholds[0] == thresholds[1] != thresholds[2]


@pytest.mark.parametrize("draws", [30, pytest.param(1000, marks=pytest.mark.full)])
def test_the_promise_is_kept(draws):
    """The true share of unanswerable queries above the threshold is rarely higher than promised."""
    thresholds = [drawn([seed, 7]).abstention(risk=0.1).threshold for seed in range(draws)]
    broken = sum(0.5 * math.erfc(at / math.sqrt(2)) > 0.1 for at in thresholds)
    assert broken / draws <= 0.1 + 3 * math.sqrt(0.09 / draws)


# Queries that are made unanswerable


def test_a_labelled_query_is_made_unanswerable_by_taking_its_documents_out():
    rows = [
        ("a", [("a2", "d", 0.95), ("a", "d", 0.9), ("x", "e", 0.5)]),  # the whole document goes
        ("b", [("x", "e", 0.7), ("b", "d", 0.6)]),
    ] * 20
    found = measured(rows, ks=(3,)).abstention(made=True, risk=0.5)
    assert [group.queries for group in found.groups] == [20, 0, 20]
    assert {found.groups[2].quantiles[0], found.groups[2].quantiles[-1]} <= {0.5, 0.7}


def test_a_query_with_hits_of_labelled_documents_alone_is_left_out():
    rows = [("a", [("a", "d", 0.9)]), ("b", [("x", "e", 0.7), ("b", "d", 0.6)])] * 10
    found = measured(rows).abstention(made=True, risk=0.9)
    assert found.left_out > 0
    assert found.left_out + found.groups[2].queries == 10


@pytest.mark.slow
def test_dense_retrieval_without_the_documents_has_the_same_first_scores():
    """What is made of rankings is what an index without the documents gives."""
    from raglift.running import LocalSystem, build_retriever

    data = rl.load_dataset("lighthouse")
    system = LocalSystem("dense", rl.RecursiveChunker(1000, 100), "minilm-static", "float32")
    whole = rl.evaluate(build_retriever(data, system), data, depth="deep", candidates=200)
    asked = [query for query in data.queries if query.is_labelled][:6]
    made = []
    for query in asked:
        gone = {passage.doc_id for fact in query.facts for passage in fact.passages}
        left = rl.Dataset((), tuple(one for one in data.documents if one.id not in gone))
        ranking = build_retriever(left, system).retrieve([query.text], 1)[0]
        hits = [hit for hit in whole.hits(query.id) if hit.chunk.doc_id not in gone]
        made.append((hits[0].score, ranking.hits[0].score))
    assert [before for before, _ in made] == pytest.approx([after for _, after in made])


# What is shown


def test_a_threshold_is_said_in_a_sentence():
    text = str(drawn(1).abstention(risk=0.15))
    assert "with 90% confidence at most 15.0% of unanswerable questions are answered" in " ".join(text.split())
    assert "AUROC" in text


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


def test_a_report_says_how_well_scores_tell(few):
    assert "When not to answer" in few.to_text()
    assert "When not to answer" not in measured(FEW[:3]).to_text()


# Wrong input


def test_too_few_queries_are_told_with_how_many_it_takes():
    told = r"risk: found 0.01; expected at least 0.038, the smallest share of false answers that 60 unanswerable"
    with pytest.raises(ConfigurationError, match=told):
        drawn(5).abstention(risk=0.01)


def test_a_dataset_without_unanswerable_queries_is_told_how_to_make_some():
    with pytest.raises(ConfigurationError, match=r"3 labelled queries and 0 marked unanswerable.*or made=True"):
        measured(FEW[:3]).abstention()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"risk": 0}, "risk: found 0; expected a number between 0 and 1"),
        ({"delta": 1.5}, "delta: found 1.5"),
        ({"stage": "rerank"}, "stage: found 'rerank'; expected one of 'retrieve'"),
        ({"seed": -1}, "seed: found -1"),
    ],
)
def test_wrong_options_are_told(few, options, told):
    with pytest.raises(ConfigurationError, match=told):
        few.abstention(**options)


def test_a_stage_without_scores_is_told():
    rows = [(label, [(name, doc, None) for name, doc, _ in hits]) for label, hits in FEW]
    with pytest.raises(ConfigurationError, match="stage: found 'retrieve', which gives no scores"):
        measured(rows).abstention()


# Gates


def test_a_gate_holds_what_a_threshold_does(few):
    result = rl.gate(
        few,
        minimum={"answered(0.7)": 0.6, "recall@2(0.7)": 0.7, "no_answers(0.7)": 0.4},
        maximum={"false_answers(0.7)": 0.5, "retrieve:wrong_answers@1(0.7)": 0.5},
    )
    assert [check.found for check in result.checks] == pytest.approx([2 / 3, 2 / 3, 2 / 5, 1 / 2, 2 / 3])
    assert [check.passed for check in result.checks] == [True, False, True, True, False]
    assert "FAIL  recall@2(0.7)" in str(result)


def test_a_model_with_other_scores_fails_the_gate():
    """A threshold of a model that was changed: the scores are on another scale."""
    scaled = measured([(label, [(name, doc, score / 10) for name, doc, score in hits]) for label, hits in FEW])
    assert not rl.gate(scaled, minimum={"answered(0.7)": 0.6}).passed


@pytest.mark.parametrize(
    ("name", "bound", "told"),
    [
        ("answered(x)", 0.5, "found 'x'; expected a score"),
        ("answered", 0.5, r"expected a score, as answered\(0.73\)"),
        ("answered(0.5)", 5, "expected a number from 0 to 1"),
    ],
)
def test_wrong_figures_of_gates_are_told(few, name, bound, told):
    with pytest.raises(ConfigurationError, match=told):
        rl.gate(few, minimum={name: bound})
