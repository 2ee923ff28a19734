"""A gate's result as GitHub's Markdown."""

from __future__ import annotations

import re

import pytest

import raglift as rl


def test_what_failed_comes_first_and_details_are_folded(ranked) -> None:
    result = rl.gate(
        ranked([3] * 9),
        baseline=ranked([1] * 9),
        no_regression=["rr@3"],
        minimum={"ndcg@3": 0.9},
        maximum={"failures": 0},
        name="new",
    )
    told = result.to_markdown()
    assert told.startswith("### ❌ new: FAILED (2 of 3 checks)\n")
    assert "| **❌ FAIL** | ndcg@3 | 0.500 | ≥ 0.9 | 9 |\n" in told
    assert "| ✅ pass | failures | 0 | ≤ 0 | 9 |\n" in told
    assert "| **❌ FAIL** | MRR@3 | 1.000 | 0.333 | −0.667 | 0.004 | 9 | 0 |\n" in told
    headings = re.findall(r"<summary>(.*)</summary>", told)
    assert headings[:2] == ["9 questions did worse in RR@3 than with the baseline", "q0000: RR@3 1.000 → 0.333"]
    assert headings[-1] == "What was measured"
    assert ("| 1 | ✓ | the stone with the number 0000 lies at the ford |  | nothing to the point, line 1 |\n") in told


@pytest.mark.slow
def test_it_stays_small_enough_for_a_comment(ranked) -> None:
    many = {"ks": (1, 3, 6), "metrics": ("rr", "recall", "ndcg")}
    metrics = [f"{name}@{k}" for name in many["metrics"] for k in many["ks"]]
    result = rl.gate(ranked([6] * 60, **many), baseline=ranked([1] * 60, **many), no_regression=metrics)
    told = result.to_markdown()
    assert len(told) < 65_536
    assert told.count("60 questions did worse in Recall@1 than with the baseline; the 20 that lost most") == 1
    assert told.count("→ 0.000</summary>") == 10  # the rankings of ten queries, whatever the metrics
