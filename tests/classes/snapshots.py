"""The state of a user's object, to compare before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

FRAMEWORKS = ("langchain", "llama_index", "haystack")
LOADED = {"client", "async_client", "model", "_cross_encoder", "_is_warmed_up", "_warmed_up"}
"""What Haystack's components load at the first question."""
RUN = {"_runtime_locked", "_validation_result", "_validated_version", "_broker_config", "_broker_config_version"}
"""What LlamaIndex's workflows note of themselves when they are first run."""
PLAIN = {int, float, bool, str, bytes, type(None)}


def snapshot(value: Any, above: frozenset[int] = frozenset()) -> Any:
    """Return every attribute of a framework's object and of what it holds; of anything else, which object it is."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if id(value) in above or isinstance(value, type):
        return id(value)
    above |= {id(value)}
    if isinstance(value, list | tuple):
        if PLAIN.issuperset(map(type, value)):  # a vector's numbers, of which there are many
            return list(value)
        return [snapshot(item, above) for item in value]
    if isinstance(value, dict):
        return {key: snapshot(item, above) for key, item in value.items()}
    if not type(value).__module__.startswith(FRAMEWORKS) or ".callbacks" in type(value).__module__:
        return id(value)
    held = {name: item for name, item in getattr(value, "__dict__", {}).items() if name not in LOADED | RUN}
    if fields := getattr(type(value), "model_fields", None):  # what a model caches beside its fields is no state
        held = {name: item for name, item in held.items() if name in fields} | (value.__pydantic_private__ or {})
    return type(value).__name__, id(value), {name: snapshot(item, above) for name, item in held.items()}


def difference(before: Any, after: Any, place: str = "") -> str | None:
    """Return where two snapshots first differ, and how; None if they do not."""
    if before == after:
        return None
    if isinstance(before, tuple) and isinstance(after, tuple) and before[:2] == after[:2]:
        return difference(before[2], after[2], f"{place}{before[0]}.")
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return next(filter(None, (difference(before[key], after[key], f"{place}{key} ") for key in before)))
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return next(filter(None, (difference(one, other, f"{place}[{at}] ") for at, (one, other) in pairs)))
    return f"{place}was {str(before)[:200]}, is {str(after)[:200]}"
