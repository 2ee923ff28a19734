"""The notebooks run from top to bottom without a network, and show what their committed outputs show."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.mark.slow
@every_notebook
def test_a_committed_notebook_was_run_whole_and_tells_nothing_of_the_machine(path: Path, checking: ModuleType) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert checking.faults(notebook) == []
    assert path.stat().st_size < checking.LARGEST_FILE


@pytest.mark.slow
@every_notebook
def test_a_committed_notebook_is_written_as_make_notebooks_writes_it(path: Path, running: ModuleType) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert running.cleaned(notebook) == notebook


@pytest.mark.full
@every_notebook
def test_a_notebook_shows_what_is_committed(
    path: Path, running: ModuleType, checking: ModuleType, request: pytest.FixtureRequest
) -> None:
    committed = nbformat.read(path, as_version=4)
    environment = {}
    if "war_and_peace" in committed.metadata.get("raglift", {}).get("texts", ()):
        # Skips where the book is not: what is committed is of the book
        environment["RAGLIFT_CORPORA"] = str(request.getfixturevalue("book_path").parents[1])
        request.getfixturevalue("first_walk")
        environment["RAGLIFT_CACHE"] = str(request.getfixturevalue("book_cache"))
    run = running.execute(path, environment)
    assert checking.faults(run) == []
    assert checking.differences(committed, run) == []


@pytest.mark.full
def test_the_walkthrough_continues_without_the_book(tmp_path: Path, running: ModuleType, checking: ModuleType) -> None:
    run = running.execute(FOLDER / "01_war_and_peace.ipynb", {"RAGLIFT_CORPORA": str(tmp_path)})
    shown = " ".join(
        text for cell in run.cells for output in cell.get("outputs", ()) for _, text in checking.texts(output)
    )
    assert "lighthouse" in shown
    assert "raglift corpus fetch war_and_peace" in shown
    assert not re.search("Pierre|Natásha|Kutúzov", shown)
