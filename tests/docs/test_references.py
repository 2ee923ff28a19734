"""The pages that follow from the code are those that the code makes."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache

import griffe
import pytest

from .frozen import PROVISIONAL, frozen, names
from .pages import ROOT
from .references import DOCS, PACKAGE, PAGES, PublicName, layers, public_names

NAMES = [name for names in public_names().values() for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_the_code_says(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == PAGES[page](), (
        "it is written anew by `python tests/docs/references.py`"
    )


def test_there_is_no_page_of_a_package_that_is_gone() -> None:
    assert {f"api/{path.name}" for path in (DOCS / "api").iterdir()} == {page for page in PAGES if "/" in page}


def directives() -> list[str]:
    """Return the dotted name of each directive on the pages of the API."""
    texts = [path.read_text(encoding="utf-8") for path in (DOCS / "api.md", *(DOCS / "api").glob("*.md"))]
    return [name for text in texts for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]


def test_every_public_name_is_documented_once() -> None:
    assert len(NAMES) > 200
    expected = sorted({name.documented_as for name in NAMES})
    assert sorted(directives()) == expected, "it is written anew by `python tests/docs/references.py`"


@pytest.mark.slow
def test_no_frozen_name_parameter_attribute_or_option_is_gone() -> None:
    found = names()
    gone = {name: parts - found.get(name, set()) for name, parts in frozen().items() if name in found}
    assert set(frozen()) - set(found) == set()
    assert {name: parts for name, parts in gone.items() if parts} == {}


def test_the_page_on_stability_names_what_is_provisional() -> None:
    page = (DOCS / "stability.md").read_text(encoding="utf-8")
    assert [name for name in PROVISIONAL if f"`{name}`" not in page] == []


def test_the_packages_follow_each_other_as_their_layers_do() -> None:
    linked = re.findall(r"\(api/(\w+)\.md\)", (DOCS / "api.md").read_text(encoding="utf-8"))
    listed = re.findall(r"- reference/api/(\w+)\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert linked == listed == [layer for layer, _ in layers() if layer in listed]


@cache
def objects_of(module: str) -> griffe.Module:
    """Read a module without importing it."""
    folder = PACKAGE.parent.joinpath(*module.split("."))
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    return griffe.visit(module, path, path.read_text(encoding="utf-8"))


def without_docstring(names: list[PublicName]) -> list[str]:
    return [name.path for name in names if not objects_of(name.module).members[name.name].docstring]


@pytest.mark.slow
def test_every_public_name_has_a_docstring() -> None:
    assert without_docstring(NAMES) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", ["evaluate", "corpus fetch"])
def test_the_command_line_page_has_every_option_of_help(command: str) -> None:
    call = [sys.executable, "-m", "raglift", *command.split(), "--help"]
    printed = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    options = {word.strip(",") for word in printed.split() if word.startswith("--")} - {"--help"}
    page = (DOCS / "command_line.md").read_text(encoding="utf-8")
    section = page.partition(f"## raglift {command}\n")[2].partition("\n## ")[0]
    assert options
    assert all(f"`{option}`" in section or f"{option} " in section for option in options)
