"""`write_dataset`: a dataset to any of the formats, all of it or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.dataset.formats.catalogue import find_format
from raglift.dataset.formats.fit import faults_of_fit, without
from raglift.dataset.replacing import NOTHING_WRITTEN, beside
from raglift.errors import DatasetError, Fault
from raglift.paths import is_folder, is_there, user_path

if TYPE_CHECKING:
    import os
    from collections.abc import Collection
    from pathlib import Path

    from raglift.dataset.formats.catalogue import FormatName
    from raglift.records import Dataset

__all__ = ["write_dataset"]


def write_dataset(
    dataset: Dataset,
    target: str | os.PathLike[str],
    *,
    format: FormatName = "jsonl",  # noqa: A002 — as in load_dataset
    drop: Collection[str] = (),
) -> Path:
    """Write a dataset in one of the formats that `load_dataset` reads, so that an equal dataset is read back.

    What a format cannot hold is an error, and nothing is written: alternatives have no place in BEIR, nor spans in
    TREC. CSV and LlamaIndex's LabelledRagDataset do not hold the documents.

    Args:
        dataset: the dataset.
        target: where to; a folder for `jsonl`, `beir`, `trec` and `autorag`, else a file. It must not exist yet, or be
            an empty folder.
        format: the format's name; by default raglift's own folder.
        drop: what may be left out: any of `annotators` (which model labels and questions are from), `grades`, `ids`,
            `judged_irrelevant`, `metadata`, `places` (spans become literal texts) and `tags`.

    Returns:
        The target.

    Raises:
        DatasetError: the dataset does not fit the format, or the target is taken or cannot be written; every fault is
            listed.
        ConfigurationError: no such format, or nothing that can be dropped.
    """
    chosen = find_format(format)
    path = user_path(target)
    written = without(dataset, drop)
    faults = faults_of_fit(written, chosen.room(written)) or _faults_of_target(path, as_folder=chosen.is_folder)
    if faults:
        raise DatasetError(f"{path} (as {chosen.title})", faults, NOTHING_WRITTEN)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path) as temporary:
            made = temporary / "written"
            if chosen.is_folder:
                made.mkdir()
            chosen.write(written, made)
            if is_folder(path):
                path.rmdir()  # Windows puts no folder in an empty one's place
            made.replace(path)
    except UnicodeEncodeError as error:
        fault = Fault(str(path), f"half a surrogate pair ({error.object[error.start]!a})", "text that UTF-8 can write")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error
    except (OSError, DatasetError) as error:
        # A writer of a part names where it wrote, which is gone: the place is what the user knows
        cause = error.__cause__ if isinstance(error, DatasetError) else error
        if not isinstance(cause, OSError):
            raise
        fault = Fault(str(path), f"a place that cannot be written ({cause.strerror or cause})", "a place to write to")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error
    return path


def _faults_of_target(path: Path, *, as_folder: bool) -> list[Fault]:
    taken = any(path.iterdir()) or not as_folder if is_folder(path) else is_there(path) or path.is_symlink()
    kind = "folder" if as_folder else "file"
    return [Fault(str(path), "something there already", f"the path of a new {kind}")] if taken else []
