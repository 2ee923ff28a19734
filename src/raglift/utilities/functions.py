"""What tells functions of users apart: the settings that they enclose."""

from __future__ import annotations

import dis
import json
from functools import partial
from types import CellType, FunctionType
from typing import Any

_MOST_NESTED = 3
"""So deep in what a function encloses its settings are looked for."""


def settings_of(asked: Any, depth: int = 0) -> str:
    """Return the settings of a function that can be read: texts, numbers, truth values and None that it encloses.

    Functions made by one function have the same name, and may answer differently; so may those that `partial` binds.
    What a function assigns itself, as a counter, does not count, nor do attributes of objects: they change while the
    system works, and then nothing would be found again.
    """
    if isinstance(asked, partial):
        named = {**{str(place): value for place, value in enumerate(asked.args)}, **asked.keywords, "func": asked.func}
    elif isinstance(asked, FunctionType):
        changing = {step.argval for step in dis.get_instructions(asked.__code__) if step.opname == "STORE_DEREF"}
        named = {name: value for name, value in _enclosed(asked).items() if name not in changing}
        named |= {f"default {place}": value for place, value in enumerate(asked.__defaults__ or ())}
        named |= asked.__kwdefaults__ or {}
    else:
        return ""
    settings = {name: _setting(value, depth) for name, value in named.items()}
    return json.dumps({name: value for name, value in sorted(settings.items()) if value is not None})


def _enclosed(function: FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}


def _is_filled(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _setting(value: Any, depth: int) -> str | None:
    """Return a setting as a text; None for what cannot be read."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return repr(value)
    if isinstance(value, (partial, FunctionType)) and depth < _MOST_NESTED:
        return f"{getattr(value, '__qualname__', '')} {settings_of(value, depth + 1)}"
    return None
