"""What the commands print with `--json`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from raglift.printable import UNPRINTABLE

if TYPE_CHECKING:
    import pandas as pd

    from raglift.records import Hit, LabelSources

__all__ = ["hit_json", "labels_json", "print_json", "records"]


def print_json(found: Any, *, on_one_line: bool = False) -> None:
    """Print records, mappings, lists and NumPy's numbers as JSON; what is not a finite number is null.

    Texts are untrusted: what a terminal would act on, and what has no UTF-8, is written as its number.
    """
    text = json.dumps(_plain(found), ensure_ascii=False, indent=None if on_one_line else 2)
    sys.stdout.write(UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one mapping a row; what is missing is None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def labels_json(sources: LabelSources) -> dict[str, Any]:
    """Return whose labels figures rest on, as a field `labels`; no field where people gave all of them."""
    return {"labels": sources.to_dict()} if sources.by_model else {}


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return a hit: its rank and score, and its chunk's id, place and text."""
    chunk = hit.chunk
    return {
        "rank": hit.rank,
        "score": hit.score,
        "chunk_id": chunk.id,
        "doc_id": chunk.doc_id,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
    }


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
