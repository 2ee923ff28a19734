from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.slow


def written(folder: Path, *sources: str) -> Path:
    path = folder / "some.ipynb"
    cells = [new_code_cell(source, metadata={"scrolled": True}) for source in sources]
    nbformat.write(new_notebook(cells=cells, metadata={"widgets": {}}), path)
    return path


def shown(run: nbformat.NotebookNode) -> str:
    return "".join(output.get("text", "") for cell in run.cells for output in cell.outputs)


def test_the_kernel_is_this_python_in_an_empty_folder_without_a_network(tmp_path: Path, running: ModuleType) -> None:
    source = """
import os, socket, sys
print(sys.prefix, os.listdir())
for reach in (socket.create_connection, socket.socket().connect):
    try:
        reach(("192.0.2.1", 80))
    except OSError as error:
        print(error)
"""
    path = written(tmp_path, source, "print(os.environ['LAMP'])")
    before = path.read_bytes()
    run = running.execute(path, {"LAMP": "lit"})
    assert shown(run).splitlines() == [
        f"{sys.prefix} []",
        "a notebook tried to look up 192.0.2.1",
        "a notebook tried to reach 192.0.2.1",
        "lit",
    ]
    assert [cell.execution_count for cell in run.cells] == [1, 2]
    assert path.read_bytes() == before


def test_a_cell_that_fails_stops_the_run_and_is_shown(tmp_path: Path, running: ModuleType) -> None:
    with pytest.raises(CellExecutionError, match="the lamp is out"):
        running.execute(written(tmp_path, "raise ValueError('the lamp is out')", "print('on')"))
