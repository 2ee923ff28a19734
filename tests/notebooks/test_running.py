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


def test_the_kernel_is_this_python_in_a_folder_with_the_files_without_a_network(
    tmp_path: Path, running: ModuleType
) -> None:
    source = """
import os, socket, sys
print(sys.prefix, os.listdir())
for reach in (socket.create_connection, socket.socket().connect):
    try:
        reach(("192.0.2.1", 80))
    except OSError as error:
        print(error)
"""
    path = written(tmp_path, source, "print(os.environ['LAMP'], open('files/oil.txt').read())")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "oil.txt").write_text("full")
    before = path.read_bytes()
    run = running.execute(path, {"LAMP": "lit"})
    assert shown(run).splitlines() == [
        f"{sys.prefix} ['files']",
        "a notebook tried to look up 192.0.2.1",
        "a notebook tried to reach 192.0.2.1",
        "lit full",
    ]
    assert [cell.execution_count for cell in run.cells] == [1, 2]
    assert path.read_bytes() == before


@pytest.mark.full  # twelve seconds
def test_a_busy_machine_neither_adds_outputs_nor_loses_them(tmp_path: Path, running: ModuleType) -> None:
    source = "import time\nget_ipython().kernel.iopub_thread.schedule(lambda: time.sleep(12))\nprint('late')"
    assert shown(running.execute(written(tmp_path, source))) == "late\n"


def test_a_cell_that_fails_stops_the_run_and_is_shown(tmp_path: Path, running: ModuleType) -> None:
    with pytest.raises(CellExecutionError, match="the lamp is out"):
        running.execute(written(tmp_path, "raise ValueError('the lamp is out')", "print('on')"))
