"""The names that version 1 freezes, with parameters, attributes and options; `python -m tests.docs.frozen` lists them.

The list is written anew before a minor release, which may add names. A test fails where a listed one is gone.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import typer

from raglift.cli.app import app

from .references import commands, public_names

LIST = Path(__file__).with_name("frozen_names.txt")
PROVISIONAL = ("raglift.apps.mcp_server", "raglift.repairing", "raglift fix", "raglift mcp")
"""Packages and commands that may still change; docs/reference/stability.md names them."""

NOT_DOCUMENTED = {"once", "view"}
"""What mkdocs.yml keeps off the pages of the API, on every class."""


def names() -> dict[str, set[str]]:
    """Return each public name and command that is not provisional, with what belongs to it."""
    found = {
        name.path: _parts(getattr(importlib.import_module(package), name.name))
        for package, listed in public_names().items()
        if package not in PROVISIONAL
        for name in listed
    }
    for path, command in commands(typer.main.get_command(app), "raglift"):
        if path not in PROVISIONAL:
            visible = [each for each in command.params if not each.hidden]
            found[path] = {word for each in visible for word in (*each.opts, *each.secondary_opts)}
    return found


def _parts(value: Any) -> set[str]:
    """Return the parameters of a function, or the public attributes of a class that raglift defines."""
    if inspect.isfunction(value):
        return set(inspect.signature(value).parameters)
    if not inspect.isclass(value):
        return set()
    ours = [each for each in value.__mro__ if each.__module__.startswith("raglift")]
    found = {name for each in ours for name in (*vars(each), *inspect.get_annotations(each))}
    return {name for name in found - NOT_DOCUMENTED if not name.startswith("_")}


def frozen() -> dict[str, set[str]]:
    """Return what the list holds, in the form of `names`."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return {name: set(parts.split()) for name, _, parts in (line.partition(":") for line in lines)}


if __name__ == "__main__":
    LIST.write_text(
        "".join(f"{name}: {' '.join(sorted(parts))}".rstrip() + "\n" for name, parts in sorted(names().items())),
        encoding="utf-8",
    )
