"""Tracebacks that show what the user wrote: the test's line and, where a system failed, the system's own code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from raglift.errors import RagliftError

__all__ = ["without_own_frames"]

_EXECUTION = Path(__file__).parents[1] / "execution"


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
        if _EXECUTION in Path(place.tb_frame.f_code.co_filename).parents and place.tb_next is not None:
            found = place.tb_next
        place = place.tb_next
    return found
