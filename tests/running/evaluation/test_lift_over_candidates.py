"""Where depth changes what a system ranks first, lift is given over the system as deployed and over the candidates."""

from __future__ import annotations

import numpy as np
import pytest

import raglift as rl
from raglift.results.evaluation import Evaluation
from raglift.types.dataset import Dataset

QUESTIONS = [f"Where is stone {number}?" for number in range(6)]
DATA = Dataset.from_dict({question: [f"stone {place} lies here"] for place, question in enumerate(QUESTIONS)})
LINES = [f"stone {number} lies here, number {number * 7 % 20} of the row" for number in range(20)]


def fusion(query: str, k: int = 4) -> list[str]:
    """What comes first depends on how many are asked for: the wanted line moves up by a rank where 12 are."""
    wanted = LINES[int(query.split()[3].rstrip("?"))]
    others = [line for line in LINES if line != wanted]
    place = 3 if k <= 4 else 2
    return [*others[:place], wanted, *others[place:]][:k]


def second(query: str, found: list[str]) -> list[float]:
    """The scores of a reranker that puts the wanted line second."""
    wanted = LINES[int(query.split()[3].rstrip("?"))]
    return [0.5 if line == wanted else 1.0 if place == 0 else 1 / (place + 9) for place, line in enumerate(found)]


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return rl.evaluate(fusion, DATA, reranker=second, candidates=12, ks=(1, 4, 10))


def test_a_lift_is_given_over_either_stage(evaluation: Evaluation) -> None:
    assert evaluation.mean_lift("mrr@4") == pytest.approx(1 / 2 - 1 / 4)
    assert evaluation.mean_lift("mrr@4", over="candidates") == pytest.approx(1 / 2 - 1 / 3)
    assert np.allclose(evaluation.lift("mrr@4", over="candidates"), 1 / 2 - 1 / 3)
    frame = evaluation.to_frame()
    lifts = [evaluation.mean_lift(metric, over="candidates") for metric in evaluation.scores.metrics]
    assert frame["lift:candidates"].tolist() == pytest.approx(lifts, nan_ok=True)


def test_the_lift_over_candidates_goes_as_deep_as_they_do(evaluation: Evaluation) -> None:
    assert not evaluation.has_fair_lift("mrr@10")
    assert evaluation.has_fair_lift("mrr@10", over="candidates")


def test_a_stage_that_has_no_stage_after_it_or_is_unknown_is_refused(evaluation: Evaluation) -> None:
    with pytest.raises(rl.errors.ConfigurationError, match=r"over: found 'rerank'; expected .*retrieve, candidates"):
        evaluation.lift("mrr@4", over="rerank")


def test_the_result_of_reranker_lift_has_both(evaluation: Evaluation) -> None:
    lift = evaluation.reranker_lift("mrr@4")
    assert lift.row().before == pytest.approx(1 / 4)
    row = lift.row(over="candidates")
    assert row.before == pytest.approx(1 / 3)
    assert row.difference is not None
    assert row.difference.mean == pytest.approx(1 / 6)
    assert row.exploratory
    assert lift.row().verdict is not None
    deep = lift.row("mrr@10", over="candidates")
    assert deep.difference is not None


@pytest.mark.slow
def test_a_run_whose_candidates_begin_with_the_deployed_hits_has_no_second_lift() -> None:
    lift = rl.evaluate(lambda query, k=4: LINES[:k], DATA, reranker=second, candidates=12).reranker_lift()
    assert lift.over_candidates == ()
    with pytest.raises(rl.errors.ConfigurationError, match="over: found 'candidates'; expected retrieve"):
        lift.row(over="candidates")


@pytest.mark.slow
def test_texts_have_both(evaluation: Evaluation) -> None:
    assert "Lift over the candidates" in str(evaluation)
    told = str(evaluation.reranker_lift("mrr@4"))
    assert "Over the candidates: from 0.333 to 0.500 (+0.167" in told
    titles = [line for line in told.splitlines() if line.startswith("metric")]
    assert [line.split()[1] for line in titles[:2]] == ["before", "candidates"]
    markdown = evaluation.to_markdown("mrr@4")
    assert "Over the candidates: from 0.333 to 0.500" in markdown
    assert "+0.167" in markdown
