from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

BUNDLED = Path(__file__).parents[3] / "corpora" / "lighthouse" / "documents"
BESIDE = Path(__file__).parents[4] / "shared" / "corpora"


class RealTexts:
    """Texts to take pieces from; what a test shows of it is short."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def piece(self, place: tuple[int, int], length: int) -> str:
        """Return a piece of one of the texts, which and where being any integers."""
        text = self.texts[place[0] % len(self.texts)]
        return text[place[1] % len(text) :][:length]


@pytest.fixture(scope="session")
def real() -> RealTexts:
    """The bundled corpus, and the texts of the chunking benchmark and the book where they are at hand."""
    folder = Path(os.environ.get("RAGLIFT_CORPORA", BESIDE))
    found = [*BUNDLED.glob("*.md"), *folder.glob("chunking_evaluation/corpora/*.md"), *folder.glob("*/2600-0.txt")]
    assert found
    return RealTexts([path.read_text(encoding="utf-8") for path in sorted(found)])


@pytest.fixture
def carried_encodings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tiktoken itself find the files that LlamaIndex carries."""
    spec = importlib.util.find_spec("llama_index")
    assert spec is not None
    folder = Path(next(iter(spec.submodule_search_locations or ())))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder / "core" / "_static" / "tiktoken_cache"))
