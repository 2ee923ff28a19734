"""Folders and files that take the place of others: there is one at every moment, and nothing is left of the killed."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from raglift.errors import DatasetError
from raglift.utilities import replacing
from raglift.utilities.limits import is_there
from raglift.utilities.replacing import hold_lock, move_folder, replacing_file, staging_folder, unwritable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


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
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with staging_folder(tmp_path / "run"):  # another process is at work there
        replace_folder(tmp_path / "run", "text")
        assert len(entries(tmp_path)) == 2
    with hold_lock(tmp_path / "lock", "this sweep"):
        assert entries(tmp_path) == ["lock", "run"]


def leave_behind(folder: Path, *names: str) -> Path:
    """Make what a killed process leaves: a folder with its mark, and with other folders."""
    folder.mkdir()
    (folder / replacing._MARK).touch()
    for name in names:
        folder_with(folder / name, name)
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is cleared up there")
def test_what_was_left_is_removed_and_what_was_replaced_is_put_back(tmp_path: Path) -> None:
    target = tmp_path / "run"
    leave_behind(tmp_path / ".run.aaaaaaaa", "written", "retired")
    (tmp_path / ".run.bbbbbbbb").mkdir()  # killed before it was marked
    elsewhere = folder_with(tmp_path / "elsewhere", "theirs")
    (tmp_path / ".run.cccccccc").symlink_to(elsewhere)
    folder_with(tmp_path / ".run.dddddddd", "theirs")
    leave_behind(tmp_path / ".other.aaaaaaaa")
    with staging_folder(target):
        assert (target / "text").read_text(encoding="utf-8") == "retired"
    assert entries(tmp_path) == [".other.aaaaaaaa", ".run.cccccccc", ".run.dddddddd", "elsewhere", "run"]
    assert (elsewhere / "text").read_text(encoding="utf-8") == "theirs"
    leave_behind(tmp_path / ".run.aaaaaaaa", "retired")
    replace_folder(target, "new")  # what is there now is newer
    assert (target / "text").read_text(encoding="utf-8") == "new"
    assert ".run.aaaaaaaa" not in entries(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is cleared up there")
@pytest.mark.parametrize("taken", ["before its mark", "before its lock"])
def test_a_new_folder_that_another_process_takes_for_a_dead_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    name, error = ("os.open", FileNotFoundError) if taken == "before its mark" else ("fcntl.flock", BlockingIOError)
    module, attribute = name.split(".")
    call = getattr(sys.modules[module], attribute)
    refused: list[object] = []

    def refuse_once(*given: object) -> object:
        if not refused:
            refused.append(given)
            raise error
        return call(*given)

    monkeypatch.setattr(name, refuse_once)
    with staging_folder(tmp_path / "run") as folder:
        assert len(entries(tmp_path)) == 2  # the other is about to go
        move_folder(folder_with(folder / "written", "text"), tmp_path / "run", overwrite=False)
    assert (tmp_path / "run/text").read_text(encoding="utf-8") == "text"
    assert refused


def test_a_folder_that_cannot_be_marked_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.open", fails_with(errno.ENOSPC))
    with pytest.raises(OSError, match="No space"), staging_folder(tmp_path / "run"):
        pass
    assert entries(tmp_path) == []


def fails_with(number: int) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_file_is_not_overwritten_where_there_are_no_links_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.link", fails_with(errno.EPERM))
    for text in ("first", "second"):
        with (
            suppress(DatasetError) if text == "first" else pytest.raises(DatasetError, match="is there already"),
            replacing_file(tmp_path / "file", overwrite=False) as file,
        ):
            file.write(text)
    assert entries(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text(encoding="utf-8") == "first"


def test_the_folder_that_may_not_be_written_or_looked_into_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "closed" / "below" / "file"
    assert unwritable(path) is None
    stat = Path.stat

    def closed(self: Path, **options: Any) -> os.stat_result:  # to root, everything is open
        if "below" in self.parts:
            raise PermissionError(errno.EACCES, "Permission denied")
        return stat(self, **options)

    monkeypatch.setattr(Path, "stat", closed)
    path.parents[1].mkdir()
    with pytest.raises(PermissionError):
        is_there(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert unwritable(path) == path.parents[1]


def test_a_working_folder_that_was_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert unwritable(Path("file")) == Path()


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
