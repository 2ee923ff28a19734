"""What lies in a folder that may not be looked into is not taken for what is not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import raglift as rl
from raglift.base.limits import is_file, is_folder, is_there
from raglift.base.replacing import unwritable
from raglift.errors import RunError
from raglift.storage.saving import check_free
from raglift.sweep.engine import load_sweep_result

NOBODY = 65534


@pytest.fixture
def locked(folder_of_others: Path) -> Iterator[Path]:
    """A folder with a document and a folder in it, into which nobody may look while `as_somebody_else` lasts."""
    folder = folder_of_others / "locked"
    (folder / "inner").mkdir(parents=True)
    (folder / "lamp.txt").write_text("The lamp is lit.", encoding="utf-8")
    folder.chmod(0)
    yield folder
    folder.chmod(0o755)


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Root may look everywhere."""
    is_root = os.geteuid() == 0
    if is_root:
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        if is_root:
            os.setresuid(0, 0, 0)


@pytest.mark.parametrize("look", [is_there, is_file, is_folder])
def test_whether_something_is_there_is_not_guessed(locked: Path, look: Callable[[Path], bool]) -> None:
    with as_somebody_else(), pytest.raises(PermissionError):
        look(locked / "lamp.txt")


@pytest.mark.parametrize("link", ["documents", "documents/lamp.txt"])
def test_documents_that_may_not_be_read_are_not_left_out(locked: Path, link: str) -> None:
    folder = locked.parent / "dataset"
    (folder / link).parent.mkdir(parents=True)
    (folder / "queries.jsonl").write_text('{"id": "q", "query": "What?", "relevant": ["The lamp is lit."]}\n')
    (folder / link).symlink_to(locked / ("inner" if link == "documents" else "lamp.txt"))
    with as_somebody_else(), pytest.raises(PermissionError, match=link):
        rl.load_dataset(folder)


@pytest.mark.parametrize("read", [rl.load_evaluation, load_sweep_result, lambda path: check_free(path, overwrite=True)])
def test_a_run_there_is_said_to_be_out_of_reach(locked: Path, read: Callable[[Path], object]) -> None:
    with as_somebody_else(), pytest.raises(RunError, match=r"locked/inner: cannot be (read|written): .*denied"):
        read(locked / "inner")


def test_the_folder_that_hinders_writing_is_named(locked: Path) -> None:
    with as_somebody_else():
        assert unwritable(locked / "inner" / "new") == locked
