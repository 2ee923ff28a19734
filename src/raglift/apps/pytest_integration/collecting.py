"""The dataset of a marked test, and the check of its mark while tests are collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from raglift.apps.pytest_integration.expectation import FIXTURE, MARK, expectation_of
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, DatasetError, RagliftError
from raglift.types.dataset import Dataset
from raglift.utilities.limits import is_there, user_path

if TYPE_CHECKING:
    import os


# The dataset of a test, loaded once per process.


_LOADED = pytest.StashKey[dict[str, Dataset]]()
_SETTING = "raglift_dataset"


def dataset_of_test(node: pytest.Item) -> Dataset:
    """Return the labelled set that a test names.

    Raises:
        ConfigurationError: it names none, or there is none.
        DatasetError: it cannot be loaded.
    """
    expectation = expectation_of(node.iter_markers(MARK), node.nodeid)
    found = named_dataset(node, expectation.dataset)
    if found is None:
        raise ConfigurationError(
            f"{node.nodeid}: found no labelled set; expected one in the test's mark, as "
            f'@pytest.mark.{MARK}(dataset="lighthouse"), or in the setting {_SETTING}, or a fixture raglift_dataset of '
            "your own in conftest.py"
        )
    return found


def named_dataset(node: pytest.Item, given: str | os.PathLike[str] | Dataset | None) -> Dataset | None:
    """Return a labelled set by its name or path, from the folder of a test's file or else the project's.

    Args:
        node: the test.
        given: what its mark says; without, the setting decides.

    Returns:
        The set; None if neither names one.

    Raises:
        RagliftError: it cannot be loaded.
    """
    if isinstance(given, Dataset):
        return given
    root = node.config.rootpath
    if given is None:
        named = str(node.config.getini(_SETTING)).strip()
        beside = root if node.config.inipath is None else node.config.inipath.parent
        return _loaded(node.config, _place(Path(named), (beside, root))) if named else None
    return _loaded(node.config, _place(Path(given), (node.path.parent, root)))


def _place(path: Path, folders: tuple[Path, ...]) -> Path:
    """Return the first place where something is; the path itself, which may be a corpus's name, where nothing is."""
    return next((folder / user_path(path) for folder in folders if is_there(folder / user_path(path))), path)


def _loaded(config: pytest.Config, source: Path) -> Dataset:
    loaded = config.stash.setdefault(_LOADED, {})
    if str(source) not in loaded:
        try:
            loaded[str(source)] = load_dataset(source)
        except DatasetError as error:
            if source.is_absolute():
                raise
            looked = "a path starts from the folder of the test's file, or from the project's root"
            raise ConfigurationError(f"{error}\n  ({looked}: {config.rootpath})") from error
    return loaded[str(source)]


def check_mark(metafunc: pytest.Metafunc) -> None:
    """Read what a test function expects.

    Raises:
        CollectError: its mark cannot be used, or would change nothing.
    """
    where = metafunc.definition.nodeid
    try:
        expectation = expectation_of(metafunc.definition.iter_markers(MARK), where)
        own = any(mark.name == MARK for mark in metafunc.definition.own_markers)
        if own and expectation.has_bounds and FIXTURE not in metafunc.fixturenames:
            raise ConfigurationError(
                f"{where}: found bounds in its mark, and no argument {FIXTURE}; expected the test to hand its system "
                f"to {FIXTURE}(system), which holds it to them"
            )
    except RagliftError as error:
        message = str(error)
        raise pytest.Collector.CollectError(message if message.startswith(where) else f"{where}: {message}") from None
