"""A light to search over: the real text of `lighthouse`, with BM25 alone, so that a search takes seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from raglift.search.specification import Search

SPACE: dict[str, Any] = {
    "dataset": "lighthouse",
    "chunkers": [{"splitter": "recursive", "size": {"from": 200, "to": 1000, "step": 200}, "overlap": [0, 100]}],
    "retrievers": ["bm25", "bm25(k1=0.6,b=0.2)"],
    "ks": [1, 5],
    "metrics": ["ndcg"],
    "primary": "ndcg@5",
    "candidates": 10,
    "budget": {"share": 0.5},
}
"""Twenty cells."""

YAML = """\
dataset: lighthouse
chunkers:
  - {splitter: recursive, size: {from: 200, to: 1000, step: 200}, overlap: [0, 100]}
retrievers: [bm25, "bm25(k1=0.6,b=0.2)"]
ks: [1, 5]
metrics: [ndcg]
primary: ndcg@5
candidates: 10
budget: {share: 0.5}
"""
"""The same in YAML."""


@pytest.fixture
def space() -> Search:
    return Search.of(**SPACE)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "space.yaml"
    path.write_text(YAML, encoding="utf-8")
    return path
