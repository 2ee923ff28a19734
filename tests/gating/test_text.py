"""A gate's result as plain text."""

from __future__ import annotations

import pytest

import raglift as rl
from raglift.results.evaluation import Evaluation
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.labels import Fact, Passage, Query


def test_figures_stand_beside_their_bounds(ranked) -> None:
    result = rl.gate(ranked([1] * 20 + [2] * 10), minimum={"ndcg@3": 0.9, "rr@3": 0.8}, maximum={"failures": 0})
    assert str(result) == (
        "fake: FAILED (1 of 3 checks)\n"
        "stones: 30 questions\n"
        "\n"
        "      check     found  bound  questions\n"
        "───────────────────────────────────────\n"
        "FAIL  ndcg@3    0.877  ≥ 0.9         30\n"
        "pass  rr@3      0.833  ≥ 0.8         30\n"
        "pass  failures      0    ≤ 0         30\n"
        "\n"
        "Worst questions\n"
        "  ndcg@3: q0020 0.631, q0021 0.631, q0022 0.631, q0023 0.631, q0024 0.631\n"
        "\n"
        "What was measured\n"
        "  Dataset: stones: 30 questions\n"
        "  Retriever: fake (30 queries)\n"
        "  Match rule: containment"
    )


@pytest.mark.slow
def test_a_query_that_got_worse_is_shown_with_both_rankings(ranked) -> None:
    result = rl.gate(ranked([3] * 7), baseline=ranked([1] * 7), no_regression=["rr@3"], margin=0.01)
    told = str(result)
    block = told[told.index("q0000: RR@3 1.000 → 0.333\n") :].splitlines()[:11]
    heading, question, caption, titles, _, *rows = (" ".join(line.split()) for line in block)
    assert (heading, question) == ("q0000: RR@3 1.000 → 0.333", "Where does stone number 0000 lie?")
    assert (caption, titles) == ("Both rankings; ✓ matches a label", "rank baseline run")
    assert rows[0].startswith("1 ✓ the stone with the number 0000")
    assert any(row.startswith("3 nothing to the point, line 2 ✓ the stone with the number 0000") for row in rows)
    assert told.count("Both rankings") == 5
    assert "\nq0006 " in told  # in the table of all that did worse
    assert "p by paired sign-flip permutation test of the mean" in told
    assert "seed 0; confidence 95%" in told


def found_at(rank: int) -> Evaluation:
    """An evaluation of nine queries that find their fact at a rank, of 12 hits."""
    data = Dataset(tuple(Query(f"q{n}", f"Where is {n}?", (Fact((Passage(f"fact {n}"),)),)) for n in range(9)))
    filler = [f"line {place}" for place in range(11)]
    table = {
        query.text: [*filler[: rank - 1], f"this is fact {number} here", *filler[rank - 1 :]]
        for number, query in enumerate(data)
    }
    return rl.evaluate(FakeRetriever(table), data, ks=(12,), depth="deep", candidates=12, metrics=["rr"])


@pytest.mark.slow
def test_a_deep_ranking_is_cut_and_its_matches_below_are_told() -> None:
    told = str(rl.gate(found_at(12), baseline=found_at(1), no_regression=["rr@12"]))
    assert "  baseline, and 2 more\n" in told
    assert "  run, and 2 more; a match at 12\n" in told
