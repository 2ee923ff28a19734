"""Tracebacks that show what the user wrote: the test's line and, where a system failed, the system's own code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from raglift.errors import RagliftError

__all__ = ["without_own_frames"]

_RAGLIFT = Path(__file__).parents[1]
_EXECUTION, _ADAPTERS = _RAGLIFT / "execution", _RAGLIFT / "integrations"


def without_own_frames(error: RagliftError) -> RagliftError:
    """Return an error without the way that it took through raglift; its cause begins where the system was called."""
    cause = error.__cause__
    if cause is not None:
        cause.__traceback__ = _of_system(cause.__traceback__)
    return error.with_traceback(None)


def _of_system(traceback: TracebackType | None) -> TracebackType | None:
    """Return what comes after raglift's own call; all of it where that is nothing, or raglift called nobody."""
    found, place = traceback, traceback
    while place is not None:
        if _is_in(_EXECUTION, place) and place.tb_next is not None:
            found = place.tb_next
        place = place.tb_next
    # Between the two may stand what makes a retriever of a function, or of another library's
    while found is not None and found.tb_next is not None and _is_in(_ADAPTERS, found):
        found = found.tb_next
    return found


def _is_in(folder: Path, traceback: TracebackType) -> bool:
    return folder in Path(traceback.tb_frame.f_code.co_filename).parents
