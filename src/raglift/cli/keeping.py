"""An evaluation that was measured is kept, whatever becomes of the folder that it was meant for."""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raglift.records import Evaluation

__all__ = ["keep"]

_MOST_COPIES = 1000


def keep(
    evaluation: Evaluation, folder: Path | None, *, overwrite: bool, show: Callable[[], None] = lambda: None
) -> None:
    """Save an evaluation where that is asked for; what cannot be saved there is shown, and saved elsewhere.

    Args:
        evaluation: what was measured, which may have taken hours.
        folder: where to; None for nowhere.
        overwrite: replace an evaluation that is already there.
        show: prints it, where it would not be printed because of the error.

    Raises:
        RunError: it cannot be saved there; the message says where it is.
    """
    if folder is None:
        return
    # Before anything is printed: whoever reads the table may stop reading, as `head` does
    try:
        evaluation.save(folder, overwrite=overwrite)
    except RunError as error:
        show()
        sys.stdout.flush()
        raise RunError(f"{error}; {_rescued(evaluation, folder)}") from error
    sys.stderr.write(f"saved to {folder}\n")


def _rescued(evaluation: Evaluation, folder: Path) -> str:
    """Save an evaluation where there is a place for it, and return in words what became of it."""
    for place in _places(folder):
        try:
            evaluation.save(place)
        except RunError:
            with suppress(OSError):
                place.rmdir()
        else:
            return f"what was measured is in {place}"
    return "what was measured is printed and nowhere else; what the models computed is in the cache"


def _places(folder: Path) -> Iterator[Path]:
    """Yield a free place beside a folder, and one in the temporary folder."""
    beside = (folder.with_name(f"{folder.name}.unsaved-{number}") for number in range(1, _MOST_COPIES))
    with suppress(OSError, StopIteration, ValueError):  # a folder without a name has none beside it
        yield next(place for place in beside if not place.exists())
    with suppress(OSError):
        yield Path(tempfile.mkdtemp(prefix=f"{folder.name}.unsaved-"))
