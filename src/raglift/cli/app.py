"""The command line as a whole."""

from __future__ import annotations

from typing import Annotated

import typer

import raglift
from raglift.cli import judging, labels, measuring, pipeline
from raglift.cli.command import new_group

app = new_group(pretty_exceptions_enable=False)
for group in (measuring.group, labels.group, judging.group, pipeline.group):
    app.add_typer(group)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"raglift {raglift.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure the retrieval half of RAG, before and after reranking."""
