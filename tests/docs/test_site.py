"""The site builds without a warning, asks nothing of any other server, and can be searched from disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from .pages import ROOT
from .references import public_names

pytestmark = pytest.mark.full
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


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))  # and one for what is not found
    assert not [found for page in pages for found in FROM_ELSEWHERE.findall(page.read_text(encoding="utf-8"))]
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(.?(?:https?:)?//|@import", style.read_text(encoding="utf-8"))


def test_every_public_name_is_on_the_site_with_what_its_class_inherits(site: Path) -> None:
    pages = [site / "reference" / "api.html", *(site / "reference" / "api").glob("*.html")]
    anchors = {anchor for page in pages for anchor in re.findall(r'id="(raglift\.[^"]+)"', page.read_text("utf-8"))}
    names = {name.documented_as for names in public_names().values() for name in names}
    assert names - anchors == set()
    assert {"raglift.Evaluation.to_markdown", "raglift.results.Comparison.to_markdown"} <= anchors


def test_every_page_and_notebook_is_in_the_contents_once() -> None:
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/-]+\.md", yaml.safe_dump(yaml.safe_load(configuration)["nav"], width=1000))
    docs = ROOT / "docs"
    pages = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    notebooks = [f"tutorials/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")]
    assert sorted(listed) == sorted([*pages, *notebooks, "reference/changelog.md", "reference/security.md"])


def test_the_site_opens_from_disk_and_can_be_searched(site: Path, browser: Any) -> None:
    page = browser.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.insert_text("containmen")  # at once: the theme's search fails on some single letters
    page.keyboard.type("t")
    found = page.locator(".md-search-result__item a[href*='concepts/matching.html']").first
    found.wait_for()
    first = page.locator(".md-search-result__item a").first.get_attribute("href") or ""
    assert "/reference/" not in first, "pages of reference come after pages that explain"
    found.click()
    page.wait_for_url("**/concepts/matching.html*")
    assert "containment" in page.locator("article").inner_text().lower()
    assert len(asked) > 5
    assert [url for url in asked if not url.startswith("file:")] == []
    assert said == []
