"""Names that every tracker takes: MLflow refuses `@`, parentheses and `=`, and W&B's charts stumble over them."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from raglift.printable import excerpt, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raglift.records import Metric

__all__ = ["distinct", "metric_name", "run_name"]

_LONGEST = 100
_LONGEST_RUN_NAME = 120
_NO_WORD = re.compile(r"\W+")


def distinct(texts: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, str]:
    """Return a name of letters, digits and `_` for each text, no two alike, in upper or lower case.

    A name stands between two `/` of a path, and is never empty, `.` or `..`.

    Args:
        texts: what to name.
        reserved: names that stand for something else, in lower case.
    """
    names: dict[str, str] = {}
    taken = set(reserved)
    for text in texts:
        if text in names:
            continue
        plain = _plain(text)
        name, number = plain, 2
        while name.casefold() in taken:
            name, number = f"{plain}_{number}", number + 1
        taken.add(name.casefold())
        names[text] = name
    return names


def metric_name(metric: Metric) -> str:
    """Return a metric's text with words for its signs: `ndcg@10` is `ndcg_at_10`."""
    return _plain(str(metric))


def run_name(text: str) -> str:
    """Return a text as the name of a run, which stands in tables: one printable line of at most 120 characters."""
    return excerpt(printable(text), _LONGEST_RUN_NAME) or "raglift"


def _plain(text: str) -> str:
    name = _NO_WORD.sub("_", text.replace("@", "_at_")).strip("_") or "unnamed"
    encoded = name.encode()  # files are called by it, whose names are limited in bytes
    if len(encoded) <= _LONGEST:
        return name
    # What tells long names apart may stand at their ends
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{encoded[: _LONGEST - 9].decode(errors='ignore')}_{digest}"
