"""The commands for pipelines: gates, files of other tools, what the metrics are; each is imported when it is run."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — typer reads the annotations at run time
from typing import Annotated

import typer

from raglift.cli.arguments import Documents  # noqa: TC001 — typer reads the annotations at run time

__all__ = ["group"]

group = typer.Typer(rich_markup_mode=None)


@group.command()
def gate(
    run: Annotated[Path, typer.Argument(help="The folder of a saved evaluation, or of one cell of a sweep.")],
    minimum: Annotated[
        list[str] | None,
        typer.Option(
            "--min", help="The least mean that will do, as ndcg@10=0.75 or retrieve:recall@50=0.9; repeatable."
        ),
    ] = None,
    maximum: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            help="The most that will do: p50_latency or p95_latency (0.5s, 500ms), failures, empty, unlabelled, or a "
            "metric; repeatable.",
        ),
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="A saved evaluation of the same queries.")] = None,
    no_regression: Annotated[
        list[str] | None,
        typer.Option(help="A metric that must not be worse than the baseline's, at the last stage; repeatable."),
    ] = None,
    margin: Annotated[float, typer.Option(help="How large a drop of the mean may be before it counts.")] = 0.0,
    dataset: Annotated[
        str | None, typer.Option(help="The labelled set that the run must have answered whole, as in evaluate.")
    ] = None,
    documents: Documents = None,
    name: Annotated[str | None, typer.Option(help="What to call the run; by default as its folder.")] = None,
    seed: Annotated[int, typer.Option(help="Of the permutation tests.")] = 0,
    confidence: Annotated[float, typer.Option(help="A drop is real where p is at most 1 minus it.")] = 0.95,
    junit: Annotated[Path | None, typer.Option(help="Write the checks to this file, as JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a summary to this file, as GitHub's Markdown.")] = None,
    github: Annotated[
        bool | None,
        typer.Option(
            "--github/--no-github",
            help="Print annotations, and add the summary to $GITHUB_STEP_SUMMARY; by default on GitHub Actions.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Let a run pass or fail: exit code 0 it passed, 1 it failed, 2 a mistake in the command, 3 it is incomplete."""
    from raglift.cli import gate as command

    outcome = command.run(
        command.Request(
            run=run,
            minimum=tuple(minimum or ()),
            maximum=tuple(maximum or ()),
            baseline=baseline,
            no_regression=tuple(no_regression or ()),
            margin=margin,
            dataset=dataset,
            documents=documents,
            name=name,
            seed=seed,
            confidence=confidence,
            junit=junit,
            markdown=markdown,
            github=github,
            as_json=as_json,
        )
    )
    raise typer.Exit(int(outcome))


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
) -> None:
    """Show one query's metrics as several tools compute them, and why they differ."""
    raise NotImplementedError("w-explain")


@group.command()
def metrics() -> None:
    """List every metric with its formula and source."""
    raise NotImplementedError("w-metrics")
