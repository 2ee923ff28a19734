"""The folder of an export: it appears whole or not at all, and nothing but an export is ever replaced."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from raglift.dataset.replacing import NOTHING_WRITTEN, beside, put_folder
from raglift.errors import DatasetError, Fault
from raglift.paths import is_file, is_folder, is_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["MANIFEST", "check_free", "replacing_folder"]

MANIFEST = "export.json"
"""What the files of an export are, and what is to be known of them: the mark of a folder that may be replaced."""


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise unless an export can be written to a folder without destroying anything else.

    Args:
        folder: where it would be written.
        overwrite: whether an export that is already there may be replaced.

    Raises:
        DatasetError: the folder holds something; an export counts as something unless it may be replaced.
    """
    is_link = folder.is_symlink()
    if not is_link and (not is_there(folder) or (is_folder(folder) and not any(folder.iterdir()))):
        return
    is_export = not is_link and _is_export(folder)
    if is_export and overwrite:
        return
    found, expected = "something there already", "a new or empty folder"
    if is_export:
        found, expected = "an export there already", f"{expected}, or overwrite=True (--overwrite) to replace it"
    elif overwrite:
        found = "something there already that is not an export alone, and so is not overwritten"
    raise DatasetError(str(folder), [Fault(str(folder), found, expected)], NOTHING_WRITTEN)


@contextmanager
def replacing_folder(folder: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a new folder that takes the place of another one when the block ends, and never if it fails.

    Args:
        folder: the place; its parents are made when missing.
        overwrite: whether an export that is already there may be replaced.

    Raises:
        DatasetError: the folder holds something else, or cannot be written; what was there is unchanged.
    """
    check_free(folder, overwrite=overwrite)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with beside(folder) as temporary:
            written = temporary / "written"
            written.mkdir()
            yield written
            check_free(folder, overwrite=overwrite)  # whoever came meanwhile was first
            put_folder(written, folder, overwrite=overwrite)
    except OSError as error:
        fault = Fault(str(folder), f"a place that cannot be written ({error.strerror or error})", "a place to write to")
        raise DatasetError(str(folder), [fault], NOTHING_WRITTEN) from error


def _is_export(folder: Path) -> bool:
    """Whether a folder holds the files that its manifest names, and nothing else that replacing it would destroy."""
    if not is_folder(folder):
        return False
    try:
        files = json.loads((folder / MANIFEST).read_bytes())["files"]
        known = {MANIFEST, *(file["name"] for file in files)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
    return all(path.name in known and is_file(path) and not path.is_symlink() for path in folder.iterdir())
