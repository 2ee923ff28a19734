"""A budget of tokens: systems are asked for as many hits as fill a prompt, where that is the same system."""

from __future__ import annotations

import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import rerank
from raglift.running.filling import MOST_HITS, Prompt
from raglift.text.tokens import EstimatedTokens
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

# Labels of fewer than 200 characters together, so a token is taken for four: 100 tokens are 400 characters
BUDGET, CHARACTERS = 100, 400
QUESTIONS = [f"stone {number}?" for number in range(5)]
DATA = Dataset.from_dict({question: [f"stone {place} lies here"] for place, question in enumerate(QUESTIONS)})
LINES = [f"stone {number} lies here, number {number:02} of it" for number in range(60)]
LINE = 35


def lines_of(query: str) -> list[str]:
    number = int(query.split()[1].rstrip("?"))
    return [*LINES[40 : 40 + number], *LINES[:40], *LINES[40 + number :]]


def search(query: str, k: int) -> list[str]:
    return lines_of(query)[:k]


def search_four(query: str, k: int = 4) -> list[str]:
    return lines_of(query)[:k]


def fused(query: str, k: int) -> list[str]:
    """What comes first depends on how many are asked for."""
    return sorted(lines_of(query)[:k], reverse=True)


def fused_four(query: str, k: int = 4) -> list[str]:
    return fused(query, k)


def fixed(query: str) -> list[str]:
    return lines_of(query)[:4]


def texts(evaluation: Evaluation, stage: int = -1) -> list[list[str]]:
    return [[hit.chunk.text for hit in trace.stages[stage].ranking] for trace in evaluation.run.traces]


def lengths(evaluation: Evaluation) -> list[int]:
    return [sum(map(len, found)) for found in texts(evaluation)]


def short(evaluation: Evaluation) -> list[str]:
    """The notes of prompts that are not full."""
    return [note for note in evaluation.notes if "come to fewer than 100 tokens (400 characters)" in note]


def values(evaluation: Evaluation) -> dict[str, float]:
    return {
        str(metric): evaluation.scores.mean(evaluation.after, metric)
        for metric in evaluation.scores.metrics
        if metric.budget is None
    }


def test_a_function_that_takes_k_is_asked_until_prompts_are_full_and_recall_is_taken_at_the_budget() -> None:
    evaluation = rl.evaluate(search, DATA, chunks=LINES, budget=BUDGET)
    assert min(lengths(evaluation)) >= CHARACTERS
    assert max(map(len, texts(evaluation))) <= 2 * CHARACTERS / LINE
    assert {str(metric) for metric in evaluation.scores.metrics} > {
        "recall_area@tokens(100)",
        "prompt_recall@tokens(100)",
    }
    assert evaluation.run.spec["budget"] == BUDGET
    assert not short(evaluation)
    assert "budget" not in rl.evaluate(search, DATA).run.spec


def test_deeper_hits_that_begin_otherwise_are_not_taken() -> None:
    plain, filled = (rl.evaluate(fused, DATA, k=3, budget=budget) for budget in (None, BUDGET))
    assert texts(filled) == texts(plain)
    (note,) = short(filled)
    assert "5 questions" in note
    assert "hit 1 is" in note
    assert "filled" not in filled.run.spec


def test_after_a_few_that_begin_otherwise_no_query_is_asked_again() -> None:
    asked = []

    def search_by_depth(query: str, k: int) -> list[str]:
        asked.append(k)
        return fused(query, k)

    rl.evaluate(search_by_depth, DATA, k=3, budget=BUDGET)
    assert len([k for k in asked if k == 3]) == 5
    assert len([k for k in asked if k > 3]) == 3


@pytest.mark.parametrize("chunks", [None, LINES], ids=["lengths of hits", "lengths of chunks"])
def test_a_depth_of_its_own_is_raised_where_the_first_hits_stay(chunks: list[str] | None) -> None:
    evaluation = rl.evaluate(search_four, DATA, chunks=chunks, budget=BUDGET)
    assert [found[:4] for found in texts(evaluation)] == texts(rl.evaluate(search_four, DATA))
    assert min(lengths(evaluation)) >= CHARACTERS
    assert evaluation.run.spec["deployed_depth"] == 4
    assert not short(evaluation)


