"""What installed packages offer in groups of entry points."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from raglift.errors import PluginWarning


@cache
def installed(group: str) -> dict[str, Any]:
    """Import what installed packages offer in a group, by the name and reference of each; warn of what fails."""
    from importlib.metadata import entry_points  # reading them takes longer than importing raglift

    found: dict[str, Any] = {}
    for entry in entry_points(group=group):
        name = f"{group}: {entry.name!r} ({entry.value})"
        try:
            found[name] = entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever another's module does, raglift goes on
            leave_out(name, f"{type(error).__name__}: {error}")
    return found


@cache
def leave_out(name: str, why: str) -> None:
    """Warn, once, that a plugin is not used."""
    warnings.warn(f"the plugin {name} is left out: {why}", PluginWarning, stacklevel=2)
