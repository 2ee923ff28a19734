"""The command `raglift`, and `python -m raglift`: a process of the command line's own."""

from __future__ import annotations

import atexit

from raglift import cli
from raglift.threads import end_process

__all__ = ["main"]


def main() -> None:
    """Run the command line, and end the process."""
    code: object = 1
    atexit.register(lambda: end_process(code))  # registered before all others, it is called after them
    try:
        cli.main()
        code = None
    except SystemExit as end:
        code = end.code
        raise


if __name__ == "__main__":
    main()
