from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from raglift.datasets.corpora.catalogue import Corpus, read_corpus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = "The tide comes in.\nThe tide goes out.\nAnd the moon looks on.\n"
CORPUS = """
title = "Tides"
description = "A text about tides."
language = "en"
licence = "CC0-1.0"
sources = ["https://example.org/tides"]
[text]
doc = "tides"
file = "tides.txt"
format = "plain"
urls = [{urls}]
max_bytes = 1_000
"""
LABELS = [("The tide comes", "in."), ("The moon", "on."), ("the tide goes", "out.")]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no other location for texts."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("RAGLIFT_CACHE", str(folder))
    monkeypatch.delenv("RAGLIFT_CORPORA", raising=False)
    return folder


@pytest.fixture
def make_corpus(tmp_path: Path, cache: Path) -> Callable[..., Corpus]:
    """Return a function that writes a corpus with a text to fetch from the given addresses."""

    def make(*urls: str) -> Corpus:
        folder = tmp_path / "tides"
        folder.mkdir()
        listed = ", ".join(json.dumps(url) for url in urls or ["https://example.org/tides.txt"])
        (folder / "corpus.toml").write_text(CORPUS.replace("{urls}", listed))
        lines = (
            {"id": f"q{number}", "query": "When?", "relevant": [{"doc": "tides", "from": first, "to": last}]}
            for number, (first, last) in enumerate(LABELS)
        )
        (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return read_corpus(folder)

    return make
