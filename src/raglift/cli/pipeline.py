"""The commands for pipelines: gates, files of other tools, what the metrics are; each is imported when it is run."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — typer reads the annotations at run time
from typing import Annotated

import typer

__all__ = ["group"]

group = typer.Typer(rich_markup_mode=None)


@group.command()
def gate(
    run: Annotated[Path, typer.Argument(help="The folder of a saved evaluation.")],
) -> None:
    """Let a run pass or fail: bounds on its figures, and no real loss against a baseline."""
    raise NotImplementedError("w-gate")


@group.command()
def score(
    run: Annotated[Path, typer.Option(help="The rankings: a TREC run, JSON Lines or Parquet.")],
) -> None:
    """Score rankings that are in a file, by labels in a file."""
    raise NotImplementedError("w-score")


@group.command()
def export(
    run: Annotated[Path, typer.Argument(help="The folder of a saved evaluation.")],
) -> None:
    """Write a saved evaluation as files for other tools: TREC run and qrels."""
    raise NotImplementedError("w-export")


@group.command(name="explain-metrics")
def explain_metrics(
    run: Annotated[Path, typer.Argument(help="The folder of a saved evaluation.")],
    query: Annotated[
        str | None, typer.Option(help="The id of a query; by default that whose values differ most between profiles.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="A metric, as ndcg@10; may be repeated. By default those that were scored."),
    ] = None,
    stage: Annotated[str | None, typer.Option(help="The stage; by default the last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show one query's metrics as several tools compute them, and why they differ."""
    from raglift.cli import explain_metrics as command

    command.run(command.Request(run, query, tuple(metric or ()), stage, as_json))


@group.command()
def metrics(
    name: Annotated[str | None, typer.Argument(help="One of them, which is shown in full.", metavar="METRIC")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """List every metric with its formula and source; those of installed packages too."""
    from raglift.cli.metrics import Request, run

    run(Request(name, as_json))
