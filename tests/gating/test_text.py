"""A gate's result as plain text."""

from __future__ import annotations

import raglift as rl
from raglift.gating.text import gate_parts


def test_figures_stand_beside_their_bounds_and_ndcg_beside_its_band(ranked) -> None:
    result = rl.gate(ranked([1] * 20 + [2] * 10), minimum={"ndcg@3": 0.9, "rr@3": 0.8}, maximum={"failures": 0})
    assert str(result) == (
        "fake: FAILED (1 of 3 checks)\n"
        "stones: 30 queries\n"
        "\n"
        "      check     found         bound  queries\n"
        "────────────────────────────────────────────\n"
        "FAIL  ndcg@3    0.877  solid  ≥ 0.9       30\n"
        "pass  rr@3      0.833         ≥ 0.8       30\n"
        "pass  failures      0           ≤ 0       30\n"
        "ndcg@3: worst queries: q0020 0.631, q0021 0.631, q0022 0.631, q0023 0.631, q0024 0.631"
    )


def test_a_query_that_got_worse_is_shown_with_both_rankings(ranked) -> None:
    result = rl.gate(ranked([3] * 7), baseline=ranked([1] * 7), no_regression=["rr@3"], margin=0.01)
    told = str(result)
    assert (
        "  q0000: RR@3 1.000 → 0.333\n"
        "    Where does stone number 0000 lie?\n"
        "    baseline:\n"
        "    ✓   1. the stone with the number 0000 lies at the ford\n"
        "        2. nothing to the point, line 1\n"
        "        3. nothing to the point, line 2\n"
        "    run:\n"
        "        1. nothing to the point, line 1\n"
        "        2. nothing to the point, line 2\n"
        "    ✓   3. the stone with the number 0000 lies at the ford\n"
    ) in told
    assert told.count("    baseline:") == 5
    assert "      and q0005, q0006\n" in told
    assert "p by paired sign-flip permutation test of the mean" in told
    assert "seed 0; confidence 95%" in told


def test_rankings_are_shown_once_for_several_metrics(ranked) -> None:
    options = {"baseline": ranked([1] * 9), "no_regression": ["rr@3", "recall@1"]}
    told = str(rl.gate(ranked([3] * 9), **options))
    assert told.count("q0000: RR@3 1.000 → 0.333\n") == 1
    assert told.count("q0000: Recall@1 1.000 → 0.000 (see above)\n") == 1
    assert told.count("    baseline:") == 5
    deeper = str(rl.gate(ranked([3] * 9), **options | {"no_regression": ["recall@1", "rr@3"]}))
    assert deeper.count("    baseline:") == 10  # what is above is not deep enough


def test_a_deep_ranking_is_cut_and_its_matches_below_are_told(ranked) -> None:
    deep = {"metrics": ("rr",), "ks": (6,)}
    result = rl.gate(ranked([6] * 9, **deep), baseline=ranked([1] * 9, **deep), no_regression=["rr@6"])
    assert "           and 1 more; a match at 6\n" in str(result)
    assert "           and 1 more\n" in str(result)


def test_hostile_texts_are_printed_and_not_obeyed(hostile, hostile_text) -> None:
    result = rl.gate(
        hostile(hostile_text, 2, fails=True),
        baseline=hostile(hostile_text, 1),
        no_regression=["rr@3"],
        minimum={"ndcg@3": 0.9},
        name="new",
    )
    told = str(result)
    assert not result.passed
    assert not {"\x00", "\x1b", "\u202e", "\ud800", "\r"} & set(told)
    told.encode("utf-8")
    assert not any(part.splitlines()[1:] for part in gate_parts(result) if isinstance(part, str))
