"""Names that are safe in node ids and as folders, from ids that may hold anything."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MEANS", "item_ids", "safe_name"]

MEANS = "means"
"""What the item is called that looks at the means over all queries."""
_UNSAFE = re.compile(r"[^\w.+=,-]+")
_LONGEST = 60


def item_ids(query_ids: Iterable[str]) -> list[str]:
    """Return what the items of queries are called: their own ids where these are safe in a node id, each one distinct.

    Whatever could end a node id, move a cursor or need quoting in a shell is replaced, and a hash of the whole id tells
    apart what then looks alike.
    """
    named: list[str] = []
    taken = {MEANS}
    for query_id in query_ids:
        name = safe_name(query_id)
        while name in taken:
            name += "-" + _hash(query_id)
        taken.add(name)
        named.append(name)
    return named


def safe_name(text: str) -> str:
    """Return a text as part of a node id or path: itself, or what is safe of it with a hash of the whole."""
    cleaned = _UNSAFE.sub("_", text)
    if cleaned == text and 0 < len(text) <= _LONGEST and text.strip("."):
        return text
    return f"{cleaned[:_LONGEST].strip('._')}-{_hash(text)}".lstrip("-")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
