from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def corpora_folder() -> Path:
    """The folder of the texts that cannot be shipped: $RAGLIFT_CORPORA, else shared/ beside the repository."""
    named = os.environ.get("RAGLIFT_CORPORA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip(f"no corpora at {folder}: set RAGLIFT_CORPORA to a folder that holds them")
    return folder


@pytest.fixture(scope="session")
def book_path(corpora_folder: Path) -> Path:
    """War and Peace as Project Gutenberg publishes it."""
    path = corpora_folder / "war_and_peace" / "2600-0.txt"
    if not path.is_file():
        pytest.skip(f"no text of War and Peace at {path}")
    return path
