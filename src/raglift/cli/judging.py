"""The commands about language models and people who judge; each is imported when it is run."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — typer reads the annotations at run time
from typing import Annotated

import typer

from raglift.cli.arguments import Documents  # noqa: TC001 — typer reads the annotations at run time

__all__ = ["group"]

group = typer.Typer(rich_markup_mode=None)


@group.command()
def review(
    labels: Annotated[Path, typer.Argument(help="The file of queries to judge for; made from the runs when missing.")],
    runs: Annotated[list[Path], typer.Argument(help="Folders of saved evaluations of the same queries.")],
    judged: Annotated[
        Path | None,
        typer.Option(help="A file of queries with a model's labels, to compare with; by default those in LABELS."),
    ] = None,
    documents: Documents = None,
    scale: Annotated[int, typer.Option(help="The highest grade: 3 or 5.")] = 3,
    depth: Annotated[int, typer.Option(help="How many hits of each ranking are judged.")] = 10,
    port: Annotated[int, typer.Option(help="Where to listen on 127.0.0.1; 0 for any port that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Judge what systems returned, by hand: a page on this machine that writes labels as you go."""
    from raglift.cli import review as command

    command.run(
        command.Request(
            labels=labels,
            runs=tuple(runs),
            judged=judged,
            documents=documents,
            scale=scale,
            depth=depth,
            port=port,
            browser=browser,
        )
    )
