"""The command line: parse, call, print."""

from __future__ import annotations

import io
import sys

__all__ = ["Stopped", "main"]

_INTERRUPTED = 130
_HOW_TO_GO_ON = "what the models finished is kept: the same command goes on from there"


class Stopped(SystemExit):
    """Ctrl-C, where there is something to say of how to go on."""

    def __init__(self, how_to_go_on: str) -> None:
        super().__init__(_INTERRUPTED)
        self.how_to_go_on = how_to_go_on


def main() -> None:
    """Run the command line; a mistake of the user's ends with one clear message and exit code 2."""
    from raglift.cli.app import app
    from raglift.errors import RagliftError
    from raglift.printable import printable

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a Windows pipe cannot encode → or ─: print ? rather than stop
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="raglift", standalone_mode=True)
    except RagliftError as error:
        sys.stderr.write(f"raglift: error: {printable(str(error))}\n")
        sys.exit(2)
    except SystemExit as end:
        if end.code == _INTERRUPTED:  # typer turns Ctrl-C into this exit code without a word
            told = printable(getattr(end, "how_to_go_on", _HOW_TO_GO_ON))
            sys.stderr.write(f"\nraglift: stopped: {told}\n")
        raise
    except BrokenPipeError:
        # The reader of our output has gone, as with `raglift … | head`
        sys.stderr.close()
        sys.exit(0)
