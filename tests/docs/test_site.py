"""The site builds without a warning, asks nothing of any other server, and can be searched from disk."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from .pages import ROOT

FROM_ELSEWHERE = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture
def browser_page() -> Iterator[Any]:
    """A page in a real browser; `requests` and `complaints` are what it asked for and said in the console."""
    program = shutil.which("chromium")
    if program is None:
        assert os.environ.get("RAGLIFT_REQUIRE_BROWSER") != "1", "no chromium"
        pytest.skip("the site was not opened: there is no chromium")
    from playwright.sync_api import sync_playwright

    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=quiet)
        yield browser.new_page()
        browser.close()


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").glob("*.md")))  # and one for what is not found
    assert not [found for page in pages for found in FROM_ELSEWHERE.findall(page.read_text(encoding="utf-8"))]
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(.?(?:https?:)?//|@import", style.read_text(encoding="utf-8"))


def test_every_page_is_in_the_contents_once() -> None:
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/]+\.md", yaml.safe_dump(yaml.safe_load(configuration)["nav"]))
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_the_site_opens_from_disk_and_can_be_searched(site: Path, browser_page: Any) -> None:
    asked: list[str] = []
    said: list[str] = []
    browser_page.on("request", lambda request: asked.append(request.url))
    browser_page.on("console", lambda message: said.append(message.text))
    browser_page.on("pageerror", lambda error: said.append(str(error)))
    browser_page.goto((site / "index.html").as_uri())
    browser_page.keyboard.press("/")
    browser_page.keyboard.type("containment")
    found = browser_page.locator(".md-search-result__item a[href*='matching.html']").first
    found.wait_for()
    found.click()
    browser_page.wait_for_url("**/matching.html*")
    assert "containment" in browser_page.locator("article").inner_text().lower()
    assert len(asked) > 5
    assert [url for url in asked if not url.startswith("file:")] == []
    assert said == []
