"""The command `raglift`, and `python -m raglift`: a process of the command line's own."""

from __future__ import annotations

import atexit

from raglift import cli
from raglift.cli.exits import INTERRUPTED
from raglift.utilities.threads import end_process


def main() -> None:
    """Run the command line, and end the process."""
    code: object = 1
    atexit.register(lambda: end_process(code))  # registered before what the commands import, it is called after that
    try:
        cli.main()
        code = None
    except SystemExit as end:
        code = end.code
        raise
    except KeyboardInterrupt:
        code = INTERRUPTED
        raise


if __name__ == "__main__":
    main()
