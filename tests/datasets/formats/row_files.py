"""Files of rows for the tests of formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def written(folder: Path, name: str, value: Any) -> Path:
    """A file that holds a value: one on each line, or as JSON, or text as it is."""
    path = folder / name
    if isinstance(value, str):
        text = value
    elif name.endswith(".jsonl"):
        text = "".join(json.dumps(each) + "\n" for each in value)
    else:
        text = json.dumps(value)
    path.write_text(text, encoding="utf-8")
    return path
