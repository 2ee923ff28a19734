"""What a sweep found goes on into comparisons and tradeoffs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from raglift.analysis.recommendation import held_out_check
from raglift.errors import ConfigurationError
from raglift.sweep.result import SweepResult

pytestmark = pytest.mark.slow


def test_cells_are_compared_by_the_sweeps_metric_and_seed(measured: SweepResult) -> None:
    comparison = measured.compare()
    assert comparison.names == tuple(entry.cell.name for entry in measured.finished)
    assert comparison.primary == measured.primary
    for entry in measured.finished:
        assert comparison.row(entry.cell.name, measured.primary).mean == pytest.approx(entry.value(measured.primary))
    assert any("on these same questions" in warning for warning in comparison.warnings)


def test_a_baseline_is_named_or_given_by_its_key(measured: SweepResult) -> None:
    cell = measured.results[-1].cell
    assert measured.compare(baseline=cell.name).baseline == cell.name
    assert measured.compare(baseline=cell.key).baseline == cell.name
    with pytest.raises(ConfigurationError, match="baseline: found 'nobody'; expected one of"):
        measured.compare(baseline="nobody")


def test_a_cell_is_recommended_by_the_comparison_of_all(measured: SweepResult) -> None:
    found = measured.recommend()
    assert found.best == measured.best().cell.name  # type: ignore[union-attr]
    assert found.left_out == ("lamp · none",)
    assert {one.system for one in (*found.equals, *found.beaten)} == {e.cell.name for e in measured.finished[:3]}
    with pytest.raises(ConfigurationError, match="compare: found 1 evaluation; expected two or more"):
        replace(measured, results=measured.results[:1]).recommend()


def test_a_check_on_other_queries_takes_the_place_of_the_two_halves(measured: SweepResult) -> None:
    held = measured.recommend(margin=0.5)
    assert (held.check, held.margin) == (None, 0.5)  # 5 queries are too few for halves
    pair = np.array([[0.0, 1.0]] * 20 + [[1.0, 1.0]] * 20)
    names = (held.choice, next(entry.cell.name for entry in measured.finished if entry.cell.name != held.choice))
    ids = (["a"], [str(place) for place in range(40)])
    check = held_out_check(names, pair, ids, measured.primary, held.method, margin=0.03, recommended=names[0])
    against = replace(measured, check=check)
    assert (against.recommend().check, against.recommended) == (check, None)


def test_every_measured_cell_is_there_query_by_query(measured: SweepResult) -> None:
    first, *others = measured.results
    rows = replace(measured, results=(replace(first, evaluation=None, error="broken"), *others)).per_query()
    assert list(dict.fromkeys(rows["cell"])) == [entry.cell.name for entry in others]
    for entry in others:
        of_cell = rows[(rows["cell"] == entry.cell.name) & (rows["metric"] == "ndcg@3")]
        assert of_cell["value"].mean() == pytest.approx(entry.value(measured.primary))
    none = replace(measured, results=(replace(first, evaluation=None, error="broken"),)).per_query()
    assert list(none.columns) == ["cell"]
    assert not len(none)


def test_a_cell_is_found_by_its_name_or_its_key(measured: SweepResult) -> None:
    entry, *others = measured.results
    assert measured.evaluation(entry.cell.name) is measured.evaluation(entry.cell.key) is entry.evaluation
    with pytest.raises(
        ConfigurationError, match="configuration: found 'nobody'; expected one of recursive:60/0 · bm25 · none"
    ):
        measured.evaluation("nobody")
    broken = replace(measured, results=(replace(entry, evaluation=None, error="OSError: no"), *others))
    with pytest.raises(ConfigurationError, match="bm25 · none: failed: OSError: no"):
        broken.evaluation(entry.cell.name)
    assert repr(measured) == "SweepResult('island', 4 of 4 configurations)"
    assert repr(broken) == "SweepResult('island', 3 of 4 configurations, 1 failed)"


def test_the_only_cell_that_was_measured_is_the_one_to_use(measured: SweepResult) -> None:
    only = replace(measured, results=measured.results[:1])
    assert only.recommended == measured.results[0].cell.name
    assert replace(measured, results=()).recommended is None
