"""Results as CSV and Parquet, for other programs."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Protocol

from raglift.dataset.replacing import beside
from raglift.errors import ConfigurationError, RunError
from raglift.paths import is_there, user_path
from raglift.printable import encodable

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from raglift.records import LabelSources

__all__ = ["Tabular", "export"]

_SUFFIXES = (".csv", ".parquet")
_QUERIES = ".queries"


class Tabular(Protocol):
    """What can be exported: an evaluation, a comparison, or the result of a sweep."""

    @property
    def label_sources(self) -> LabelSources:
        """Who gave the labels that its figures rest on."""
        ...

    def to_frame(self) -> pd.DataFrame:
        """Return one row a metric."""
        ...

    def per_query(self) -> pd.DataFrame:
        """Return one row a query and metric."""
        ...


def export(found: Tabular, path: str | Path, *, overwrite: bool = False) -> tuple[Path, Path]:
    """Write the table to `path`, and one row a query and metric beside it: `results.csv`, `results.queries.csv`.

    Numbers are written in full, and what is missing is empty. Texts are written as they are, lone surrogates as �: a
    question that begins with `=` is a formula to a spreadsheet, so open what strangers wrote with something else. Where
    models had a part in the labels, a last column `labels` says whose they are, in every row.

    Args:
        found: an evaluation, a comparison, or the result of a sweep.
        path: where; the ending says what is written, `.csv` or `.parquet`. Its parents are made when missing.
        overwrite: replace files that are already there.

    Returns:
        The two files.

    Raises:
        ConfigurationError: another ending.
        RunError: a file is there already, or cannot be written; then nothing was changed.
    """
    target = user_path(path)
    suffix = target.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ConfigurationError(f"{target}: found the ending {target.suffix!r}; expected {' or '.join(_SUFFIXES)}")
    targets = (target, target.with_name(f"{target.stem}{_QUERIES}{target.suffix}"))
    taken = [str(file) for file in targets if is_there(file) or file.is_symlink()]
    if taken and not overwrite:
        raise RunError(f"{taken[0]}: found a file; expected a free name, or overwrite=True (--overwrite) to replace it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with beside(target) as temporary:
            written = [temporary / str(number) for number in range(len(targets))]
            for file, frame in zip(written, (found.to_frame(), found.per_query()), strict=True):
                _write(_clean(_signed(frame, found.label_sources)), file, suffix)
            for file, place in zip(written, targets, strict=True):
                file.replace(place)
    except OSError as error:
        raise RunError(
            f"{target}: cannot be written: {error.strerror or error}; expected a place to write to"
        ) from error
    return targets


def _signed(frame: pd.DataFrame, sources: LabelSources) -> pd.DataFrame:
    """Return a frame that says in each row whose labels it rests on, where models had a part in them."""
    return frame.assign(labels=str(sources)) if sources.by_model else frame


def _write(frame: pd.DataFrame, file: Path, suffix: str) -> None:
    if suffix == ".csv":
        # Every text in quotes: without them a carriage return in one would end its row
        frame.to_csv(file, index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, encoding="utf-8")
    else:
        frame.to_parquet(file, index=False)


def _clean(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts UTF-8 can write, and whose columns of texts are such also where they are empty."""
    texts = frame.select_dtypes(include=["object", "string"])
    return frame.assign(
        **{str(name): column.map(encodable, na_action="ignore").astype("string") for name, column in texts.items()}
    )
