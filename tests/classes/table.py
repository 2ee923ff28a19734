"""The table of docs/reference/classes.md: `python tests/classes/table.py` runs every class and writes it anew."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "classes.md"
BEGIN, END = "<!-- what was run, written by tests/classes/table.py -->", "<!-- end of what was run -->"
WRITE = "RAGLIFT_WRITE_CLASSES"
"""Set in the environment, the tests write the page instead of comparing with it."""
_HEADS = ("| Class | Kind | Opened into | Hits | Deep | Offsets | Note |", "|---|---|---|---|---|---|---|")


def generated(lines: Mapping[str, str], frameworks: Mapping[str, tuple[Sequence, Sequence]]) -> str:
    """Return the generated part of the page.

    Args:
        lines: of the classes that were run, by `Case.key`.
        frameworks: the cases, and the classes not run, of each framework.
    """
    parts = []
    for framework, (cases, not_run) in frameworks.items():
        parts += [f"## {framework}", f"{len({case.path for case in cases})} classes were run."]
        for package in dict.fromkeys(case.package for case in cases):
            rows = [lines[case.key] for case in cases if case.package == package]
            parts += [f"### {package}", "\n".join([*_HEADS, *rows])]
        if not_run:
            parts += [f"### Not run: {framework}", f"{len(not_run)} classes were not run, and why.", _reasons(not_run)]
    return "\n\n".join(parts)


def _reasons(not_run: Sequence) -> str:
    """The classes that were not run, by package and reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in not_run:
        grouped.setdefault((one.package, one.reason), []).append(f"`{one.path.rpartition('.')[2]}`")
    rows = [f"| {package} | {reason} | {', '.join(names)} |" for (package, reason), names in grouped.items()]
    return "\n".join(["| Package | Reason | Classes |", "|---|---|---|", *rows])


def read_generated() -> str:
    """Return the generated part as the page has it."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()


def lines_on_page() -> dict[str, str]:
    """Return the lines of the classes that were run, by `Case.key`, as the page has them."""
    found, package = {}, ""
    for line in read_generated().splitlines():
        if line.startswith("### "):
            package = line.removeprefix("### ")
        elif line.startswith("| `"):
            found[f"{package} {line.split('`')[1]}"] = line
    return found


def write(text: str) -> None:
    """Put the generated part into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    import pytest

    os.environ[WRITE] = "1"
    sys.exit(pytest.main([str(Path(__file__).parent), "-p", "no:xdist", *sys.argv[1:]]))
