"""The commands for pipelines: gates, files of other tools, what the metrics are; each is imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import PROFILE_NAMES, Documents, Encoding, Include

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
    encoding: Encoding = None,
    include: Include = None,
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
    overwrite: Annotated[
        bool, typer.Option(help="Replace files for --junit and --markdown that another program wrote.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Let a run pass or fail: exit code 0 it passed, 1 it failed, 2 a mistake in the command, 3 it is incomplete."""
    from raglift.cli import gate as command

    code = command.run(
        command.Request(
            run=run,
            minimum=tuple(minimum or ()),
            maximum=tuple(maximum or ()),
            baseline=baseline,
            no_regression=tuple(no_regression or ()),
            margin=margin,
            dataset=dataset,
            documents=documents,
            encoding=encoding,
            include=tuple(include or ()),
            name=name,
            seed=seed,
            confidence=confidence,
            junit=junit,
            markdown=markdown,
            github=github,
            as_json=as_json,
            overwrite=overwrite,
        )
    )
    raise typer.Exit(code)


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
    profile: Annotated[str, typer.Option(help=f"Whose metric conventions: {PROFILE_NAMES}.")] = "default",
    output: Annotated[
        str, typer.Option("--format", help="table, or trec: just as trec_eval prints it (trec_eval -c).")
    ] = "table",
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Show each query, then the means.")] = False,
    answered_only: Annotated[
        bool, typer.Option(help="Leave labelled queries without a ranking out of the means, as trec_eval without -c.")
    ] = False,
    trec_eval: Annotated[
        int, typer.Option("--trec-eval", help="With --format trec: as which version of trec_eval, 9 or 10.")
    ] = 9,
    names: Annotated[
        str | None, typer.Option(help="What to call the runs, with commas; by default as their files.")
    ] = None,
    form: Annotated[
        str | None, typer.Option(help="Of the runs: trec, jsonl or parquet; by default what a file's ending says.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score rankings that are in files, by labels in a file."""
    from raglift.cli import score as command

    command.run(
        command.Request(
            tuple(run), qrels, metrics, profile, output, per_query, answered_only, trec_eval, names, form, as_json
        )
    )


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


@group.command()
def track(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of saved evaluations or of sweeps; each is tracked by itself.")
    ],
    to: Annotated[list[str] | None, typer.Option(help="mlflow or wandb; repeatable.")] = None,
    project: Annotated[
        str | None, typer.Option(help="MLflow's experiment, or the project at W&B; by default raglift.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What to call the run; by default the dataset and what the stages do.")
    ] = None,
    files: Annotated[
        bool,
        typer.Option(
            "--files/--no-files",
            help="Also keep the report and the saved run, which hold the texts of queries and chunks.",
        ),
    ] = True,
) -> None:
    """Keep saved evaluations or sweeps in an experiment tracker: parameters, figures, the report and the run."""
    from raglift.cli.tracking import Tracking, TrackRequest
    from raglift.cli.tracking import run as run_track

    run_track(TrackRequest(tuple(runs), Tracking(tuple(dict.fromkeys(to or ())), project, files, name)))
