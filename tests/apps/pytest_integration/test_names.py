from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from raglift.apps.pytest_integration.expectation import safe_name


@given(st.text())
@example("..")
@example("")
@example("\ud800")
@example("x" * 500)
def test_a_name_is_safe_as_a_folder(text: str) -> None:
    assert re.fullmatch(r"[\w.+=,-]{1,100}", safe_name(text))
    assert safe_name(text).strip(".")


def test_a_name_that_is_safe_stays() -> None:
    for name in ("fog-signal-interval", "q1", "é2", "1.5"):
        assert safe_name(name) == name
    assert safe_name("a/b").startswith("a_b-")
