"""benchmarks/package_texts.py: which packages are read, and what of them."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

SOURCE = '''
"""What the module
does."""

# One line of a comment,
#   and another.


def answer():
    r"""Return
    the answer."""
    text = """no docstring"""
    return text  # beside code
'''

DOCSTRING = '''r"""Return
    the answer."""'''


@pytest.fixture(scope="module")
def texts(script):
    return script("package_texts")


class Distribution:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def locate_file(self, name: str) -> Path:
        return self.folder / name


def test_only_packages_under_permissive_licences_are_read(texts) -> None:
    allowed = {name for name in ("numpy", "pytest", "pandas") if texts.is_allowed(metadata.distribution(name))}
    assert allowed == {"numpy", "pytest", "pandas"}
    for distribution in metadata.distributions():
        classifiers = distribution.metadata.get_all("Classifier") or ()
        if any("GNU" in one for one in classifiers):
            assert not texts.is_allowed(distribution)


def test_docstrings_are_found_without_code(texts) -> None:
    found = [*texts.texts_of(metadata.distribution("pytest"), "pytest/__init__.py")]
    assert found == ["pytest: unit and functional testing with Python."]


def test_the_source_of_a_module_is_what_is_left_without_docstrings(texts, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(SOURCE)
    assert [*texts.texts_of(Distribution(tmp_path), "module.py")] == ["What the module\ndoes.", "Return\nthe answer."]
    (code,) = texts.code_of(Distribution(tmp_path), "module.py")
    assert code.split() == SOURCE.replace('"""What the module\ndoes."""', "").replace(DOCSTRING, "").split()


def test_what_is_not_text_is_passed_over(texts, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_bytes(b'"""\xff"""')
    (tmp_path / "large.md").write_text("#" * 2_000_001)
    assert [*texts.texts_of(Distribution(tmp_path), "module.py")] == []
    for name in ("missing.md", "large.md"):
        assert [*texts.texts_of(Distribution(tmp_path), name)] == [""]
