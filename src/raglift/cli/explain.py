"""`raglift explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.store import load_evaluation

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run"]


def run(folder: Path, query: str, *, stage: str | None) -> None:
    """Print why one query of a saved evaluation scored what it did."""
    from rich.console import Console
    from rich.text import Text

    evaluation = load_evaluation(folder)
    Console().print(Text(str(evaluation.explain(query, stage=stage))), soft_wrap=True)
