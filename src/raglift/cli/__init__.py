"""The command line: parse, call, print."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from raglift.cli.exits import INTERRUPTED, drop_output

_MODELS_KEPT = "what the models finished is kept: the same command continues from there"
_DISK = {errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPERM, errno.EROFS}
"""What a disk that is full, broken or not ours answers."""


def main() -> None:
    """Run the command line; a mistake of the user's ends with one clear message and exit code 2."""
    _prepare_streams()
    from raglift.errors import RagliftError
    from raglift.utilities.cache import is_kept_on_disk
    from raglift.utilities.display import printable
    from raglift.utilities.progress import show_progress_if_slow

    _show_own_warnings()
    try:
        with show_progress_if_slow():
            _call()
    except RagliftError as error:
        _stop(str(error))
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer turns Ctrl-C into this exit code without a word
            advice = printable(getattr(end, "how_to_continue", _MODELS_KEPT if is_kept_on_disk() else ""))
            sys.stderr.write(f"\nraglift: stopped{': ' if advice else ''}{advice}\n")
        raise
    except BrokenPipeError:
        # The reader of our output has gone, as with `raglift … | head`
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno not in _DISK:
            raise
        drop_output()
        where = "what is printed" if error.filename is None else error.filename
        _stop(f"{where}: cannot be written or read: {error.strerror}; expected a place with room, and the right to it")


def _prepare_streams() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their numbers
        stream = getattr(sys, name)
        if stream is None:  # after `>&-`; it gets the number that is free
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a Windows pipe cannot encode → or ─: print ? rather than stop


def _call() -> None:
    """Call the command, which ends with a `SystemExit`, or with the error of an output that has no reader any more."""
    from raglift.cli.app import app

    try:
        app(prog_name="raglift", standalone_mode=True)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # click's own exit code for it is 1
            raise end.__context__ from None
        sys.stdout.flush()  # Python's own last flush tells of a full disk by a traceback
        raise


def _show_own_warnings() -> None:
    from raglift.errors import OWN_WARNINGS

    for category in OWN_WARNINGS:
        warnings.simplefilter("always", category)
    warnings.showwarning = partial(_show_warning, warnings.showwarning)


def _show_warning(show: Callable[..., object], message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Show a warning of raglift's own as one line, without the place in the code; any other as Python does."""
    from raglift.errors import OWN_WARNINGS
    from raglift.utilities.display import printable

    if issubclass(category, OWN_WARNINGS) and sys.stderr is not None:
        sys.stderr.write(f"raglift: warning: {printable(str(message))}\n")
    else:
        show(message, category, *where)


def _stop(message: str) -> None:
    from raglift.utilities.display import printable
    from raglift.utilities.secrets import known_secrets, secrets_of_environment

    try:
        sys.stdout.flush()
    except OSError:
        drop_output()
    text = known_secrets(frozenset(secrets_of_environment())).cleared(message)
    sys.stderr.write(f"raglift: error: {printable(text)}\n")
    sys.exit(2)
