"""A sweep that is killed, whenever that is, goes on to what an uninterrupted one gives, and repeats no finished batch.

Real processes and SIGKILL: nothing in the killed process gets to run any more.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from raglift.records import Evaluation
from raglift.sweep import load_sweep_result

SWEEP = """
dataset: lighthouse
chunkers: [recursive:1000/100, recursive:500/0]
retrievers: [dense, bm25]
rerankers: [none, late-interaction]
candidates: 5
ks: [1, 5]
primary: ndcg@5
dtype: float32
"""

# What a process writes down: each batch before a model computes it, and each key after it is safely in the cache
LOGGED = """
import hashlib, json, os, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
write = lambda kind, items: os.write(log, (json.dumps([os.getpid(), kind, items]) + "\\n").encode())

from raglift.cache import Cache
from raglift.indexing import SentenceTransformerEmbedder
from raglift.reranking import LateInteractionReranker
from raglift.cli import main

embed, score, put = SentenceTransformerEmbedder.embed, LateInteractionReranker.score, Cache.put_many
digest = lambda item: hashlib.sha256(repr(item).encode()).hexdigest()[:16]

def embed_logged(self, texts, kind):
    write("computes", [digest((kind, text)) for text in texts])
    computing.append([digest((kind, text)) for text in texts])
    return embed(self, texts, kind)

def score_logged(self, batch):
    write("computes", [digest(pair) for pair in batch])
    computing.append([digest(pair) for pair in batch])
    return score(self, batch)

def put_logged(self, entries):
    put(self, entries)
    if entries:
        while computing:
            write("kept", computing.pop())

computing = []
SentenceTransformerEmbedder.embed, LateInteractionReranker.score = embed_logged, score_logged
Cache.put_many = put_logged
sys.argv = ["raglift", "sweep", *sys.argv[2:]]
main()
"""


def start(log: Path, cache: Path, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "RAGLIFT_CACHE": str(cache), "RAGLIFT_PROGRESS": "0", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", LOGGED, str(log), *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()


def rankings(evaluation: Evaluation) -> list[object]:
    return [
        [(stage.stage, [(hit.chunk.id, hit.score) for hit in stage.ranking]) for stage in trace.stages]
        for trace in evaluation.run.traces
    ]


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    whole = start(tmp_path / "whole.log", tmp_path / "whole-cache", str(file), "--out", str(tmp_path / "whole"))
    finish(whole)

    seed = random.SystemRandom().randrange(2**32)
    moments = random.Random(seed)  # noqa: S311 — when to kill
    log, killed = tmp_path / "killed.log", 0
    out = str(tmp_path / "killed")
    for _ in range(4):
        seen = log.stat().st_size if log.exists() else 0
        process = start(log, tmp_path / "killed-cache", str(file), "--out", out, "--resume")
        while process.poll() is None and (not log.exists() or log.stat().st_size == seen):
            time.sleep(0.02)  # until it has begun to compute: most of its life is importing
        time.sleep(moments.uniform(0.0, 3.0))
        if process.poll() is None:
            killed += 1
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    assert killed >= 2, f"seed {seed}"
    finish(start(log, tmp_path / "killed-cache", str(file), "--out", out, "--resume"))

    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    kept: set[str] = set()
    for _, kind, items in events:
        if kind == "computes":
            assert not kept & set(items), f"a finished batch was computed again; seed {seed}"
        else:
            kept |= set(items)
    lost = Counter(item for _, kind, items in events if kind == "computes" for item in items)
    assert max(lost.values()) <= killed + 1

    expected, found = load_sweep_result(tmp_path / "whole"), load_sweep_result(tmp_path / "killed")
    assert len(found.finished) == len(expected.finished) == len(expected.results) == 8
    for left, right in zip(expected.results, found.results, strict=True):
        assert left.cell == right.cell
        assert left.evaluation is not None
        assert right.evaluation is not None
        assert rankings(left.evaluation) == rankings(right.evaluation), f"{left.cell.name}; seed {seed}"
        np.testing.assert_array_equal(left.evaluation.scores.values, right.evaluation.scores.values)
