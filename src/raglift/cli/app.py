"""The command line as a whole."""

from __future__ import annotations

from typing import Annotated

import typer

import raglift
from raglift.cli import judging, labels, measuring, pipeline

app = typer.Typer(
    help="Measure the retrieval half of RAG, before and after reranking.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(measuring.group)
app.add_typer(labels.group)
app.add_typer(judging.group)
app.add_typer(pipeline.group)


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
