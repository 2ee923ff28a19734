from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raglift.results.evaluation import Evaluation
from raglift.sweep.engine import run_sweep
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.record import Sweep


class _Counting(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.server.seen.append(self.request.recv(200))  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def proxy() -> Iterator[list[bytes]]:
    """What was sent to any server, which goes through a proxy of the test's own; it answers nothing."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Counting) as server:
        server.seen = seen = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with pytest.MonkeyPatch.context() as patch:
            for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
                patch.setenv(name, address)
            patch.setenv("NO_PROXY", "")
            yield seen
        server.shutdown()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty working folder in which trackers keep what they keep by default."""
    folder = tmp_path_factory.mktemp("tracked")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "WANDB_PROJECT"):
            patch.delenv(name, raising=False)
        patch.setenv("OPENAI_API_KEY", "a-secret-of-the-environment")
        yield folder


@pytest.fixture(scope="module")
def reranked(ranked: Any) -> Evaluation:
    """Four labelled queries of which one fails, and one that nobody labelled; the reranker lifts one of them."""
    return ranked(
        [1, 2, 3, RuntimeError("the index is gone"), 1],
        reranked=[1, 1, 3, None, 1],
        unlabelled=[4],
        metrics=("rr", "recall", "ndcg", "recall@tokens(2000)"),
        latency=2,
    )


def never_made() -> object:
    raise OSError("no database at 127.0.0.1:5432")


@pytest.fixture(scope="module")
def failed_sweep(reranked: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """A sweep whose only cell failed."""
    sweep = Sweep(dataset=reranked.dataset, systems={"database": never_made}, ks=(1,), primary="ndcg@1")
    return run_sweep(sweep, tmp_path_factory.mktemp("failed") / "sweep", progress=False)
