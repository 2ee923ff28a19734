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
    output: Annotated[Path, typer.Option(help="A new folder for the files.")],
    form: Annotated[
        str, typer.Option("--format", help="trec (run and qrels, as trec_eval reads them), jsonl or parquet.")
    ] = "trec",
    stage: Annotated[
        str | None, typer.Option(help="The stage whose rankings are written; by default the last.")
    ] = None,
    all_stages: Annotated[bool, typer.Option("--all-stages", help="Write one file of rankings a stage.")] = False,
    subtopics: Annotated[
        bool, typer.Option("--subtopics", help="With trec: also write which id stands for which fact, for pyndeval.")
    ] = False,
    escape_ids: Annotated[
        bool,
        typer.Option(
            "--escape-ids", help="With trec: write white space, control characters and % of ids as in a URL (%20)."
        ),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an export that is already there, and nothing else.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a saved evaluation as files for other tools: TREC run and qrels, JSON Lines or Parquet."""
    from raglift.cli.export import Request
    from raglift.cli.export import run as run_export

    run_export(Request(run, output, form, stage, all_stages, subtopics, escape_ids, overwrite, as_json))


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
