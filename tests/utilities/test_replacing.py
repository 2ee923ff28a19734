"""Folders and files that take the place of others: there is one at every moment, and nothing is left of the killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from raglift.utilities import replacing
from raglift.utilities.replacing import move_folder, replacing_file, staging_folder


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def folder_with(path: Path, text: str) -> Path:
    path.mkdir()
    (path / "text").write_text(text, encoding="utf-8")
    return path


def replace_folder(target: Path, text: str) -> None:
    with staging_folder(target) as temporary:
        move_folder(folder_with(temporary / "written", text), target, overwrite=True)


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    for text in ("first", "second"):
        replace_folder(tmp_path / "run", text)
        assert (tmp_path / "run/text").read_text(encoding="utf-8") == text
        assert entries(tmp_path) == ["run"]


def test_a_block_that_fails_changes_nothing(tmp_path: Path) -> None:
    replace_folder(tmp_path / "run", "first")
    with pytest.raises(FileExistsError), staging_folder(tmp_path / "run") as temporary:
        folder_with(folder_with(temporary / "written", "second"), "again")
    assert entries(tmp_path) == ["run"]
    assert (tmp_path / "run/text").read_text(encoding="utf-8") == "first"


KILLED = """
import os, signal, sys
from pathlib import Path
from raglift.utilities import replacing
target, moment = Path(sys.argv[1]), sys.argv[2]
move = Path.replace
def replace(self, place):
    found = move(self, place)
    if moment == "between" and place.name == "retired":
        os.kill(os.getpid(), signal.SIGKILL)
    return found
Path.replace = replace
with replacing.staging_folder(target) as temporary:
    (temporary / "written").mkdir()
    if moment == "writing":
        os.kill(os.getpid(), signal.SIGKILL)
    replacing.move_folder(temporary / "written", target, overwrite=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
@pytest.mark.parametrize("moment", ["writing", "between"])
def test_what_a_killed_process_left_is_cleared_up_by_the_next(tmp_path: Path, moment: str) -> None:
    target = folder_with(tmp_path / "run", "first")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(target), moment])
    assert killed.returncode == -signal.SIGKILL
    assert target.exists() == (moment == "writing")
    assert len(entries(tmp_path)) == 1 + target.exists()
    with staging_folder(target):  # which writes nothing
        assert (target / "text").read_text(encoding="utf-8") == "first"
    assert entries(tmp_path) == ["run"]


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is cleared up there")
def test_what_a_living_process_writes_and_what_is_not_raglifts_stays(tmp_path: Path) -> None:
    theirs = folder_with(tmp_path / ".run.settings", "mine")
    with staging_folder(tmp_path / "run") as first, staging_folder(tmp_path / "run") as second:
        assert first != second
        assert first.is_dir()
        assert (theirs / "text").read_text(encoding="utf-8") == "mine"
        assert len(entries(tmp_path)) == 3
    assert entries(tmp_path) == [".run.settings"]


def test_where_there_are_no_locks_files_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(_: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(replacing, "_lock", no_locks)
    with staging_folder(tmp_path / "run"):  # another process is at work there
        replace_folder(tmp_path / "run", "text")
        assert len(entries(tmp_path)) == 2
    assert entries(tmp_path) == ["run"]


def test_a_pipe_gets_all_or_nothing_and_may_stop_reading(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDWR)  # not at its end while nobody writes
    with suppress(ZeroDivisionError), replacing_file(pipe) as file:
        file.write("half")
        1 / 0  # noqa: B018
    with replacing_file(pipe) as file:
        file.write("whole\n")
    assert os.read(reader, 100) == b"whole\n"
    stops = threading.Thread(target=read_once, args=(reader,))
    stops.start()
    with replacing_file(pipe) as file:
        file.write("more than a pipe holds " * 100_000)
    stops.join()


def read_once(reader: int) -> None:
    """Read what comes first, and stop."""
    select.select([reader], [], [])
    os.read(reader, 100)
    os.close(reader)
