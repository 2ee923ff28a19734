"""The settings of a project: the table `[tool.raglift]` of the `pyproject.toml` in the working folder."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from raglift.base.limits import is_file
from raglift.errors import ConfigurationError
from raglift.running.settings import positive

_FILE = Path("pyproject.toml")
_TABLE = "[tool.raglift]"
_KEYS = ("budget",)


def project_budget(option: int | None) -> int | None:
    """Return the budget of a prompt that an option gives, else the project's; None where neither says one.

    Raises:
        ConfigurationError: the file cannot be read or is not TOML, or the table has another key or value.
    """
    if option is not None:
        return positive("--budget", option)
    settings = _settings()
    return positive(f"{_FILE}: {_TABLE}: budget", settings["budget"]) if "budget" in settings else None


def _settings() -> dict[str, Any]:
    if not is_file(_FILE):
        return {}
    try:
        project = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # ValueError: neither UTF-8 nor TOML
        raise ConfigurationError(f"{_FILE}: cannot be read as TOML: {error}; expected the project's settings") from None
    tools = project.get("tool", {})
    found = tools.get("raglift", {}) if isinstance(tools, dict) else {}
    unknown = [found] if not isinstance(found, dict) else sorted(set(found) - set(_KEYS))
    if unknown:
        raise ConfigurationError(f"{_FILE}: {_TABLE}: found {unknown[0]!r}; expected {', '.join(_KEYS)}")
    return dict(found)