def test_a_system_is_measured_as_deployed_where_it_ranks_otherwise_or_its_depth_is_fixed() -> None:
    for system in (fused_four, fixed):
        plain, filled = (rl.evaluate(system, DATA, budget=budget) for budget in (None, BUDGET))
        assert texts(filled) == texts(plain)
        assert values(filled) == values(plain)
        (note,) = short(filled)
        assert note.startswith("retrieve: the hits of 5 questions")


def test_a_reranker_gets_its_candidates_and_the_prompt_is_what_it_returns() -> None:
    given = []

    def backwards(query: str, found: list[str]) -> list[float]:
        given.append(len(found))
        return [float(place) for place in range(len(found))]

    evaluation = rl.evaluate(search, DATA, reranker=backwards, candidates=6, ks=(1, 3), budget=BUDGET)
    assert set(given) == {6}
    (note,) = short(evaluation)
    assert note.startswith("rerank: the hits of 5 questions")


@pytest.mark.slow
def test_another_reranker_gets_the_candidates_alone() -> None:
    filled = rl.evaluate(search, DATA, depth="deep", candidates=6, ks=(1, 3), budget=BUDGET)
    assert min(lengths(filled)) >= CHARACTERS
    plain = rl.evaluate(search, DATA, depth="deep", candidates=6, ks=(1, 3))
    reranker = lambda query, found: [float(place) for place in range(len(found))]  # noqa: E731
    one, other = (rerank(evaluation, reranker) for evaluation in (filled, plain))
    assert texts(one, 0) == texts(other, 0)
    assert texts(one) == texts(other)
    assert values(one) == values(other)
    assert "filled" not in one.run.spec
    assert filled.headroom(3).mean_recall == plain.headroom(3).mean_recall


def test_a_system_that_refuses_so_many_hits_keeps_those_that_it_gave() -> None:
    def at_most_five(query: str, k: int) -> list[str]:
        if k > 5:
            raise ConfigurationError(f"top_k: found {k}; expected at most 5")
        return lines_of(query)[:k]

    evaluation = rl.evaluate(at_most_five, DATA, k=5, budget=BUDGET)
    assert {len(found) for found in texts(evaluation)} == {5}
    (note,) = short(evaluation)
    assert "at most 5" in note


def test_an_index_that_is_smaller_than_the_prompt_fills_it() -> None:
    evaluation = rl.evaluate(search, DATA, chunks=LINES, budget=100_000)
    assert {len(found) for found in texts(evaluation)} == {len(LINES)}
    assert not [note for note in evaluation.notes if "come to fewer" in note]


def test_how_many_hits_fill_a_prompt_follows_from_lengths() -> None:
    def prompt(*sizes: int) -> Prompt:
        return Prompt.of(BUDGET, DATA.queries, EstimatedTokens(), [Chunk("x" * size) for size in sizes])

    assert prompt(*[100] * 50).needed == 4
    assert prompt(*[10] * 25, *[90] * 25).needed == 12  # half as many again as of 50 characters
    assert prompt(100, 100).needed == 2
    unknown = Prompt.of(BUDGET, DATA.queries, EstimatedTokens())
    assert unknown.needed is None
    found = Ranking.of((Chunk("x" * 100), None) for _ in range(2))
    assert unknown.needed_after([found]) == 5
    assert unknown.needed_after([Ranking.of([(Chunk(""), None)])]) == MOST_HITS


def test_a_prompt_that_the_deployed_hits_fill_is_asked_for_no_more() -> None:
    asked = []

    def search_few(query: str, k: int = 4) -> list[str]:
        asked.append(k)
        return search(query, k)

    evaluation = rl.evaluate(search_few, DATA, chunks=LINES, budget=4 * LINE // 4 - 10)
    assert set(asked) == {4}
    assert texts(evaluation) == texts(rl.evaluate(search_four, DATA))
    assert "deployed_depth" not in evaluation.run.spec
    asked.clear()
    rl.evaluate(search_few, DATA, budget=LINE // 4)
    assert set(asked) == {4}
