"""A search on Ray finds what one on this machine does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEARCH = """
import os, sys
import numpy as np
from raglift.search import Search
from raglift.search.engine import run_search

def facts(found):
    entrants = [(one.cell.name, one.fate, one.asked, one.p) for one in found.entrants]
    means = [one.mean for one in found.entrants]
    rungs = [(rung.systems, rung.queries, rung.dropped, rung.set_aside, rung.joined) for rung in found.rungs]
    return (found.recommended, entrants, rungs, found.questions, found.finalists.check.mean), means

def main(folder):
    space = {
        "dataset": "lighthouse", "chunkers": ["recursive:500/0", "recursive:1000/0"], "retrievers": ["bm25", "dense"],
        "rerankers": ["none", "late-interaction"], "systems": ["my_system:make"], "candidates": 3, "ks": [1, 3],
        "metrics": ["ndcg"], "primary": "ndcg@3", "first_queries": 6, "budget": {"share": 0.8},
    }
    os.environ["RAGLIFT_CACHE"] = folder + "/cache/local"
    local, means = facts(run_search(Search.of(**space), folder + "/local", progress=False))
    os.environ["RAGLIFT_CACHE"] = folder + "/cache/ray"
    spread, others = facts(run_search(Search.of(**space), folder + "/ray", engine="ray", progress=False))
    assert local == spread, (local, spread)
    np.testing.assert_array_equal(means, others)
    assert any(rung[-1] for rung in local[2]), local[2]  # rerankers joined
    print("same")

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    main(sys.argv[1])
"""


@pytest.mark.full
def test_a_search_on_ray_finds_the_same(tmp_path: Path) -> None:
    (tmp_path / "my_system.py").write_text(
        "def make():\n    return lambda query: ['The horn gives two blasts.', 'The lamp is lit at dusk.']\n",
        encoding="utf-8",
    )
    file = tmp_path / "script.py"
    file.write_text(SEARCH, encoding="utf-8")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    environment.pop("RAY_ADDRESS", None)
    done = subprocess.run(
        [sys.executable, str(file), str(tmp_path)], env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "same\n"
