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
    run: Annotated[
        list[Path],
        typer.Option(help="Rankings: a TREC run, or .jsonl or .parquet; again for each further one, for a table."),
    ],
    qrels: Annotated[
        str,
        typer.Option(help="Labels: TREC qrels, .jsonl, .parquet, or a dataset whose labels are ids or documents."),
    ],
    metrics: Annotated[
        str | None,
        typer.Option(help="With commas, by raglift's names or trec_eval's: 'ndcg@10,map' or 'ndcg_cut_10,P_5,bpref'."),
    ] = None,
    profile: Annotated[str, typer.Option(help="Whose metric conventions, as in evaluate.")] = "default",
    output: Annotated[
        str, typer.Option("--format", help="table, json, or trec: just as trec_eval prints it (trec_eval -c).")
    ] = "table",
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Show each query, then the means.")] = False,
    answered_only: Annotated[
        bool, typer.Option(help="Leave labelled queries without a ranking out of the means, as trec_eval without -c.")
    ] = False,
    names: Annotated[
        str | None, typer.Option(help="What to call the runs, with commas; by default as their files.")
    ] = None,
    form: Annotated[
        str | None, typer.Option(help="Of the runs: trec, jsonl or parquet; by default what a file's ending says.")
    ] = None,
) -> None:
    """Score rankings that are in files, by labels in a file."""
    from raglift.cli import score as command

    command.run(command.Request(tuple(run), qrels, metrics, profile, output, per_query, answered_only, names, form))


@group.command()
def export(
    run: Annotated[Path, typer.Argument(help="The folder of a saved evaluation.")],
) -> None:
    """Write a saved evaluation as files for other tools: TREC run and qrels."""
    raise NotImplementedError("w-export")


@group.command(name="explain-metrics")
def explain_metrics(
    run: Annotated[Path, typer.Argument(help="The folder of a saved evaluation.")],
) -> None:
    """Show one query's metrics as several tools compute them, and why they differ."""
    raise NotImplementedError("w-explain")


@group.command()
def metrics() -> None:
    """List every metric with its formula and source."""
    raise NotImplementedError("w-metrics")
