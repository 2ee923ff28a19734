"""Searches: the YAML of a space, and the folder in which what was decided is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from raglift.errors import ConfigurationError, RunError, SweepError
from raglift.search.budget import Work
from raglift.search.folder import SearchFolder
from raglift.search.schedule import Rung
from raglift.search.specification import Search, load_search

from .reader import Reader

__all__ = ["READERS"]

_YAML = """\
# What is searched
dataset: lighthouse
chunkers:
  - {splitter: recursive, size: {from: 200, to: 1000, step: 200}, overlap: [0, 100]}
  - token:250/0
embeddings: minilm-static
retrievers:
  - bm25
  - {hybrid: {dense: {from: 0.2, to: 0.8, step: 0.2}, bm25: rest}}
rerankers: [none]
primary: ndcg@10
budget: {share: 0.4}
configurations: 30
first_queries: 10
alpha: 0.1
hold_out: 0.25
"""


def _yaml(folder: Path) -> None:
    (folder / "space.yaml").write_text(_YAML, encoding="utf-8")


def _space(folder: Path) -> Search:
    return load_search(folder / "space.yaml")


def _check(search: Search) -> None:
    """Assert that it has cells, a budget and settings in range."""
    assert search.cells
    assert search.budget.questions(len(search.cells), 10) > 0
    assert 0 < search.alpha < 1
    assert 0 <= search.hold_out < 1
    assert search.configurations >= 2
    assert search.hash


def _head(folder: Path) -> SearchFolder:
    return SearchFolder(folder / "search", "Small", "0123-4567", {"alpha": 0.05}, {"dataset": "lighthouse"})


def _begun(folder: Path) -> None:
    with SearchFolder.begin(_head(folder), resume=False) as kept:
        kept.decided(0, lambda: Rung(3, 4, joins=True))
        kept.joins("1-joining", lambda: 3)
        kept.took("0", Work(1.5, 1.0, 0.01, 40), is_finished=True)


def _gone_on_with(folder: Path) -> SearchFolder:
    with SearchFolder.begin(_head(folder), resume=True) as kept:
        kept.decided(len(kept.rungs), lambda: Rung(1, 9))
        kept.took("1", Work(2.0, 1.0, 0.0, 9), is_finished=True)
        return kept


def _check_folder(kept: SearchFolder) -> None:
    """Assert that what was decided can be done."""
    assert all(rung.keep >= 1 and rung.queries >= 1 for rung in kept.rungs)
    assert all(count >= 0 for count in kept.joining.values())
    assert isinstance(kept.spent.seconds, float | int)


READERS: Sequence[Reader] = (
    Reader("space.yaml", _yaml, _space, (SweepError,), _check),
    Reader(
        "search folder, gone on with",
        _begun,
        _gone_on_with,
        (RunError, ConfigurationError),
        _check_folder,
        targets=("search/search.json",),
        changes=("search/search.json", "search/search.lock"),
    ),
)
"""All of the readers here."""
