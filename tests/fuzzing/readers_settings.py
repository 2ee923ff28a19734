"""Settings in a file of the user's: `.env`."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

from raglift.errors import ConfigurationError
from raglift.llm.dot_env import load_dot_env

from .reader import Reader

__all__ = ["READERS"]

_ENV = '# keys\nCOHERE_API_KEY=sk-0123456789abcdef\nexport WANDB_PROJECT="two words"\nGROQ_API_KEY=a1b2\n'


def _write(folder: Path) -> None:
    (folder / ".env").write_text(_ENV, encoding="utf-8")


def _environment(folder: Path) -> dict[str, str]:
    """Load the folder's `.env`; return what it set, and take that back."""
    before = dict(os.environ)
    logging.getLogger("dotenv").setLevel(logging.ERROR)  # it warns of each line that it cannot read
    try:
        with chdir(folder):
            load_dot_env()
        return {name: value for name, value in os.environ.items() if before.get(name) != value}
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


READERS: Sequence[Reader] = (Reader(".env", _write, _environment, (ConfigurationError,), targets=(".env",)),)
"""All of the readers here."""
