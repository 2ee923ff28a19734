"""The charts of evaluations and comparisons: what they show is what was measured."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError, MissingDependency
from raglift.stats.intervals import difference_interval
from raglift.types.labels import Fact, Passage, Query

pytestmark = pytest.mark.slow

GAINS = {"q0000": 1 / 2, "q0001": 2 / 3, "q0002": -1 / 2, "q0003": 1 / 2}
BEFORE_AT_3 = [1 / 2, 1 / 3, 1, 0, 1, 0]
AFTER_AT_3 = [1, 1, 1 / 2, 1 / 2, 1, 0]


def rows(chart: Any, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of a chart that have some columns, layer by layer, each data set once."""
    told = chart.to_dict()
    names = dict.fromkeys(layer.get("data", told.get("data"))["name"] for layer in told["layer"])
    return [row for name in names for row in told["datasets"][name] if set(columns) <= set(row)]


def expressions(value: Any) -> Iterator[str]:
    """Yield what Vega takes for an expression, or for the name of a field."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str) and name in ("expr", "labelExpr", "calculate", "filter", "test", "field"):
                yield inner
            elif name != "datasets":
                yield from expressions(inner)
    for inner in value if isinstance(value, list) else ():
        yield from expressions(inner)


def test_the_usual_chart_is_made_by_a_call(reranked: Any, compared: Any) -> None:
    def of(chart: Any) -> Any:
        return chart.to_dict()["title"]["text"]

    assert of(reranked.plot()) == of(reranked.plot("rr@3")) == of(reranked.plot.over_k("rr"))
    assert of(compared.plot()) == of(compared.plot.differences())


def test_a_metric_over_k_has_a_point_for_each_stage_and_depth(reranked: Any) -> None:
    found = rows(reranked.plot.over_k("rr"), "k", "v")
    frame = reranked.over_k("rr")
    for stage in ("retrieve", "rerank"):
        assert [row["k"] for row in found if row["s"] == stage] == [1, 2, 3, 4, 5, 6]
        assert [row["v"] for row in found if row["s"] == stage] == pytest.approx(frame[stage].tolist())
    assert [row["v"] for row in found if row["k"] == 3] == pytest.approx([np.mean(BEFORE_AT_3), np.mean(AFTER_AT_3)])


def test_a_metric_that_is_not_of_the_first_k_hits_has_no_curve_over_k(reranked: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"not of the first k hits; .*'recall'; .*by_prompt_size"):
        reranked.plot("recall_area@tokens(2000)")


def test_a_stage_that_returns_no_more_ends_and_says_so(ranked: Any) -> None:
    evaluation = ranked([2, 3, 4], reranked=[1, 1, 1], top_n=2)
    chart = evaluation.plot.over_k("rr")
    found = rows(chart, "k", "v")
    assert max(row["k"] for row in found if row["s"] == "rerank (returns at most 2)") == 2
    assert max(row["k"] for row in found if row["s"] == "retrieve") == 6
    marked = chart.to_dict()["layer"][-1]
    ends = chart.to_dict()["datasets"][marked["data"]["name"]]
    assert [(row["s"], row["k"]) for row in ends] == [("rerank (returns at most 2)", 2)]


def test_lift_is_sorted_and_queries_that_did_not_change_have_no_bar(reranked: Any) -> None:
    chart = reranked.plot.lift("rr@3")
    found = rows(chart, "d")
    assert [row["q"] for row in found] == ["q0001", "q0000", "q0003", "q0002"]
    assert [row["d"] for row in found] == pytest.approx([GAINS[row["q"]] for row in found], abs=1e-6)
    assert [(row["a"], row["b"], row["u"]) for row in found] == [
        (0, 1, "up"),
        (1, 2, "up"),
        (2, 3, "up"),
        (5, 6, "down"),
    ]
    assert found[0]["t"] == "Where does stone number 0001 lie?"
    assert found[0]["c"] == "+0.667 (0.333 → 1.000)"
    assert [row["w"] for row in rows(chart, "w")] == ["▲ 3 up", "2 the same", "▼ 1 down"]
    assert chart.description.endswith("for each of 6 questions, sorted. 3 went up, 2 stayed the same, 1 went down.")


def test_thousands_of_queries_share_bars_and_keep_their_sums() -> None:
    from raglift.metrics.graded_measures import NDCG
    from raglift.report.charts.builders import changes_chart
    from raglift.report.charts.parts import specification
    from raglift.types.labels import Query

    random = np.random.default_rng(4)
    left, right = random.random(6_000), random.random(6_000)
    right[:1_000] = left[:1_000]
    queries = [Query(f"q{number}", "why? " * 40, ()) for number in range(6_000)]
    chart = changes_chart(NDCG @ 10, queries, left, right, ("before", "after"))
    found = rows(chart, "d")
    assert len(found) <= 402
    for sign in ("up", "down"):
        change = right - left
        wanted = change[change > 0].sum() if sign == "up" else change[change < 0].sum()
        total = sum(row["d"] * (row["b"] - row["a"]) for row in found if row["u"] == sign)
        assert total == pytest.approx(wanted, rel=1e-4)
    assert len(str(specification(chart))) < 80_000


def test_differences_stand_best_first_with_their_intervals(compared: Any, hostile: str) -> None:
    differences = rows(compared.plot.differences(), "l", "h")
    assert [row["v"] for row in differences] == pytest.approx([5 / 9, 7 / 18])
    assert differences[0]["n"] == hostile.replace("\u202e", "�")
    low, high = difference_interval([1 / 2, 0, 2 / 3])
    assert high > 1  # which no true difference is
    assert (differences[1]["l"], differences[1]["h"]) == pytest.approx((max(low, -1.0), 1.0))


def test_the_front_is_marked(compared: Any, hostile: str) -> None:
    found = rows(compared.plot.tradeoff(), "q", "c")
    name = hostile.replace("\u202e", "�")
    assert {(row["x"], row["f"], row["l"]) for row in found} == {
        (0.01, "front", "fast"),
        (0.05, "front", name),
        (0.06, "beaten", "slow"),
    }
    dollars = {"fast": 2, hostile: 2, "slow": 50}
    known = rows(compared.plot.tradeoff("recall@3", "dollars", known={"dollars": dollars}), "q", "c")
    assert {row["n"]: row["f"] for row in known} == {
        "fast": "front",
        hostile.replace("\u202e", "�"): "front",
        "slow": "beaten",
    }


def test_what_cannot_be_shown_is_told(ranked: Any, reranked: Any, compared: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"lift: found a system of one stage \(retrieve\); expected one with"):
        ranked([1, 2]).plot.lift("rr@3")
    with pytest.raises(ConfigurationError, match="found ndcg@7, which was not scored; expected one of"):
        reranked.plot.lift("ndcg@7")
    with pytest.raises(ConfigurationError, match="expected a measure without a depth"):
        reranked.plot.over_k("rr@3")
    with pytest.raises(
        ConfigurationError, match="rr@3 before and after cannot be compared, because rerank returns no more hits"
    ):
        ranked([2, 3, 4], reranked=[1, 1, 1], top_n=2).plot.lift("rr@3")
    cut = rl.compare({"a": ranked([1, 2], top_n=2), "b": ranked([1, 2])}, primary="rr@3").plot
    with pytest.raises(ConfigurationError, match="found no two systems that can be compared in rr@3"):
        cut.differences("rr@3")
    with pytest.raises(ConfigurationError, match="found no index_bytes of any system"):
        compared.plot.tradeoff(cost="index_bytes")


def test_sessions_have_curves_over_calls_and_tokens(ranked: Any) -> None:
    words = [f"the stone with the number {number:04d} lies at the ford" for number in range(2)]
    facts = tuple(Fact((Passage(text),)) for text in words)
    data = rl.Dataset((Query("q", "Where do the stones lie?", facts),))
    found = [rl.Call.of(f"stone {number}", [rl.Chunk(text)]) for number, text in enumerate([*words, *["none"] * 18])]
    patient, hasty = (rl.evaluate_sessions([rl.Session("q", calls)], data) for calls in (found, found[:1]))
    after = [row["v"] for row in rows(patient.plot(), "v")]
    assert "recall_after_calls" in dir(patient.plot)
    assert (after[:3], after[-1]) == ([0.0, 0.5, 1.0], 1.0)  # from no call on
    assert "50% after search 1" in patient.plot.recall_after_calls().description
    assert "100% after" in patient.plot.recall_after_tokens().description
    both = rl.compare({"patient": patient, "hasty": hasty}).plot
    for chart in (both.recall_after_calls(), both.recall_after_tokens()):
        assert "patient: 50% after" in chart.description
        assert "hasty: 50% after" in chart.description


def test_every_chart_is_a_picture_says_in_words_what_it_shows_and_no_name_is_an_expression(
    every_chart: dict[str, Any], tmp_path: Any
) -> None:
    for name, chart in every_chart.items():
        found = list(expressions(chart.to_dict()))
        assert found, name
        assert not [one for one in found if "alert" in one or "odd" in one or "fast" in one], name
        assert len(chart.description) > 40, name
        assert "\u202e" not in chart.to_json(), name
        chart.save(tmp_path / "chart.svg")
        assert (tmp_path / "chart.svg").read_text(encoding="utf-8").startswith("<svg")


def test_without_altair_the_extra_is_named(reranked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refusing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "altair":
            raise ImportError(name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refusing)
    with pytest.raises(MissingDependency, match=r"a chart needs the package 'altair'.*raglift\[report\]"):
        reranked.plot.lift()


def test_a_chart_over_a_billion_depths_has_a_thousand_at_most(reranked: Any) -> None:
    run = replace(reranked.run, spec={**reranked.run.spec, "candidates": 10**9})
    found = rows(replace(reranked, run=run).plot.over_k("rr"), "k", "v")
    assert 100 < len({row["k"] for row in found}) <= 1_000
