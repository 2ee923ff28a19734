"""A sweep on Ray gives what a local one gives, and work that is lost with a worker is done again.

With Ray itself in processes of their own: it starts servers, and warns in ways that pytest would take for errors. What
is asked of it is also looked at with `OneProcess` in its place, which has as many nodes and GPUs as a test wants.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from raglift.errors import ConfigurationError, MissingDependency, RunError
from raglift.sweep import ray as module
from raglift.sweep.engine import run_sweep
from raglift.sweep.ray import RayWorkers, _knock
from raglift.sweep.specification.record import Sweep
from raglift.types.dataset import Dataset

SAME = """
import sys
import numpy as np
from raglift.sweep.specification.record import Sweep
from raglift.sweep.engine import run_sweep

def rankings(evaluation):
    return [[[(hit.chunk.id, hit.score) for hit in s.ranking] for s in t.stages] for t in evaluation.run.traces]

def main(folder, cache):
    import os
    sys.path.insert(0, folder)
    sweep = Sweep(
        dataset="lighthouse", chunkers=["recursive:1000/0"], retrievers=["dense", "bm25", "hybrid"], candidates=5,
        ks=(1, 5), primary="ndcg@5", rerankers=["none", "late-interaction"],
    )
    os.environ["RAGLIFT_CACHE"] = cache + "/local"
    local = run_sweep(sweep, folder + "/local", progress=False)
    os.environ["RAGLIFT_CACHE"] = cache + "/ray"
    spread = run_sweep(sweep, folder + "/ray", engine="ray", progress=False)
    assert len(local.finished) == len(spread.finished) == 6, (local, spread)
    for one, other in zip(local.results, spread.results):
        assert rankings(one.evaluation) == rankings(other.evaluation), one.cell.name
        np.testing.assert_array_equal(one.evaluation.scores.values, other.evaluation.scores.values)
    print("same", len(spread.finished))

if __name__ == "__main__":
    main(*sys.argv[1:])
"""

LOST = """
import os, signal, sys, time
from functools import partial
from pathlib import Path
from raglift.errors import ConfigurationError
from raglift.sweep.ray import RayWorkers

def work(folder, item):
    begun = Path(folder) / f"{item}-{os.getpid()}"
    begun.touch()
    if item == 1 and len(list(Path(folder).glob("1-*"))) == 1:
        os.kill(os.getpid(), signal.SIGKILL)  # as when the machine under it goes away
    return item * item

def fails(item):
    raise LookupError(f"no {item}")

if __name__ == "__main__":
    with RayWorkers() as workers:
        print(sorted(workers.map(partial(work, sys.argv[1]), [0, 1, 2, 3])))
        print(len(list(Path(sys.argv[1]).glob("1-*"))), "tries")
        try:
            list(workers.map(fails, [7]))
        except LookupError as error:
            print("raised", error)
        print(list(workers.map(fails, [])))
    with RayWorkers() as workers:
        print(workers.placed("float32", "auto"))
        for device in ("cuda", "cuda:1"):
            try:
                workers.placed("float32", device)
            except ConfigurationError as error:
                print(str(error).partition(";")[0])
