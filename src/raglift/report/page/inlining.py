"""Styles and scripts that stand in a page itself, allowed by their hashes and nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from urllib.parse import quote

__all__ = ["ICON", "REPORT", "asset", "one_script", "source_hash"]

REPORT = "raglift.report.page"
"""The package whose folder `assets` holds the styles and scripts of reports."""

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#1d5fa6"/>'
    '<path d="M4 11.5 8 4.5l4 7" fill="none" stroke="#fff" stroke-width="2" stroke-linejoin="round"/></svg>'
)
ICON = "data:image/svg+xml," + quote(_ICON)
"""What stands beside a page's title, as an address."""


@cache
def asset(name: str, package: str = REPORT) -> str:
    """Return a file of a package's folder `assets`."""
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")


def one_script(*scripts: str) -> str:
    """Return small scripts as one that leaves no names behind."""
    return '(() => {\n"use strict";\n' + "\n".join(scripts) + "\n})();"


def source_hash(block: str) -> str:
    """Return what a content security policy calls a script or style that stands in the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}'"
