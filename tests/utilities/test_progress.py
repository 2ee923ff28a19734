"""Progress: silent where nobody asked, lines where no terminal is, a bar where one is, always with a rate."""

import io
import os
import pty
import re
import subprocess
import sys

import pytest

from raglift.utilities import progress
from raglift.utilities.progress import notice, quiet, show_progress_if_slow, show_status, step, steps, track


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _not_asked(monkeypatch):
    monkeypatch.delenv("RAGLIFT_PROGRESS", raising=False)


def work(total, steps, **options):
    with track("embed", total, "chunks", **options) as advance:
        for count in steps:
            advance(count)


@pytest.mark.parametrize(("variable", "show"), [(None, None), ("0", None), ("1", False)])
def test_silent_without_a_terminal_unless_asked(capsys, monkeypatch, variable, show):
    if variable is not None:
        monkeypatch.setenv("RAGLIFT_PROGRESS", variable)
    work(3, [1, 2], show=show)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("how", ["environment", "argument"])
def test_lines_without_a_terminal_when_asked(capsys, monkeypatch, how):
    if how == "environment":
        monkeypatch.setenv("RAGLIFT_PROGRESS", "1")
    work(1234, [1000, 234], **({"show": True} if how == "argument" else {}))
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"embed: 1,234/1,234 chunks \(100%\), [\d,]+/s\n", err)


def test_a_notice_is_one_line_where_progress_is_shown(capsys, monkeypatch):
    notice("waiting 7 s")
    notice("waiting 8 s", show=True)
    assert capsys.readouterr() == ("", "waiting 8 s\n")
    monkeypatch.setenv("RAGLIFT_PROGRESS", "1")
    notice("waiting 9 s")
    notice("waiting 10 s", show=False)
    assert capsys.readouterr() == ("", "waiting 9 s\n")
    monkeypatch.setattr(sys, "stderr", None)
    notice("nobody hears", show=True)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


def test_a_line_every_few_seconds_with_the_rate(capsys, clock):
    with track("rerank", 40, "pairs", show=True) as advance:
        for _ in range(40):
            clock[0] += 1.0 if clock[0] < 130 else 0.01
            advance(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "rerank: 5/40 pairs (12%), 1.0/s, about 35 s left"
    assert lines[1] == "rerank: 10/40 pairs (25%), 1.0/s, about 30 s left"
    assert lines[-1] == "rerank: 40/40 pairs (100%), 1.3/s"
    assert len(lines) == 7


def test_the_time_left_is_told_once_it_can_be(capsys, clock):
    """Not from the first units, with which the model was loaded."""
    with track("embed", 100, "chunks", show=True) as advance:
        for seconds in (60, 6, 6):
            clock[0] += seconds
            advance(10)
    said = [line.partition("/s")[2] for line in capsys.readouterr().err.splitlines()]
    assert said == ["", ", about 48 s left", ", about 42 s left"]


def test_the_lines_say_which_step_of_how_many(capsys, clock):
    with steps(3):
        with step("index"), track("embed chunks", 4, "chunks", show=True) as advance:
            clock[0] += 6
            advance(1)
        with step("retrieve"):
            pass
        with step("retrieve"), steps(9), track("retrieve", 312, "queries", show=True) as advance:
            clock[0] += 8
            advance(120)
    with step("nothing numbers it"), track("look for labels", 1, "chunks", show=True) as advance:
        clock[0] += 1
        advance(1)
    assert capsys.readouterr().err.splitlines() == [
        "index 1 of 3, embed chunks: 1/4 chunks (25%), 0.2/s",
        "retrieve 2 of 3: 120/312 queries (38%), 15/s",
        "look for labels: 1/1 chunks (100%), 1.0/s",
    ]


def test_slow_work_writes_lines_only_in_the_block_that_asks_for_them(capsys, clock, monkeypatch):
    def long_work():
        with track("embed", 60, "chunks") as advance:
            for _ in range(60):
                clock[0] += 4
                advance(1)

    long_work()
    assert capsys.readouterr().err == ""
    with show_progress_if_slow():
        work(3, [3])
        assert capsys.readouterr().err == ""
        long_work()
        told = capsys.readouterr().err.splitlines()
        assert told[0] == "embed: 2/60 chunks (3%), 0.2/s, about 4 min left"
        assert told[-1] == "embed: 60/60 chunks (100%), 0.2/s"
        monkeypatch.setenv("RAGLIFT_PROGRESS", "0")
        long_work()
    assert capsys.readouterr().err == ""


BAR = """
from raglift.utilities.progress import step, steps, track
with steps(2):
    with step("index"):
        with track("embed", 50, "chunks") as advance:
            for _ in range(50):
                advance(1)
    with step("load"):
        pass
print("done")
"""


@pytest.mark.slow
def test_a_bar_with_a_rate_and_the_step_on_a_terminal():
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", BAR], stdout=subprocess.PIPE, stderr=follower, env=environment, text=True
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(leader)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == "done\n"
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert "index 1 of 2, embed" in plain
    assert re.search(r"\S load 2 of 2 +\S+ +0/\?", plain)  # moves before anything is counted
    assert "50/50" in plain
    assert re.search(r"[\d,]+ chunks/s", plain)


def test_quiet_silences_what_was_asked_for(capsys):
    with quiet():
        work(3, [3], show=True)
    assert capsys.readouterr().err == ""
    work(3, [3], show=True)
    assert capsys.readouterr().err.startswith("embed: 3/3 chunks")


def test_without_live_a_terminal_gets_lines_too(monkeypatch):
    """A bar draws from a thread of its own, which takes time from what is being timed."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    work(3, [1, 2], live=False)
    assert re.fullmatch(r"embed: 3/3 chunks \(100%\), [\d,.]+/s\n", terminal.getvalue())


def open_terminal(monkeypatch):
    """Put a terminal that can draw in place of standard error."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def drawn(terminal):
    """Return the lines that were drawn, each once, without colours and movements."""
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue()).replace("\r", "\n")
    return list(dict.fromkeys(line.strip() for line in plain.splitlines()))


