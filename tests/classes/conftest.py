from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import llama_index.core
import pytest
from llama_index.core import MockEmbedding, Settings
from llama_index.core.llms import MockLLM

from raglift.testing.openai_server import OpenAIServer

from .corpus import Corpus
from .frameworks import CASES, FRAMEWORKS
from .running import Row
from .table import WRITE, generated, write

TOKENS = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
"""LlamaIndex's copy of an encoding, which tiktoken itself would fetch."""


@pytest.fixture(scope="session")
def corpus(tiny_cross_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    """The corpus that every class is run on; language models are played on loopback."""
    with OpenAIServer(key="test") as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "test")
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("TIKTOKEN_CACHE_DIR", str(TOKENS))
        yield Corpus.build(server, tiny_cross_encoder, tmp_path_factory.mktemp("classes"))


@pytest.fixture(autouse=True)
def llama_index_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """What LlamaIndex uses where nothing is given: by itself OpenAI, in the world."""
    monkeypatch.setattr(Settings, "_llm", MockLLM())
    monkeypatch.setattr(Settings, "_embed_model", MockEmbedding(embed_dim=8))


@pytest.fixture(scope="session")
def rows() -> Iterator[dict[str, Row]]:
    """The rows that were measured; the page is written from them where that was asked for."""
    measured: dict[str, Row] = {}
    yield measured
    if os.environ.get(WRITE) and len(measured) == len(CASES):
        write(generated({key: row.line for key, row in measured.items()}, FRAMEWORKS))
