"""The commands about language models and people who judge; each is imported when it is run."""

from __future__ import annotations

import typer

__all__ = ["group"]

group = typer.Typer(rich_markup_mode=None)