@pytest.mark.slow
def test_a_step_on_a_terminal_gives_its_bar_to_the_work_in_it(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with steps(2):
        with step("index"):
            work(50, [20, 30])
            with track("rerank", 4, "pairs") as advance:
                notice("waiting [bold] 7 s")
                advance(1)
                work(3, [3])  # below the bar of the work that it is in
                progress._state.display.refresh()
        with step("load"):
            progress._state.display.refresh()
    assert progress._state.display is progress._state.step_bar is None
    lines = drawn(terminal)
    assert "waiting [bold] 7 s" in lines  # as it is, and not as markup
    ended = "\n".join(lines)
    assert re.search(r"index 1 of 2, rerank +\S+ +1/4 +[\d,.]+ pairs/s", ended)
    assert re.search(r"\S load 2 of 2 +\S+ +0/\?", ended)  # of which nothing is counted


@pytest.mark.slow
def test_work_inside_of_work_has_a_bar_while_it_lasts(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with track("queries", 2, "queries") as advance:
        with track("embed", 3, "chunks") as inner:
            inner(2)
            progress._state.display.refresh()
            assert len(progress._state.display.tasks) == 2
        advance(2)
        assert [task.description for task in progress._state.display.tasks] == ["queries"]
    shown = "\n".join(drawn(terminal))
    assert re.search(r"embed +\S+ +2/3 +[\d,.]+ chunks/s", shown)
    assert re.search(r"queries +\S+ +2/2 +[\d,.]+ queries/s", shown)


@pytest.mark.slow
def test_a_status_stands_above_the_bars_of_a_terminal_until_its_block_ends(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with show_status() as say:
        say("cell 3 of 8")
        with track("embed", 3, "chunks") as advance:
            advance(1)
            progress._state.display.refresh()
    work(2, [2])
    lines = drawn(terminal)
    status = lines.index("cell 3 of 8")
    assert "embed" in lines[status + 1]
    assert terminal.getvalue().rindex("cell 3 of 8") < terminal.getvalue().rindex("2/2")


@pytest.mark.parametrize(
    ("show", "variable", "told"),
    [
        (True, None, ["cell 1", "cell 2", "cell 5"]),  # at once, and then every five seconds
        (None, None, ["cell 2", "cell 5"]),  # unasked: after five seconds, and then every ten
        (None, "0", []),
        (False, None, []),
    ],
)
def test_without_a_terminal_the_status_is_a_line_now_and_then(capsys, clock, monkeypatch, show, variable, told):
    if variable is not None:
        monkeypatch.setenv("RAGLIFT_PROGRESS", variable)
    with show_progress_if_slow(), show_status(show=show) as say:
        for number, seconds in enumerate((0, 5, 1, 3, 6), start=1):
            clock[0] += seconds
            say(f"cell {number}")
            say(f"cell {number}")
    assert capsys.readouterr().err.splitlines() == told
