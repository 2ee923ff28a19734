"""A real browser, which looks at pages and at charts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = "/usr/bin/chromium"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, started once; the tests that need it are skipped without it, or fail where it is required."""
    if not Path(CHROMIUM).is_file() and shutil.which("chromium") is None:
        reason = "no chromium: apt-get install chromium"
        if os.environ.get("RAGLIFT_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = CHROMIUM if Path(CHROMIUM).is_file() else shutil.which("chromium")
        chromium = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield chromium
        chromium.close()
