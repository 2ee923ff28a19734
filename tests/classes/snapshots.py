"""The state of a user's object, to compare before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

FRAMEWORKS = ("langchain", "llama_index")


def snapshot(value: Any, above: frozenset[int] = frozenset()) -> Any:
    """Return every attribute of a framework's object and of what it holds; of anything else, which object it is."""
    if isinstance(value, int | float | str | bytes | None):
        return value
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if id(value) in above or isinstance(value, type):
        return id(value)
    above |= {id(value)}
    if isinstance(value, list | tuple):
        return [snapshot(item, above) for item in value]
    if isinstance(value, dict):
        return {key: snapshot(item, above) for key, item in value.items()}
    if not type(value).__module__.startswith(FRAMEWORKS) or ".callbacks" in type(value).__module__:
        return id(value)
    held = dict(getattr(value, "__dict__", {})) | (getattr(value, "__pydantic_private__", None) or {})
    return type(value).__name__, id(value), {name: snapshot(item, above) for name, item in held.items()}
