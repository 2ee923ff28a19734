"""`profile="ragas"` against what ragas itself gave: `make_ragas_values.py` wrote it down."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import raglift as rl
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse

WRITTEN = json.loads(Path(__file__).with_name("ragas_values.json").read_text(encoding="utf-8"))
CASES = [(case["retrieved"].split(), case["relevant"].split()) for case in WRITTEN["cases"]]
OF_RAGAS = ("precision", "recall", "ap")


def written(metric: str) -> list[float]:
    return [math.nan if case[metric] is None else case[metric] for case in WRITTEN["cases"]]


@pytest.mark.slow
@pytest.mark.parametrize("metric", OF_RAGAS)
def test_what_ragas_gave(judged, metric: str) -> None:
    match_table = judged(*((relevant, retrieved) for retrieved, relevant in CASES))
    np.testing.assert_array_equal(compute(match_table, parse(metric), "ragas"), written(metric))
    np.testing.assert_array_equal(compute(match_table, parse(f"{metric}@200"), "ragas"), written(metric))


@pytest.mark.slow
def test_a_depth_is_what_was_retrieved(judged) -> None:
    whole = judged(*((relevant, retrieved) for retrieved, relevant in CASES))
    for k in (1, 3, 10):
        prefixes = judged(*((relevant, retrieved[:k]) for retrieved, relevant in CASES))
        for name in (*OF_RAGAS, "f1"):
            found = compute(whole, parse(f"{name}@{k}"), "ragas")
            np.testing.assert_array_equal(found, compute(prefixes, parse(name), "ragas"))


def test_precision_leaves_out_what_came_back_empty_and_recall_counts_it_0() -> None:
    scores = rl.score_rankings({"q": ["A"], "empty": []}, {"q": ["A"], "empty": ["A"]}, OF_RAGAS, profile="ragas")
    assert [scores.n(metric) for metric in OF_RAGAS] == [1, 2, 2]
    assert [scores.mean(metric) for metric in OF_RAGAS] == [1, 0.5, pytest.approx(0.5)]


def test_a_x_b_of_a_b_c(value) -> None:
    found = {name: value(f"{name}@5", ["A", "B", "C"], ["A", "X", "B"], "ragas") for name in (*OF_RAGAS, "f1")}
    assert found == pytest.approx({"precision": 2 / 3, "recall": 2 / 3, "ap": 0.8333333332916666, "f1": 2 / 3}, abs=0)
