"""What a function was made with: it decides the function's answers, as its code does."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from raglift.utilities.functions import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable


def made(k: int, shelf: object) -> Callable[..., Any]:
    def search(query: str, limit: int = 3, *, language: str = "de") -> Any:
        return shelf, k, limit, language, query, later

    if k > 100:
        later = k
    return search


def test_settings_are_what_a_function_encloses_its_defaults_and_what_is_bound_to_it() -> None:
    function = made(5, object())  # and `later` is never set
    assert json.loads(settings_of(function)) == {"k": "5", "default 0": "3", "language": "'de'"}
    bound = json.loads(settings_of(partial(function, "a", limit=4)))
    assert (bound["0"], bound["limit"]) == ("'a'", "4")
    assert "made.<locals>.search" in bound["func"]
    assert settings_of(object()) == ""
