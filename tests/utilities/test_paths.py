"""Names that no file can have, as others write them into sweeps and onto command lines."""

import ast
import os
from pathlib import Path

import pytest

import raglift as rl
from raglift.errors import ConfigurationError, DatasetError, RunError
from raglift.sweep.engine import load_sweep_result
from raglift.utilities.limits import is_file, is_folder, is_stream, is_there, is_valid_path, most_bytes, user_path

LONG = "a" * 300
PACKAGE = Path(rl.__file__).parent


@pytest.mark.parametrize("name", [LONG, "a\0b"], ids=["too long", "with a NUL"])
def test_a_name_that_no_file_can_have_is_that_of_none(tmp_path, name):
    path = tmp_path / name
    assert not is_there(path)
    assert not is_file(path)
    assert not is_folder(path)
    assert not is_valid_path(path)


def test_a_home_of_nobody_is_a_name_like_any_other():
    assert user_path("~no-such-user/a") == Path("~no-such-user/a")
    assert user_path("~/a") == Path.home() / "a"


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/2", os.devnull])
def test_outputs_and_devices_are_streams(path):
    assert is_stream(Path(path))


@pytest.mark.parametrize("path", [".", __file__, LONG, "a\0b"], ids=["folder", "file", "too long", "with a NUL"])
def test_files_folders_and_what_is_not_there_are_no_streams(path):
    assert not is_stream(Path(path))


@pytest.mark.parametrize("value", ["0", "-1", "2GB", "1.5", "9" * 20, "1_000"])
def test_a_limit_that_is_no_number_of_bytes_is_refused(monkeypatch, value):
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", value)
    with pytest.raises(ConfigurationError, match=f"RAGLIFT_MAX_BYTES: found '{value}'; expected a number of bytes"):
        most_bytes()


@pytest.mark.parametrize(("value", "most"), [("", 2**31), (" ", 2**31), (" 4000000000 ", 4_000_000_000)])
def test_the_limit_is_2_gib_or_as_set(monkeypatch, value, most):
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", value)
    assert most_bytes() == most


def test_what_is_there_is_there(tmp_path):
    file = tmp_path / "file"
    file.touch()
    assert (is_there(file), is_file(file), is_folder(file)) == (True, True, False)
    assert (is_there(tmp_path), is_file(tmp_path), is_folder(tmp_path)) == (True, False, True)
    assert is_valid_path(file)
    assert is_valid_path(tmp_path / "absent" / "below")


@pytest.mark.parametrize(
    ("read", "error"), [(rl.load_dataset, DatasetError), (rl.load_evaluation, RunError), (load_sweep_result, RunError)]
)
def test_a_name_too_long_is_told(read, error):
    with pytest.raises(error, match=r"found (no such folder|nothing there|a name that no file can have)"):
        read(LONG)


@pytest.mark.slow
def test_whatever_looks_for_a_file_asks_here():
    """`Path.exists` and its like raise, in some versions of Python, at names that no file can have."""
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "limits.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("is_file", "is_dir", "expanduser")
    ]
    assert not found
