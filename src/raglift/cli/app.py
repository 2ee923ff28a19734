"""The command line as a whole."""

from __future__ import annotations

from typing import Annotated

import typer

import raglift
from raglift.cli import comparing, labels, measuring, pipeline
from raglift.cli.command import LABELS, MORE, new_group

_GROUPS = (
    ("labels", LABELS, "Check, convert, write and review labels", labels.group),
    ("corpus", MORE, "List, show and fetch the bundled corpora", labels.corpus),
)
"""Name, panel and help of each group, and what its commands are declared in."""

app = new_group(pretty_exceptions_enable=False)
for declared in (measuring.group, comparing.group, pipeline.group):
    app.add_typer(declared)
for name, panel, text, declared in _GROUPS:
    group = new_group(help=f"{text}.", short_help=text)
    group.add_typer(declared)
    app.add_typer(group, name=name, rich_help_panel=panel)


def _version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"raglift {raglift.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure the retrieval half of RAG, before and after reranking."""
