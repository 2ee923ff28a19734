"""The pages that follow from the code are those that the code makes."""

from __future__ import annotations

import subprocess
import sys

import pytest

import raglift

from .references import DOCS, PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_the_code_says(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == PAGES[page](), "it is written anew by `make docs`"


def test_every_public_name_has_a_heading() -> None:
    headings = (DOCS / "api.md").read_text(encoding="utf-8").splitlines()
    assert all(f"## rl.{name}" in headings for name in raglift.__all__)


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
