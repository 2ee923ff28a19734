"""Names that no file can have, as others write them into sweeps and onto command lines."""

import ast
from pathlib import Path

import pytest

import raglift as rl
from raglift.errors import DatasetError, RunError
from raglift.sweep.engine import load_sweep_result
from raglift.utilities.limits import is_file, is_folder, is_there, is_valid_path

LONG = "a" * 300
PACKAGE = Path(rl.__file__).parent


@pytest.mark.parametrize("name", [LONG, "a\0b"], ids=["too long", "with a NUL"])
def test_a_name_that_no_file_can_have_is_that_of_none(tmp_path, name):
    path = tmp_path / name
    assert not is_there(path)
    assert not is_file(path)
    assert not is_folder(path)
    assert not is_valid_path(path)


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
    with pytest.raises(error, match=r"found (nothing there|a name that no file can have)"):
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
