"""One process at a time works on a sweep, and a dead one holds nothing."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from raglift.errors import RunError
from raglift.utilities.replacing import hold_lock

HOLDS = """
import sys, time
from pathlib import Path
from raglift.utilities.replacing import hold_lock
with hold_lock(Path(sys.argv[1]), "this sweep"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
def test_another_process_is_told_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path / "lock")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with (
            pytest.raises(RunError, match="another process is working on this sweep"),
            hold_lock(tmp_path / "lock", "this sweep"),
        ):
            pass
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    with hold_lock(tmp_path / "lock", "this sweep"):
        pass


def test_it_is_given_back_at_the_end_of_the_block(tmp_path: Path) -> None:
    with contextlib.suppress(LookupError), hold_lock(tmp_path / "lock", "this sweep"):
        with pytest.raises(RunError, match="another process"), hold_lock(tmp_path / "lock", "this sweep"):
            pass
        raise LookupError
    with hold_lock(tmp_path / "lock", "this sweep"):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(RunError, match="cannot be written"), hold_lock(tmp_path / "lock", "this sweep"):
        pass
