"""Run notebooks from top to bottom, each in a fresh kernel without a network, and keep what they show.

    python notebooks/running.py                      all notebooks here, in place, as `make notebooks` does
    python notebooks/running.py 01_war_and_peace     only this one

Sources and outputs are kept, charts as pictures: no times, no versions, nothing of the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent
SECONDS_FOR_A_CELL = 1800  # more than any takes, so that only what hangs is stopped

OF_THE_MACHINE = re.compile(r"<li>(?:Measured on|Versions|Machine): [^<]*</li>")

KERNEL = """
import os, socket, warnings

# tqdm misses a widget in which to draw progress that is not asked for
warnings.filterwarnings("ignore", "IProgress not found")
os.environ.update(RAGLIFT_PROGRESS="0", HF_HUB_OFFLINE="1", NO_COLOR="1", COLUMNS="120")
connect, lookup = socket.socket.connect, socket.getaddrinfo


def is_here(host):
    name = host.decode() if isinstance(host, bytes) else host
    return name in (None, "localhost", "::1") or name.startswith("127.")


def connect_here(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and not is_here(address[0]):
        raise ConnectionRefusedError(f"a notebook tried to reach {address[0]}")
    return connect(self, address)


def look_up_here(host, *args, **kwargs):
    if not is_here(host):
        raise socket.gaierror(f"a notebook tried to look up {host}")
    return lookup(host, *args, **kwargs)


socket.socket.connect, socket.getaddrinfo = connect_here, look_up_here

import altair
from ipykernel.iostream import OutStream
from ipykernel.kernelapp import launch_new_instance

altair.renderers.enable("png", scale_factor=1.25)
OutStream.flush_timeout = None  # after ten seconds on a busy machine it would print that it timed out
launch_new_instance()
"""
"""The kernel's process: it connects only to this machine, draws no progress and shows charts as pictures."""


class ThisPython(KernelSpecManager):
    """Knows one kernel, this Python itself: one that a user has registered as `python3` may be another."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002
        """Return the specification of this Python, whatever the name."""
        argv = [sys.executable, "-c", KERNEL, "-f", "{connection_file}", "--log-level=ERROR"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


class Kernel(AsyncKernelManager):
    """Starts that kernel."""

    def _kernel_spec_manager_default(self) -> KernelSpecManager:
        return ThisPython()


def execute(path: Path, environment: dict[str, str] | None = None) -> nbformat.NotebookNode:
    """Run a notebook in a fresh kernel, in a working directory of its own that is gone afterwards.

    The directory has a copy of the folder `files` beside the notebook, if there is one.

    Args:
        path: the notebook, which is not changed.
        environment: variables of the kernel besides those of this process.

    Returns:
        The notebook with the outputs of this run.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed; the message shows it.
    """
    notebook = cleaned(nbformat.read(path, as_version=4))
    with tempfile.TemporaryDirectory() as folder:
        if (files := path.parent / "files").is_dir():
            shutil.copytree(files, Path(folder, files.name))
        client = NotebookClient(
            notebook,
            kernel_manager_class=Kernel,
            kernel_name="python3",
            timeout=SECONDS_FOR_A_CELL,
            startup_timeout=SECONDS_FOR_A_CELL,
            iopub_timeout=SECONDS_FOR_A_CELL,  # by default, outputs that come 4 seconds after a cell ended are lost
            record_timing=False,
            resources={"metadata": {"path": folder}},
        )
        client.execute(env={**os.environ, **(environment or {})})
    return cleaned(notebook)


def cleaned(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the notebook without what its metadata and its reports say of the machine and the day."""
    clean: nbformat.NotebookNode = nbformat.from_dict(notebook)
    clean.metadata = nbformat.from_dict(
        {
            **{key: value for key, value in notebook.metadata.items() if key == "raglift"},
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in clean.cells:
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in ("tags",) if key in cell.metadata})
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    return clean


def joined(outputs: list[Any]) -> list[Any]:
    """Return outputs with neighbouring pieces of one stream put together, as how it was cut is chance."""
    whole: list[Any] = []
    for output in outputs:
        last = whole[-1] if whole else {}
        if output.output_type == "stream" == last.get("output_type") and output.name == last.name:
            last.text += output.text
            continue
        whole.append(nbformat.from_dict(output))
        data = whole[-1].get("data", {})
        if "text/html" in data:
            data["text/html"] = OF_THE_MACHINE.sub("", "".join(data["text/html"]))
        if data.keys() & {"text/html", "image/png", "image/svg+xml"}:
            data.pop("text/plain", None)  # what an object is called where it cannot be shown
    return whole


def main(names: list[str]) -> None:
    """Run the notebooks in place, and say how long each took."""
    for path in [FOLDER / f"{Path(name).stem}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb")):
        started = time.perf_counter()
        nbformat.write(execute(path), path)
        seconds = time.perf_counter() - started
        sys.stdout.write(f"{path.name}: {seconds:.0f} s, {path.stat().st_size / 1000:,.0f} kB\n")


if __name__ == "__main__":
    main(sys.argv[1:])
