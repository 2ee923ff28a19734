"""The folder that an agent may see: its datasets and runs, and which paths are in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from raglift.datasets.corpora.catalogue import known_corpora
from raglift.errors import ConfigurationError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.storage.layout import RUN
from raglift.utilities.display import printable, shorten
from raglift.utilities.limits import is_file, is_folder, is_there, is_valid_path, resolved, user_path
from raglift.utilities.validation import quoted

_DEEPEST = 6
_MOST_FILES = 20_000
_MOST_FOLDERS = 20_000
_FIRST_LINE = 100_000
_TEMPORARY = re.compile(r"@[1-9]\d{0,5}")
_QUERIES, _PARQUET = "queries.jsonl", "qa.parquet"
_PASSED_OVER = {"node_modules", "__pycache__", "site-packages"}


@dataclass(frozen=True)
class Workspace:
    """A folder, and what may be done with it.

    Raises:
        ConfigurationError: there is no such folder.
    """

    root: Path
    """The folder; nothing outside is read or written, whatever links are in it."""
    allow_write: bool = False
    """Whether runs may be saved in the folder."""
    allow_code: bool = False
    """Whether systems by reference may be measured: code of the folder, commands and addresses."""
    unsaved: Path = field(init=False, repr=False)
    """Where runs are that are not saved, for as long as the server runs."""

    def __post_init__(self) -> None:
        root = user_path(self.root)
        if not is_folder(root):
            raise ConfigurationError(f"mcp: found no folder {root}; expected the folder that an agent may see")
        object.__setattr__(self, "root", root.resolve())
        object.__setattr__(self, "unsaved", Path(tempfile.mkdtemp(prefix="raglift-mcp-")))

    def close(self) -> None:
        """Remove the runs that were not saved."""
        shutil.rmtree(self.unsaved, ignore_errors=True)

    def path(self, name: str) -> Path:
        """Return a path in the folder.

        Raises:
            ConfigurationError: it is outside, by `..`, as an absolute path or by a link.
        """
        path = None
        with suppress(OSError, ValueError, RuntimeError):  # a circle of links
            path = (self.root / name).resolve()
        if path is None or not is_valid_path(path):
            raise ConfigurationError(f"found the path {quoted(shorten(name, 200))}; expected one in the folder")
        if not path.is_relative_to(self.root):
            raise ConfigurationError(
                f"found the path {quoted(shorten(name, 200))}, which is outside; expected one in the folder"
            )
        return path

    def readable(self, name: str) -> Path:
        """Return a file or folder in the folder, none of whose links leads out.

        Raises:
            ConfigurationError: it is outside, is not there, or has a link in it that leads out.
        """
        path = self.path(name)
        if not is_there(path):
            raise ConfigurationError(f"found nothing at {quoted(shorten(name, 200))}; expected a path in the folder")
        for inner in _everything_below(path):
            if inner.is_symlink() and not resolved(inner).is_relative_to(self.root):
                raise ConfigurationError(
                    f"found the link {quoted(str(inner.relative_to(self.root)))}, which leads out of the folder; "
                    "expected files in it"
                )
        return path

    def new_run(self, name: str | None) -> tuple[str, Path]:
        """Return what a run is called, and where it is saved: in the folder, or for as long as the server runs.

        Raises:
            ConfigurationError: nothing may be saved, something is there, or it is hidden or inside something else.
        """
        if name is None:
            taken = sum(1 for _ in self.unsaved.iterdir())
            return f"@{taken + 1}", self.unsaved / f"@{taken + 1}"
        if not self.allow_write:
            raise ConfigurationError(
                f"found save_as {quoted(shorten(name, 200))}, and nothing may be written; expected none, or a server "
                "that was started with --allow-write"
            )
        path = self.path(name)
        if is_there(path):
            raise ConfigurationError(f"found something at {quoted(shorten(name, 200))}; expected a free name")
        parts = path.relative_to(self.root).parts
        around = path.parents[: len(parts) - 1]
        is_inside = any(is_there(folder / each) for folder in around for each in (RUN, _QUERIES, _PARQUET))
        if is_inside or any(part.startswith((".", "documents")) for part in parts):
            raise ConfigurationError(
                f"found save_as {quoted(shorten(name, 200))}; expected a folder that is neither hidden nor inside a "
                "run, a dataset or its documents, as runs/first"
            )
        return name, path

    def run(self, name: str) -> Evaluation:
        """Return a saved run, or one of this server's by its name, as `@1`.

        Raises:
            ConfigurationError: it is outside, or is not there.
            RunError: it is no run.
        """
        if _TEMPORARY.fullmatch(name):
            path = self.unsaved / name
            if not path.exists():
                raise ConfigurationError(f"found no run {name}; expected one that evaluate has named")
            return load_evaluation(path)
        return load_evaluation(self.readable(name))

    def runs(self) -> list[str]:
        """Return the names of all runs, the newest first."""
        unsaved = [path.name for path in self.unsaved.iterdir() if is_file(path / RUN)]
        folders = [path.parent for path in _below(self.root) if path.name == RUN and not path.is_symlink()]
        saved = sorted(folders, key=lambda folder: -(folder / RUN).stat().st_mtime)
        return [*sorted(unsaved, reverse=True), *(folder.relative_to(self.root).as_posix() for folder in saved)]

    def datasets(self) -> list[tuple[str, str]]:
        """Return the datasets in the folder and those that come with raglift, each with what it is."""
        in_folder = []
        for path in _below(self.root):
            if path.name in (_QUERIES, _PARQUET) and not (path.parent / RUN).exists():
                in_folder.append((path.parent.relative_to(self.root).as_posix(), "a folder of queries"))
            elif path.suffix == ".jsonl" and path.name != _QUERIES and _has_queries(path):
                in_folder.append((path.relative_to(self.root).as_posix(), "a file of queries"))
        bundled = [(corpus.name, f"comes with raglift: {corpus.descriptor.title}") for corpus in known_corpora()]
        return [*sorted(in_folder), *bundled]


def _below(path: Path) -> Iterator[Path]:
    """Yield what is below a folder; links are not followed, and hidden and very deep folders not read."""
    seen = 0
    for folder, folders, files in os.walk(path):
        depth = len(Path(folder).relative_to(path).parts)
        folders[:] = [
            name
            for name in sorted(folders)
            if depth < _DEEPEST and not name.startswith(".") and name not in _PASSED_OVER
        ]
        for name in [*sorted(files), *folders]:
            seen += 1
            if seen > _MOST_FILES:
                return
            yield Path(folder) / name


def _everything_below(path: Path) -> Iterator[Path]:
    """Yield a path, and all that is below it."""
    yield path
    for seen, (folder, folders, files) in enumerate(os.walk(path)):
        if seen > _MOST_FOLDERS or len(files) > _MOST_FILES * 10:
            raise ConfigurationError(f"found a folder with too much in it, {quoted(path.name)}; expected a smaller one")
        for name in [*files, *folders]:
            yield Path(folder) / name


def _has_queries(path: Path) -> bool:
    """Whether the first line of a file is a query."""
    if path.is_symlink() or not is_file(path):
        return False
    try:
        with path.open("rb") as file:
            entry = json.loads(file.readline(_FIRST_LINE))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and "query" in entry and "relevant" in entry


def bounded(text: str, most: int = 20_000) -> str:
    """Return a text that is safe to show, cut if it is longer than an agent should read."""
    safe = printable(text)
    if len(safe) <= most:
        return safe
    return f"{safe[:most]}\n… cut: {len(safe) - most:,} more characters"
