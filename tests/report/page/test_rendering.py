"""Pages as files: complete in themselves, under a strict policy, written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from raglift.errors import ConfigurationError, MissingDependency
from raglift.rendering.document import Cell, Document, Section, Table
from raglift.report.page import rendering
from raglift.report.page.rendering import render, write_page

BLOCK = re.compile(r"<(script|style)([^>]*)>(.*?)</\1>", re.DOTALL)


def blocks(html: str, name: str) -> list[str]:
    """The inline blocks that the browser runs or applies."""
    return [
        content for found, attributes, content in BLOCK.findall(html) if found == name and "type=" not in attributes
    ]


def policy_of(html: str) -> dict[str, str]:
    written = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert written is not None
    parts = written[1].replace("&#39;", "'").split(";")
    return {part.split()[0]: " ".join(part.split()[1:]) for part in parts}


def hashes(contents: list[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() for content in contents)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


@pytest.mark.slow
def test_the_policy_allows_the_inlined_blocks_and_nothing_else(document: Document) -> None:
    html = render(document)
    policy = policy_of(html)
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == hashes(blocks(html, "script"))
    assert policy["style-src"] == hashes(blocks(html, "style"))
    assert policy["base-uri"] == policy["form-action"] == "'none'"
    assert set(policy) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}


@pytest.mark.slow
def test_nothing_is_styled_or_run_by_attributes_and_nothing_lies_elsewhere(document: Document) -> None:
    markup = BLOCK.sub("", render(document))
    assert not re.search(r"\s(style|on\w+)=", markup)
    assert not re.search(r'\s(?:src|href)="(?!#|data:)', markup)


def test_the_scripts_make_elements_only_from_text() -> None:
    scripts = [
        path
        for path in resources.files("raglift.report.page").joinpath("assets").iterdir()
        if path.name.endswith(".js")
    ]
    assert {path.name for path in scripts} == {
        *rendering.SHELL,
        *rendering.BROWSER,
        *rendering.SESSIONS,
        *rendering.DRAWING,
        *rendering.WHAT_IF,
        *rendering.WORKER,
        rendering.SCRIPT,
    }
    for path in scripts:
        forbidden = (
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|localStorage|\bfetch\b"
        )
        assert not re.search(forbidden, path.read_text(encoding="utf-8")), path.name


@pytest.mark.slow
def test_a_page_without_charts_does_not_carry_what_draws_them(document: Document) -> None:
    assert len(render(document)) < 124_000


def test_words_are_escaped_and_what_could_reorder_them_is_shown(make_document: Any) -> None:
    html = render(make_document(title='<b>"a"</b> \u202eb\x00', sections=(Section("</h2><script>alert(1)</script>"),)))
    assert "&lt;b&gt;&#34;a&#34;&lt;/b&gt; \ufffdb\ufffd" in html
    assert "<script>alert" not in html


def test_an_interval_in_brackets_stands_apart_and_bars_share_the_scale_of_their_column(make_document: Any) -> None:
    table = Table(
        "c", ("name", "value"),
        (
                (Cell("a"), Cell("0.50", "", 0.25, 0.5, 0.75, interval="[0.25, 0.75]")),
                (Cell("b [c]"), Cell("1.00", "", 0.5, 1.0, 1.0)),
            ),
    )  # fmt: skip
    html = render(make_document(headline=table))
    assert '<span class="interval">[0.25, 0.75]</span>' in html
    assert "b [c]" in html
    assert re.findall(r'class="span" x="([\d.]+)" y="3" width="([\d.]+)"', html)[:2] == [
        ("26.0", "48.0"),
        ("50.0", "48.0"),
    ]
    assert re.findall(r'class="middle" x="([\d.]+)"', html.partition("</table>")[0]) == ["50.0", "98.0"]


def test_a_page_that_raglift_wrote_is_replaced(document: Document, make_document: Any, tmp_path: Path) -> None:
    path = write_page(document, tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == render(document)
    assert list(tmp_path.iterdir()) == [path]
    write_page(make_document(title="Another"), path)
    assert "<title>Another</title>" in path.read_text(encoding="utf-8")
    with pytest.raises(ConfigurationError, match="found a report there already"):
        write_page(document, path, overwrite=False)


def test_any_other_file_is_left_alone_and_a_folder_is_told(document: Document, tmp_path: Path) -> None:
    path = tmp_path / "thesis.html"
    path.write_text("<title>Mine</title> made with raglift report", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="not a report of raglift"):
        write_page(document, path, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<title>Mine")
    with pytest.raises(ConfigurationError, match=r"found a folder; expected the name of a file, as .*report\.html"):
        write_page(document, tmp_path)
    with pytest.raises(ConfigurationError, match=r"found no folder .*absent"):
        write_page(document, tmp_path / "absent" / "report.html")


def test_a_missing_package_names_the_extra(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    rendering._environment.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(MissingDependency, match=r"raglift\[report\]"):
        render(document)
