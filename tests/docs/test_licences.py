"""Every dependency's licence is known, will do, and is on its page."""

from __future__ import annotations

import sys

import pytest

from .licences import ALLOWED_FOR_A_REASON, PAGE, Package, licence_of, packages, page, refused

pytestmark = pytest.mark.slow

AS_THE_PAGE = sys.platform == "linux" and sys.version_info[:2] == (3, 11)


@pytest.fixture(scope="module")
def found() -> list[Package]:
    return packages()


def test_what_runs_has_a_licence_that_will_do(found: list[Package]) -> None:
    assert len(found) > 100
    assert [one for one in found if one.runs and refused(one)] == []


def test_what_is_only_for_work_on_raglift_has_a_known_licence(found: list[Package]) -> None:
    assert [one.name for one in found if one.licence == "unknown"] == []


def test_every_exception_has_its_reason() -> None:
    assert all(len(reason) > 20 for reason in ALLOWED_FOR_A_REASON.values())


def test_what_the_table_says_of_some_is_so(found: list[Package]) -> None:
    brought = {one.name: one.brought_by for one in found}
    assert brought["numpy"] == ("raglift",)
    assert brought["wandb"] == ("track",)
    assert brought["hypothesis"] == ("dev",)
    assert licence_of("numpy").startswith("BSD-3-Clause")
    assert licence_of("certifi") == "MPL-2.0"


@pytest.mark.skipif(not AS_THE_PAGE, reason="the page is of Linux with Python 3.11; elsewhere some packages differ")
def test_the_page_is_what_is_installed() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "it is written anew by `python tests/docs/licences.py`"
