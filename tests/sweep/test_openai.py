"""A sweep over a provider's model: real client, real HTTP, a server with a bad day; nothing is paid for twice."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from raglift.adapters import embeddings as openai_embeddings
from raglift.sweep.engine import load_sweep_result, run_sweep
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.record import Sweep
from raglift.testing.openai_server import Answer, OpenAIServer
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.slow

MODEL = "openai:text-embedding-3-small"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, own_cache: Path):
    with OpenAIServer() as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_BASE"):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.lower(), raising=False)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        yield server


@pytest.fixture
def sweep(island: Dataset) -> Sweep:
    return Sweep(
        dataset=island,
        chunkers=["recursive:200/0", "recursive:90/30"],
        embeddings=MODEL,
        retrievers=["dense", "hybrid", "bm25"],
        ks=(1, 3),
        primary="ndcg@3",
    )


@pytest.fixture
def _small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two texts a request, and little patience."""
    monkeypatch.setattr(openai_embeddings, "_TEXTS_PER_REQUEST", 2)
    monkeypatch.setattr(openai_embeddings, "_SECONDS", 0.5)
    retry_policy = openai_embeddings.RetryPolicy(3, 5.0, first_wait=0.01)

    def made(name: str, **_: object) -> openai_embeddings.LangChainEmbedder:
        return openai_embeddings.LangChainEmbedder.by_name(name, retry_policy=retry_policy)

    monkeypatch.setattr("raglift.sweep.measuring.embedder_by_name", made)


def texts_of(result: SweepResult) -> list[str]:
    """Return what the sweep's model had to embed: each distinct chunk, and each query."""
    texts: dict[str, None] = {}
    for entry in result.finished:
        assert entry.evaluation is not None
        texts.update(dict.fromkeys(query.text for query in entry.evaluation.dataset.queries))
        for trace in entry.evaluation.run.traces:
            texts.update(dict.fromkeys(hit.chunk.text for hit in trace.stages[0].ranking))
    return list(texts)


@pytest.mark.usefixtures("_small_requests")
def test_a_bad_day_costs_time_and_nothing_twice(
    sweep: Sweep, server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = {
        1: Answer(status=429, headers={"Retry-After": "0.3"}),
        3: Answer(status=500),
        5: Answer(seconds=1.0),  # longer than is waited
        7: Answer(cut_off=True),
    }
    server.answer_next(*(bad.get(number, Answer()) for number in range(9)))
    result = run_sweep(sweep, tmp_path / "sweep", progress=False)
    assert len(result.finished) == 6
    waited = server.requests[2].at - server.requests[1].at
    assert waited >= 0.3
    answered = [request for number, request in enumerate(server.requests) if number not in bad]
    sent = Counter(text for request in answered for text in request.body["input"])
    assert sent == Counter(texts_of(result))
    assert all(len(request.body["input"]) <= 2 for request in server.requests)


@pytest.mark.usefixtures("_small_requests")
def test_a_provider_that_goes_away_fails_its_cells_and_what_it_gave_is_paid_for_once(
    sweep: Sweep, server: OpenAIServer, tmp_path: Path
) -> None:
    server.answer_next(Answer(), Answer(), Answer(status=401))
    first = run_sweep(sweep, tmp_path / "sweep", progress=False)
    assert {entry.cell.retriever.kind for entry in first.finished if entry.cell.retriever} == {"bm25"}
    assert len(first.failed) == 4
    assert all("401" in str(entry.error) for entry in first.failed)
    before = [text for request in server.requests[:2] for text in request.body["input"]]

    asked = len(server.requests)
    again = run_sweep(sweep, tmp_path / "sweep", resume=True, progress=False)
    after = [text for request in server.requests[asked:] for text in request.body["input"]]
    assert len(again.finished) == 6
    assert Counter(before + after) == Counter(texts_of(again))


def test_a_name_that_was_for_two_models_is_said(
    sweep: Sweep, server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a stop and a resume, the server that answers to a model's name may have become another one."""
    dense = replace(sweep, retrievers=["dense"])
    first = run_sweep(dense, tmp_path / "sweep", progress=False)
    assert not first.mixed_models
    shutil.rmtree(tmp_path / "sweep/cells" / first.finished[0].cell.key)
    with OpenAIServer() as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
        again = run_sweep(dense, tmp_path / "sweep", resume=True, progress=False)
    assert {name: len(identities) for name, identities in again.mixed_models.items()} == {MODEL: 2}
    assert f"{MODEL} changed while the sweep was stopped" in " ".join(str(again).split())
    assert load_sweep_result(tmp_path / "sweep").mixed_models == again.mixed_models
