"""What checks the documentation notices what it should."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from .pages import Page, differing, excused, faults, read_page, runnable


def page_of(tmp_path: Path, text: str) -> Page:
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    return read_page(tmp_path / "page.md")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```py\nprint(1)\n```", "line 2: the language 'py'"),
        ("```\nprint(1)\n```", "line 2: the language ''"),
        ("Do this:\n\n    import raglift as rl\n", "line 3: code that is indented"),
        ("- a list\n\n      raglift evaluate lighthouse\n", "line 3: code that is indented"),
        ("<!-- not run: later -->\n```python\nprint(1)\n```", "line 3: no reason why it is not run"),
    ],
)
def test_code_that_would_escape_the_check_is_a_fault(tmp_path: Path, text: str, fault: str) -> None:
    (found,) = faults(page_of(tmp_path, text))
    assert found.startswith(fault)


def test_only_the_block_below_a_comment_is_left_out(tmp_path: Path) -> None:
    page = page_of(tmp_path, "<!-- not run: it needs a database -->\n```python\na\n```\n\n```python\nb\n```\n")
    assert [block.text for block in page.python] == ["b\n"]
    assert excused(page.blocks[0], "not run")


def test_output_is_the_text_right_below_a_block(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```python\na\n```\n\n```text\n1\n```\n\n```python\nb\n```\n\nSo:\n\n```text\n2\n```\n")
    first, second = page.python
    assert page.output(first) == page.of("text")[0]
    assert page.output(second) is None


@pytest.mark.parametrize("shown", ["a\nb\nc", "a\n…\nc", "…\nc", "a\n…", "a  \nb\nc\n"])
def test_what_was_printed_is_what_is_shown(shown: str) -> None:
    assert differing(shown, "a\nb\nc\n") is None


@pytest.mark.parametrize("shown", ["a\nb", "a\n…\nd", "a\nb\nc\nd", "b\n…", "a…\nb\nc"])
def test_what_was_printed_is_something_else(shown: str) -> None:
    assert differing(shown, "a\nb\nc\n") is not None


def test_python_that_is_not_shown_runs_where_it_stands(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```python\na\n```\n\n<!-- not shown:\nb\n\nc\n-->\n\n```python\nd\n```\n")
    assert [(block.text, block.line) for block in page.python] == [("a\n", 2), ("b\n\nc\n", 6), ("d\n", 12)]
    assert not faults(page)


def test_a_block_that_is_a_file_is_written_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = page_of(tmp_path, "<!-- file: mine.py -->\n```python\nraise SystemExit\n```\n").python
    monkeypatch.chdir(tmp_path)
    exec(runnable(block), {})  # noqa: S102 — written above
    assert (tmp_path / "mine.py").read_text(encoding="utf-8") == "raise SystemExit\n"


@pytest.mark.parametrize(("value", "holds"), [("3", True), ("4", False), ("'3'", False)])
def test_the_value_that_a_page_says_an_expression_has_is_checked(tmp_path: Path, value: str, holds: bool) -> None:
    (block,) = page_of(tmp_path, f"```python\nif True:\n    1 + 2  # → {value}\n```\n").python
    with contextlib.nullcontext() if holds else pytest.raises(AssertionError):
        exec(runnable(block), {})  # noqa: S102 — written above
