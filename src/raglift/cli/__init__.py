"""The command line: parse, call, print."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; a mistake of the user's ends with one clear message and exit code 2."""
    from raglift.cli.app import app
    from raglift.errors import RagliftError

    try:
        app(prog_name="raglift", standalone_mode=True)
    except RagliftError as error:
        sys.stderr.write(f"raglift: error: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write(
            "\nraglift: stopped; what the models finished is in the cache, so the same command goes on from there\n"
        )
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone, as with `raglift … | head`
        sys.stderr.close()
        sys.exit(0)