"""


def run(tmp_path: Path, script: str, *arguments: str) -> str:
    file = tmp_path / "script.py"
    file.write_text(script, encoding="utf-8")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    environment.pop("RAY_ADDRESS", None)
    done = subprocess.run(
        [sys.executable, str(file), *arguments], env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.full
def test_the_same_rankings_and_scores_as_on_this_machine_alone(tmp_path: Path) -> None:
    assert run(tmp_path, SAME, str(tmp_path), str(tmp_path / "cache")) == "same 6\n"


@pytest.mark.full
def test_what_is_lost_with_a_worker_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    out = run(tmp_path, LOST, str(tmp_path / "begun"))
    # Above it, Ray says on its own account that a worker died
    assert [line for line in out.splitlines() if "Worker" not in line][-7:] == [
        *("[(0, 0), (1, 1), (2, 4), (3, 9)]", "2 tries", "raised no 7", "[]"),
        "('float32', 'cpu')",
        "device: found 'cuda' with a Ray cluster without a GPU",
        "device: found 'cuda:1' with the engine 'ray', which itself gives each task its GPU",
    ]
    assert "Worker IP address: 127.0.0.1" in out


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependency, match=r"raglift\[ray\]"):
        RayWorkers()


def test_an_address_where_nothing_listens_is_said_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else takes it
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for told in (address, f"ray://{address}"):
            with pytest.raises(OSError, match="refused"):
                _knock(told)
    for elsewhere in (None, "auto", "local"):  # Ray knows where
        _knock(elsewhere)


class RayError(Exception):
    """As Ray raises it for a task; `cause` is what the function raised, and missing where a worker was lost."""

    def __init__(self, text: str, cause: Exception | None = None) -> None:
        super().__init__(text)
        self.cause = cause


class OneProcess:
    """What raglift uses of Ray, in this process: a task is done when it is waited for, the newest one first."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, *nodes: dict[str, float], is_running: bool = False) -> None:
        self.resources, self.is_running = nodes, is_running
        self.log: list[Any] = []
        self.options: dict[str, Any] = {}
        self.most_under_way = self.idle_waits = 0
        self.lost: set[Any] = set()

    def is_initialized(self) -> bool:
        return self.is_running

    def init(self, **options: Any) -> None:
        self.log.append(("init", options["address"]))
        if options["address"] == "silent":
            raise ConnectionError
        self.is_running = True

    def shutdown(self) -> None:
        self.log.append("shutdown")
        self.is_running = False

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": each} for each in self.resources] + [
            {"Alive": False, "Resources": {"GPU": 8}}
        ]

    def cluster_resources(self) -> dict[str, float]:
        return {kind: sum(each.get(kind, 0) for each in self.resources) for kind in ("CPU", "GPU")}

    def put(self, value: Any) -> Any:
        return lambda: value

    def remote(self, **options: Any) -> Callable[[Callable[..., Any]], Any]:
        self.options = options
        return lambda function: SimpleNamespace(remote=lambda *given: lambda: function(*given))

    def wait(self, under_way: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        self.most_under_way = max(self.most_under_way, len(under_way))
        if self.idle_waits:
            self.idle_waits -= 1
            return [], under_way
        return under_way[-1:], under_way[:-1]

    def get(self, done: Callable[[], Any]) -> Any:
        try:
            return done()
        except LookupError as error:
            raise RayError("a task failed", error) from None
        except SystemExit:
            raise RayError("the worker died") from None

    def cancel(self, left: Any, *, force: bool) -> None:
        self.log.append(("cancel", force))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., OneProcess]:
    """Put a cluster of some nodes in Ray's place."""

    def put(*nodes: dict[str, float], **state: Any) -> OneProcess:
        ray = OneProcess(*nodes, **state)
        monkeypatch.setitem(sys.modules, "ray", ray)
        return ray

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_functions", {})
    monkeypatch.setattr(os, "environ", {name: value for name, value in os.environ.items() if "RAY" not in name})
    return put


def square(item: int) -> int:
    if item == 7:
        raise LookupError(f"no {item}")
    if item == 8:
        raise SystemExit
    return item * item


def test_a_cluster_is_started_and_ended_where_none_is_named(cluster: Callable[..., OneProcess]) -> None:
    ray = cluster({"CPU": 2})
    with RayWorkers() as workers:
        assert ray.log == [("init", "local")]
        assert os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    workers.close()
    assert ray.log == [("init", "local"), "shutdown"]


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_named_cluster_is_joined_and_may_be_on_other_machines(
    cluster: Callable[..., OneProcess], by_variable: bool
) -> None:
    ray = cluster({"CPU": 2})
    if by_variable:
        os.environ["RAY_ADDRESS"] = "auto"
    with RayWorkers(None if by_variable else "auto"):
        assert ray.log == [("init", "auto")]
        assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ


def test_a_cluster_that_the_process_has_already_joined_is_left_running(cluster: Callable[..., OneProcess]) -> None:
    ray = cluster({"CPU": 2}, is_running=True)
    with RayWorkers("auto") as workers:
        assert dict(workers.map(square, [2])) == {2: 4}
    assert ray.log == []


@pytest.mark.parametrize(
    ("address", "reason"), [("silent", "ConnectionError"), ("127.0.0.1:99999", "Port out of range 0-65535")]
)
def test_a_cluster_that_does_not_answer_is_named(cluster: Callable[..., OneProcess], address: str, reason: str) -> None:
    cluster({"CPU": 2})
    with pytest.raises(ConfigurationError, match=f"^Ray: no cluster at '{address}': {reason}; expected the address"):
        RayWorkers(address)


