"""The page of licences, from the metadata of installed packages. Run as a program
it writes docs/reference/licences.md.
"""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "licences.md"
FOR_WORK_ON_RAGLIFT = ("docs", "dev")
"""The extras that nothing needs that runs."""
CORE = "raglift"

PERMISSIVE = {
    *(
        "0BSD",
        "AFL-2.1",
        "Apache-2.0",
        "BSD",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "CNRI-Python",
        "ISC",
    ),
    *("LLVM-exception", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "Unlicense", "Zlib"),
}
WEAK_COPYLEFT = {"LGPL-2.1", "LGPL-3.0", "MPL-2.0"}
"""What is changed in the package itself must be published; what uses it is not touched."""
ALLOWED_FOR_A_REASON: dict[str, str] = {}
"""Packages of another licence that something that runs needs, and why that will do."""

READ_IN_THE_PACKAGE = {
    "axe-playwright-python": "MIT",
}
"""What the metadata does not say, and the package's own LICENSE does."""

_CLASSIFIERS = {
    "Academic Free License (AFL)": "AFL-2.1",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_FIELDS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache2.0": "Apache-2.0",
    "MIT License": "MIT",
    "Apache License 2.0": "Apache-2.0",
}

_ABOUT = """\
raglift is under the Apache License 2.0. It ships none of the packages below: they are installed beside it. The table
has every package that raglift or one of its extras needs, directly or not, on Linux with Python 3.11 and the versions
of constraints.txt, and the licence that its metadata states, as an SPDX expression (BSD where it does not say which). A
test keeps it so, and fails where a package that something needs at run time has an unknown licence, or a strongly
copyleft one.

PyTorch is the build for processors; the one for NVIDIA's GPUs brings NVIDIA's libraries, under NVIDIA's terms."""


@dataclass(frozen=True)
class Package:
    """One dependency."""

    name: str
    version: str
    """As constraints.txt has it, else as it is installed."""
    licence: str
    """As an SPDX expression; `unknown` where nothing says it."""
    brought_by: tuple[str, ...]
    """`raglift` itself, or the extras that need it."""

    @property
    def runs(self) -> bool:
        """Whether something needs it that is not only there for work on raglift."""
        return any(extra not in FOR_WORK_ON_RAGLIFT for extra in self.brought_by)


def packages() -> list[Package]:
    """Return every dependency, direct or not, of raglift and its extras, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {CORE: project["dependencies"], **project["optional-dependencies"]}
    brought: dict[str, list[str]] = {}
    for extra, requirements in groups.items():
        own = [one for one in requirements if Requirement(one).name != CORE]
        for name in _closure(own):
            brought.setdefault(name, []).append(extra)
    pins = _pins()
    return [
        Package(name, pins.get(name) or importlib.metadata.version(name), licence_of(name), _shown(extras))
        for name, extras in sorted(brought.items())
    ]


def licence_of(name: str) -> str:
    """Return a package's licence as an SPDX expression, by its metadata; `unknown` where that says nothing."""
    if name in READ_IN_THE_PACKAGE:
        return READ_IN_THE_PACKAGE[name]
    about = importlib.metadata.metadata(name)
    if about.get("License-Expression"):
        return str(about["License-Expression"])
    said = (about.get("License") or "").strip()
    ends = [entry.rpartition("::")[2].strip() for entry in about.get_all("Classifier") or [] if "License ::" in entry]
    known = [_CLASSIFIERS.get(end, end) for end in ends if end != "OSI Approved"]
    if said in _FIELDS or (said and _ids(said) <= PERMISSIVE | WEAK_COPYLEFT):
        return _FIELDS.get(said, said)
    if known:
        return " AND ".join(sorted(set(known)))
    first = said.partition("\n")[0].strip()
    return _FIELDS.get(first, first) or "unknown"


def refused(package: Package) -> bool:
    """Whether a package's licence is neither permissive nor weakly copyleft, nor allowed for a reason."""
    return not _ids(package.licence) <= PERMISSIVE | WEAK_COPYLEFT and package.name not in ALLOWED_FOR_A_REASON


def page() -> str:
    """Return docs/reference/licences.md."""
    found = packages()
    running = [package for package in found if package.runs]
    others = [package for package in found if not package.runs]
    weak = [package.name for package in running if _ids(package.licence) & WEAK_COPYLEFT]
    lines = [
        "# Licences",
        "",
        *_ABOUT.splitlines(),
        "",
        f"Weakly copyleft, which puts no conditions on software that only uses them: {', '.join(weak) or 'none'}.",
        "",
        "## At run time",
        "",
        *_table(running),
        "",
        "## For work on raglift alone",
        "",
        *_table(others),
        "",
        "The licences of the corpora that come with raglift stand in each one's `corpus.toml`.",
    ]
    return "\n".join(lines) + "\n"


def _table(found: Iterable[Package]) -> list[str]:
    rows = [f"| {one.name} | {one.version} | {one.licence} | {', '.join(one.brought_by)} |" for one in found]
    return ["| package | version | licence | brought by |", "|---|---|---|---|", *rows]


def _shown(extras: list[str]) -> tuple[str, ...]:
    """Return what brings a package: raglift itself says all, and `all` and `dev` repeat the others."""
    if CORE in extras:
        return (CORE,)
    own = [extra for extra in extras if extra not in ("all", *FOR_WORK_ON_RAGLIFT)]
    return tuple(own or extras[:1])


def _closure(requirements: Iterable[str]) -> set[str]:
    """Return the names of packages that requirements need on this machine, directly or not."""
    waiting = [Requirement(text) for text in requirements]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        key = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if key in seen:
            continue
        seen.add(key)
        for text in importlib.metadata.requires(wanted.name) or ():
            inner = Requirement(text)
            extras = ("", *wanted.extras)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(inner)
    return {name for name, _ in seen}


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("==") for line in lines if "==" in line and not line.startswith("#"))
    return {canonicalize_name(name.strip()): version.partition(";")[0].strip() for name, _, version in pairs}


def _ids(expression: str) -> set[str]:
    """Return the licences that an SPDX expression names."""
    return {word for word in re.split(r"[\s()]+", expression) if word not in ("", "AND", "OR", "WITH")}


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
