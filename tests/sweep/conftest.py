"""A small island to sweep over: real text, few chunks, so that real models take seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from raglift.sweep.engine import run_sweep
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.record import Sweep
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query

LAMP = (
    "The lamp is lit at dusk and put out at dawn. The keeper trims the wick every evening, and winds the clockwork "
    "that turns the lens. In winter the lamp burns for sixteen hours."
)
FOG = (
    "When fog comes in, the horn gives two blasts every forty-five seconds. The horn runs on compressed air from a "
    "boiler in the lower house. It can be heard eight miles out when the wind is still."
)
BOAT = (
    "The supply boat comes on the first Monday of the month with coal, flour and letters. In heavy seas it waits "
    "behind the northern rocks until the tide has turned."
)


def _labelled(number: int, text: str, document: str, source: str, words: str) -> Query:
    start = source.index(words)
    passage = Passage(words, doc_id=document, start=start, end=start + len(words))
    return Query(f"q{number}", text, (Fact((passage,)),), tags=("odd" if number % 2 else "even",))


@pytest.fixture(scope="session")
def island() -> Dataset:
    """Three documents and five labelled questions."""
    queries = (
        _labelled(1, "when is the lamp lit", "lamp.md", LAMP, "The lamp is lit at dusk"),
        _labelled(2, "how long does the lamp burn in winter", "lamp.md", LAMP, "the lamp burns for sixteen hours"),
        _labelled(3, "how often does the horn sound", "fog.md", FOG, "two blasts every forty-five seconds"),
        _labelled(4, "what drives the horn", "fog.md", FOG, "compressed air from a boiler"),
        _labelled(5, "what does the boat bring", "boat.md", BOAT, "coal, flour and letters"),
    )
    documents = (Document("lamp.md", LAMP), Document("fog.md", FOG), Document("boat.md", BOAT))
    return Dataset(queries, documents, "island")


@pytest.fixture(scope="session")
def measured(island: Dataset, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """Three cells of BM25, and one of a system that knows one answer."""
    sweep = Sweep(
        dataset=island,
        chunkers=["recursive:60/0", "recursive:90/0", "recursive:200/0"],
        retrievers=["bm25"],
        systems={"lamp": lambda query: ["The lamp is lit at dusk and put out at dawn."]},
        ks=(1, 3),
        metrics=["ndcg", "recall", "context_tokens"],
        latency=2,
        primary="ndcg@3",
    )
    return run_sweep(sweep, tmp_path_factory.mktemp("sweep") / "sweep", progress=False)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty cache of the test's own."""
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
