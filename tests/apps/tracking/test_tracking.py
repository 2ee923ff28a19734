"""What is sent to any tracker, and what is told where none is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from raglift.apps.tracking.tracking import evaluation_record, track
from raglift.errors import MissingDependency
from raglift.results.evaluation import Evaluation


def test_labels_of_models_are_told_beside_the_figures(
    ranked: Callable[..., Evaluation], judged_by_model: Callable[..., Evaluation]
) -> None:
    evaluation = judged_by_model(ranked([1, 2, 3]), labels=2)
    assert evaluation_record(evaluation).parameters["labels"] == evaluation.label_sources.to_dict()
    assert "labels" not in evaluation_record(ranked([1, 2, 3])).parameters


def test_where_only_costs_were_scored_no_metric_decides(ranked: Callable[..., Evaluation]) -> None:
    record = evaluation_record(ranked([1, 2], metrics=("context_tokens",)))
    assert record.parameters["primary"] == ""
    assert not [name for name in record.figures if name.startswith("primary/")]
    assert record.figures["retrieve/context_tokens_at_1"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("tracker", ["mlflow", "wandb"])
def test_a_tracker_that_is_not_installed_is_named(
    ranked: Callable[..., Evaluation], monkeypatch: pytest.MonkeyPatch, tracker: str
) -> None:
    monkeypatch.setitem(sys.modules, tracker, None)
    with pytest.raises(MissingDependency) as caught:
        track(ranked([1]), tracker)
    assert (caught.value.package, caught.value.extra) == (tracker, "track")
