"""A sweep on Ray gives what a local one gives, and work that is lost with a worker is done again.

In processes of their own: Ray starts servers, and warns in ways that pytest would take for errors.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from raglift.errors import MissingDependency
from raglift.sweep.ray import RayWorkers, _knock

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
