"""The charts of a sweep: the map holds every cell, named in short, marked where it is cut or failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raglift.errors import ConfigurationError
from raglift.report.charts.parts import specification
from raglift.report.views.parts import begins_alike
from raglift.sweep.charts import short_names
from raglift.sweep.result import SweepResult

pytestmark = pytest.mark.slow


def rows(chart: Any, *columns: str) -> list[dict[str, Any]]:
    told = chart.to_dict()
    return [row for values in told["datasets"].values() for row in values if set(columns) <= set(row)]


def test_the_map_holds_the_mean_of_every_cell(measured: SweepResult) -> None:
    chart = measured.plot()
    found = {row["n"]: row for row in rows(chart, "v", "t")}
    assert {name: row["v"] for name, row in found.items()} == pytest.approx(
        {entry.cell.name: entry.value(measured.primary) for entry in measured.finished}
    )
    assert [row["c"] for row in found.values()][:3] == ["recursive:60/0", "recursive:90/0", "recursive:200/0"]
    marked = [row["n"] for row in rows(chart, "t") if "★" in row["t"]]
    assert marked == [measured.best().cell.name]


def test_the_star_may_be_a_cell_that_is_truncated_and_the_best_without_has_one_too(measured: SweepResult) -> None:
    best = measured.best()
    assert best is not None
    cut = tuple(replace(entry, read_in_part=2) if entry is best else entry for entry in measured.results)
    result = replace(measured, results=cut)
    whole = result.best(without_truncation=True)
    assert whole is not None
    found = rows(result.plot.heatmap(), "t")
    assert [row["n"] for row in found if "★" in row["t"]] == [best.cell.name]
    assert [row["n"] for row in found if "☆" in row["t"]] == [whole.cell.name] != [best.cell.name]


def test_cut_and_failed_cells_are_marked(measured: SweepResult) -> None:
    cut, failed, *others = measured.results
    changed = (replace(cut, read_in_part=2), replace(failed, evaluation=None, error="no <b>memory</b>"), *others)
    chart = replace(measured, results=changed).plot.heatmap()
    told = {row["n"]: row for row in rows(chart, "t")}
    assert told[cut.cell.name]["t"].endswith("✂")
    assert ", reads some chunks only in part (✂ " in told[cut.cell.name]["w"]
    assert (told[failed.cell.name]["t"], told[failed.cell.name]["w"]) == ("–", "failed: no <b>memory</b>")
    assert told[failed.cell.name]["v"] is None


def test_cells_are_called_by_what_tells_them_apart(measured: SweepResult) -> None:
    names = short_names(measured)
    assert set(names) == {entry.cell.name for entry in measured.finished}
    assert len(set(names.values())) == len(names)
    assert "90/0 · bm25" in names.values()
    assert begins_alike(["recursive:60/0", "recursive:90/0"]) == "recursive:"
    assert begins_alike(["recursive:60/0", "token:90/0"]) == begins_alike(["recursive:60/0"]) == ""


def test_the_front_is_that_of_the_comparison(measured: SweepResult) -> None:
    comparison = measured.compare()
    points = {row["n"]: row["f"] for row in rows(measured.plot.tradeoff(cost="context_tokens"), "q", "f")}
    front = comparison.pareto(None, ["context_tokens"]).front
    names = short_names(measured)
    assert {name for name, side in points.items() if side == "front"} == {names[name] for name in front}
    fair = [row for row in comparison.of(comparison.primary) if row.difference is not None]
    assert sorted(row["v"] for row in rows(measured.plot.differences(), "l")) == pytest.approx(
        sorted(row.difference.mean for row in fair)
    )
    assert 0 < len(fair) < len(comparison.others)  # a system that returns one hit has no fair pair at 3


def test_the_best_is_marked_on_the_map_of_the_metric_that_decides_alone(measured: SweepResult) -> None:
    assert "★" in str(specification(measured.plot.heatmap("ndcg@3")))
    assert "★" not in str(specification(measured.plot.heatmap("recall@3")))


def test_what_cannot_be_shown_is_told(measured: SweepResult) -> None:
    with pytest.raises(ConfigurationError, match="x: found 'size'; expected two different ones of chunker, embedding"):
        measured.plot.heatmap(x="size")
    with pytest.raises(ConfigurationError, match="expected two different ones"):
        measured.plot.heatmap(x="chunker", y="chunker")
    with pytest.raises(ConfigurationError, match="found precision@3, which was not scored"):
        measured.plot.heatmap("precision@3")
    with pytest.raises(ConfigurationError, match="compare: found 0 evaluations; expected two or more"):
        replace(measured, results=()).plot.heatmap()


def test_a_sweep_is_drawn_as_wide_as_its_columns(measured: SweepResult, tmp_path: Path) -> None:
    chart = measured.plot.heatmap()
    told = specification(chart)
    assert told["width"] == {"step": 84}
    assert len(str(told)) < 20_000
    chart.save(tmp_path / "map.svg")
    assert "★" in (tmp_path / "map.svg").read_text(encoding="utf-8")