def test_results_come_as_they_are_finished_with_few_tasks_under_way(cluster: Callable[..., OneProcess]) -> None:
    ray = cluster({"CPU": 1}, {"CPU": 1})
    ray.idle_waits = 2
    with RayWorkers() as workers:
        found = list(workers.map(square, [0, 1, 2, 3, 4, 5, 6, 9, 10]))
    assert sorted(found) == [(item, item * item) for item in (0, 1, 2, 3, 4, 5, 6, 9, 10)]
    assert found[0] == (5, 25)
    assert ray.most_under_way == 6
    assert (ray.options["num_cpus"], ray.options["num_gpus"], ray.options["max_calls"]) == (1, 0, 0)
    assert os.environ["RAGLIFT_PROGRESS"] == "0"


@pytest.mark.parametrize(("item", "raised"), [(7, "no 7"), (8, "the worker died")])
def test_what_is_under_way_is_given_up_when_a_task_fails(
    cluster: Callable[..., OneProcess], item: int, raised: str
) -> None:
    ray = cluster({"CPU": 1})
    with RayWorkers() as workers, pytest.raises((LookupError, RayError), match=raised):
        list(workers.map(square, [1, 2, item, 3]))
    assert ray.log.count(("cancel", True)) == 2


def test_where_no_node_has_what_a_task_takes_nothing_is_waited_for(cluster: Callable[..., OneProcess]) -> None:
    ray = cluster({"CPU": 2})
    with RayWorkers() as workers:
        found = workers.map(square, [1, 2, 3])
        assert next(found) == (3, 9)
        ray.resources, ray.idle_waits = (), 1
        with pytest.raises(RunError, match="Ray: found no node with a CPU, which each task takes; expected one"):
            next(found)


@pytest.mark.parametrize(
    ("nodes", "device", "expected"),
    [
        ([{"CPU": 2}], "auto", ("float32", "cpu")),
        ([{"CPU": 2, "GPU": 1}], "cpu", ("float32", "cpu")),
        ([{"CPU": 2}], "cuda", "device: found 'cuda' with a Ray cluster without a GPU; expected a node with one"),
        (
            [{"CPU": 2, "GPU": 1}],
            "cuda:1",
            "device: found 'cuda:1' with the engine 'ray', which itself gives each task",
        ),
    ],
)
@pytest.mark.slow
def test_where_models_compute(
    cluster: Callable[..., OneProcess], nodes: list[dict[str, float]], device: str, expected: Any
) -> None:
    cluster(*nodes)
    with RayWorkers() as workers:
        if isinstance(expected, tuple):
            assert workers.placed("float32", device) == expected
        else:
            with pytest.raises(ConfigurationError, match=expected):
                workers.placed("float32", device)


@pytest.mark.slow
@pytest.mark.parametrize(("gpus", "is_kept"), [(1, True), (2, False)])
def test_tasks_take_gpus_where_there_are_any(cluster: Callable[..., OneProcess], gpus: int, is_kept: bool) -> None:
    ray = cluster({"CPU": 4}, {"CPU": 4, "GPU": gpus})
    with RayWorkers() as workers:
        # The worker says what its GPU can do; the one of this test has none, or another one
        found = workers.placed("float32", "auto")
        assert found[0] == "float32"
        assert ray.options["num_gpus"] == 1
        assert ("max_calls" in ray.options) == is_kept


@pytest.mark.slow
def test_a_sweep_sends_its_models_work_to_the_cluster(
    cluster: Callable[..., OneProcess], island: Dataset, own_cache: Path, tiny_cross_encoder: Path
) -> None:
    ray = cluster({"CPU": 2})
    os.environ["RAGLIFT_CACHE"] = str(own_cache)
    sweep = Sweep(
        dataset=island,
        chunkers=["recursive:200/0"],
        retrievers=["bm25"],
        rerankers=["none", str(tiny_cross_encoder)],
        candidates=3,
        ks=(1, 3),
        primary="ndcg@3",
        dtype="float32",
    )
    result = run_sweep(sweep, own_cache.parent / "sweep", engine="ray", progress=False)
    assert (len(result.finished), result.failed) == (2, ())
    assert ray.options["num_cpus"] == 1
    assert ray.log[-1] == "shutdown"
