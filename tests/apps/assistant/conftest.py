from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from raglift.apps.assistant.engine import Assistant
from raglift.records.dataset import Dataset
from raglift.records.documents import Chunk, Document
from raglift.records.labels import Fact, Passage, Query
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.testing.openai_server import OpenAIServer

TEXTS = (
    "The lamp was first lit in 1871, by the keeper.",
    "The horn sounds twice every forty-five seconds in fog.",
    "There are 112 steps to the lantern room.",
    "Boats leave the pier at nine.",
)
WHOLE = " ".join(TEXTS)
QUESTION = "How often does the horn sound?"


def chunk(number: int) -> Chunk:
    start = WHOLE.index(TEXTS[number])
    return Chunk(TEXTS[number], doc_id="light.md", start=start, end=start + len(TEXTS[number]))


@pytest.fixture
def dataset() -> Dataset:
    horn = Fact((Passage(TEXTS[1], doc_id="light.md"),))
    queries = (
        Query("horn", QUESTION, (horn,)),
        Query("moon", "How far is the moon?", answerable=False),
        Query("pier", "When do boats leave?"),
    )
    return Dataset(queries, (Document("light.md", WHOLE),), "light")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        yield server


@pytest.fixture
def make(dataset: Dataset) -> Callable[..., Assistant]:
    """An assistant that finds lamp, horn, steps for every question, and a reranker that puts horn first, lamp last."""

    def made(**settings: object) -> Assistant:
        hits = [chunk(0), chunk(1), chunk(2)]
        asked = [QUESTION, "How far is the moon?", "When do boats leave?", "Who cooks?"]
        settings = {"reranker": FakeReranker({TEXTS[1]: 2.0, TEXTS[2]: 1.0}), "k": 2, "context": 2, **settings}
        return Assistant(FakeRetriever(dict.fromkeys(asked, hits)), dataset, **settings)

    return made
