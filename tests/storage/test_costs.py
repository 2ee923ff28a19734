"""What a run cost, on disk."""

import dataclasses
import json

import pytest

from raglift.errors import RunError
from raglift.results.evaluation import load_evaluation
from raglift.running.evaluation import evaluate
from raglift.storage.saving import save_evaluation
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.rankings import Cost, IndexCost, StageLatency

COST = Cost(
    latencies=(StageLatency("retrieve", 50, 0.004, 0.006), StageLatency("rerank", 49, 0.2, 0.25, failed=1)),
    whole=StageLatency("retrieve + rerank", 49, 0.21, 0.26, failed=1),
    index=IndexCost(1200, 1100, 1100, 3.25, 1_843_200),
    throughput={"retrieve": 240.5, "rerank": None},
)


@pytest.fixture
def evaluation():
    data = Dataset.from_dict({"who kept the light?": ["Halvard kept the light"]})
    return evaluate(FakeRetriever({"who kept the light?": ["Halvard kept the light"]}), data)


def with_cost(evaluation, cost):
    return dataclasses.replace(evaluation, run=dataclasses.replace(evaluation.run, cost=cost))


@pytest.mark.parametrize(
    "damage",
    [{"throughput": {"retrieve": "fast"}}, {"latencies": [{"stage": "retrieve"}]}],
    ids=["no number", "fields missing"],
)
def test_a_damaged_cost_is_told(evaluation, tmp_path, damage):
    folder = save_evaluation(with_cost(evaluation, COST), tmp_path / "run")
    head = json.loads((folder / "run.json").read_bytes())
    head["cost"].update(damage)
    (folder / "run.json").write_text(json.dumps(head), encoding="utf-8")
    with pytest.raises(RunError, match=r"run\.json: damaged: "):
        load_evaluation(folder)
