"""How the command line ends: its exit codes, and outputs that nobody reads or that cannot be written."""

from __future__ import annotations

import io
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import raglift
from raglift.cli.exits import INTERRUPTED

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]

SHOW = ("corpus", "show", "lighthouse")
FULL = Path("/dev/full")
full_disk = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")


@contextmanager
def output_to(file: int | Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Print to a file of the system, which may refuse what is printed also when it is closed."""
    stream = open(file, "w", buffering=1_000_000, encoding="utf-8")  # noqa: SIM115, PTH123 — closing it fails
    monkeypatch.setattr(sys, "stdout", stream)
    try:
        yield
    finally:
        with suppress(OSError):
            stream.close()


def test_a_reader_that_has_gone_is_no_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    with output_to(writer, monkeypatch):
        assert run(*SHOW)[0] == 0
    assert errors.closed


@full_disk
def test_a_full_disk_is_told_in_one_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with output_to(FULL, monkeypatch):
        code, _, err = run(*SHOW)
    assert code == 2
    place = "expected a place with room, and the right to it"
    assert err == f"raglift: error: what is printed: cannot be written or read: No space left on device; {place}\n"
    # An error that comes before what was printed is written is the one that is told
    (tmp_path / "fails_always.py").write_text("def search(question):\n    raise KeyError('index')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with output_to(FULL, monkeypatch):
        code, _, err = run("evaluate", "lighthouse", "--system", "fails_always:search", "--reranker", "none", "--json")
    assert code == 2
    assert err.splitlines()[-1].startswith("raglift: error: every question failed; the first: retrieve: KeyError")


@full_disk
def test_a_verdict_that_cannot_be_printed_is_in_the_files(
    run: Run, ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, page = ranked([1] * 3).save(tmp_path / "run"), tmp_path / "gate.md"
    command = ("gate", folder, "--min", "rr@3=0.9", "--markdown", page, "--no-github")
    with output_to(FULL, monkeypatch):
        code, _, err = run(*command)
    assert code == 2
    assert err.startswith("raglift: error: what is printed cannot be written: ")
    assert page.read_text(encoding="utf-8").startswith("### ✅ run: PASSED")
    page.unlink()
    reader, writer = os.pipe()
    os.close(reader)
    with output_to(writer, monkeypatch):
        code, _, err = run(*command)
    assert (code, err) == (0, "")
    assert page.read_text(encoding="utf-8").startswith("### ✅ run: PASSED")


def test_without_an_output_nothing_is_printed_and_nothing_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run("--version") == (0, "", "")


def test_warnings_of_others_stay_as_python_shows_them(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = "import warnings\n\n\ndef search(question):\n    warnings.warn('old index')\n    return ['nothing']\n"
    (tmp_path / "warns.py").write_text(system, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="old index"):
        code, _, err = run("evaluate", "lighthouse", "--system", "warns:search", "--reranker", "none")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--version",), 0), (("corpus", "show", "nowhere"), 2), (("--no-such-option",), 2), (None, INTERRUPTED)],
)
def test_the_process_ends_with_the_code_of_the_command(
    arguments: tuple[str, ...] | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    last: list[Callable[[], object]] = []
    codes: list[object] = []
    monkeypatch.setattr("atexit.register", last.append)
    monkeypatch.setattr("raglift.utilities.threads.end_process", codes.append)
    monkeypatch.setattr(sys, "argv", ["raglift", *(arguments or ())])
    if arguments is None:  # Ctrl-C before the commands are there
        monkeypatch.setattr("raglift.utilities.progress.show_progress_if_slow", pressed)
    with pytest.raises(SystemExit if arguments else KeyboardInterrupt) as ended:
        runpy.run_path(str(Path(raglift.__file__).with_name("__main__.py")), run_name="__main__")
    assert getattr(ended.value, "code", INTERRUPTED) == code
    assert codes == []
    last[0]()
    assert codes == [code]
