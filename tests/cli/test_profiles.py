"""Wherever a profile is chosen, all of them are named."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import raglift as rl
from raglift.base.settings import fields_of
from raglift.matching.rule import MatchRule
from raglift.metrics.profiles.registry import PROFILES
from raglift.running.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["how-to/sweeps.md", "reference/command_line.md", "reference/metrics.md"])
def test_the_pages_name_them(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for name in PROFILES:
        assert name in text


@pytest.mark.parametrize("door", [rl.rescore, rl.score_rankings, MatchRule.for_profile])
def test_the_docstrings_name_them(door: object) -> None:
    text = inspect.getdoc(door) or ""
    for name in PROFILES:
        assert f'"{name}"' in text


def test_the_setting_of_an_evaluation_names_them() -> None:
    description = fields_of(Settings)["profile"].description
    assert [name for name in PROFILES if f"`{name}`" not in description] == []
