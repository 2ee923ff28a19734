"""Recall by prompt size: a line per system, with its interval as a band."""

from __future__ import annotations

from typing import Any

import pytest

from raglift.adapters.splitters import chunker_by_name
from raglift.analysis.prompt_curves import prompt_curves
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError
from raglift.metrics.prompt_measures import PromptRecall
from raglift.report.views.comparison import prompt_sections
from raglift.results.comparison import Comparison, compare
from raglift.running.evaluation import evaluate
from raglift.running.systems import LocalSystem, build_retriever
from raglift.types.metric import Tokens

pytestmark = pytest.mark.slow

BUDGET = 500


@pytest.fixture(scope="module")
def chunk_sizes() -> Comparison:
    """Two chunk sizes of BM25."""
    data = load_dataset("lighthouse")

    def of(chunker: str) -> Any:
        retriever = build_retriever(data, LocalSystem("bm25", chunker_by_name(chunker), "minilm"))
        return evaluate(retriever, data, match="coverage", budget=BUDGET, ks=(1, 5))

    return compare({"small": of("recursive:200/0"), "large": of("recursive:1000/0")}, baseline="small")


def rows(chart: Any) -> list[dict[str, Any]]:
    found = [row for data in chart.to_dict()["datasets"].values() for row in data if "v" in row]
    return list({(row["s"], row["k"]): row for row in found}.values())


def test_a_curve_goes_through_recall_at_each_budget(chunk_sizes: Comparison) -> None:
    for name, curve in prompt_curves(chunk_sizes).items():
        evaluation = chunk_sizes.evaluation(name)
        scored = evaluation.scores.mean(evaluation.after, PromptRecall @ Tokens(BUDGET))
        assert curve.at(BUDGET).recall == pytest.approx(scored)
        recalls = [point.recall for point in curve.points]
        assert recalls == sorted(recalls)
        assert (curve.points[0].tokens, recalls[0]) == (0, 0.0)
        for point in curve.points[1:]:
            assert point.interval is not None
            assert point.interval.low <= point.recall <= point.interval.high


def test_a_line_ends_where_half_of_the_prompts_have_ended(chunk_sizes: Comparison) -> None:
    chart = chunk_sizes.plot.by_prompt_size()
    found = rows(chart)
    for name, curve in prompt_curves(chunk_sizes).items():
        points = {row["k"]: row["v"] for row in found if row["s"] == name}
        assert points == {one.tokens: pytest.approx(one.recall) for one in curve.points if one.tokens <= curve.end}
        assert curve.end >= BUDGET
    assert "recall for prompts of 0 to" in chart.description


def test_the_figure_says_the_same_in_words_and_as_a_table(chunk_sizes: Comparison) -> None:
    ((figure,),) = (section.figures for section in prompt_sections(chunk_sizes))
    assert figure.table is not None
    curves = prompt_curves(chunk_sizes)
    assert figure.table.columns[:2] == ("system", "500")
    for row, (name, curve) in zip(figure.table.rows, curves.items(), strict=True):
        assert (row[0].text, row[1].value) == (name, curve.at(BUDGET).recall)
        assert row[1].interval
        assert f"{name}: {curve.at(BUDGET).recall:.3f} at 500" in figure.chart().description
    assert figure.chart().to_dict()["title"]["text"] == "Recall by prompt size"


def test_without_hits_there_is_nothing_to_show() -> None:
    nothing = {name: evaluate(lambda query: [], load_dataset("lighthouse"), ks=(1,)) for name in ("a", "b")}
    comparison = compare(nothing)
    assert prompt_sections(comparison) == []
    with pytest.raises(ConfigurationError, match="by_prompt_size"):
        comparison.plot.by_prompt_size()
