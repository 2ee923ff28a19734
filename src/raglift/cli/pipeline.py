"""The options of the commands for CI, for files of other tools, and about the metrics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import AsJson, Documents, Encoding, Include, Profile, PromptBudget, SavedRun
from raglift.cli.choices import (
    EXPORT_FORMATS,
    RANKING_FORMATS,
    TRACKERS,
    choice,
    completion,
    corpus_names,
    metric_names,
    separate,
    separate_paths,
)
from raglift.cli.command import CI, FILES, MORE, command, new_group

group = new_group()


@command(
    group,
    "gate",
    CI,
    "Pass or fail a run against thresholds",
    run="raglift.cli.gate:run",
    examples=[
        "raglift gate runs/new --min ndcg@10=0.75,recall@10=0.9",
        "raglift gate runs/new --baseline runs/main \\",
        "    --no-regression ndcg@10 --junit gate.xml",
    ],
    exit_codes={
        0: "Passed.",
        1: "Failed.",
        2: "Nothing was decided: an error in the command or its input.",
        3: "Incomplete: queries are missing, or a sweep is unfinished.",
    },
)
@dataclass(frozen=True)
class Gate:
    """Check a run against thresholds and a baseline, for CI."""

    run: Annotated[Path, typer.Argument(help="Folder of a saved evaluation, or of one cell of a sweep.")]
    minimum: Annotated[
        tuple[str, ...],
        typer.Option(
            "--min",
            autocompletion=completion(metric_names),
            help="Lowest means that pass, such as 'ndcg@10=0.75,mrr=0.6' or retrieve:recall@50=0.9.",
        ),
        separate,
    ] = ()
    maximum: Annotated[
        tuple[str, ...],
        typer.Option(
            "--max",
            autocompletion=completion(("p50_latency", "p95_latency", "failures", "empty", "unlabelled")),
            help="Highest values that pass, such as 'p95_latency=500ms,failures=0': of p50_latency, p95_latency, "
            "failures, empty, unlabelled or a metric.",
        ),
        separate,
    ] = ()
    baseline: Annotated[Path | None, typer.Option(help="Folder of a saved evaluation of the same queries.")] = None
    no_regression: Annotated[
        tuple[str, ...],
        typer.Option(
            autocompletion=completion(metric_names),
            help="Metrics that must not be worse than the baseline's at the last stage, such as 'ndcg@10,mrr'.",
        ),
        separate,
    ] = ()
    margin: Annotated[float, typer.Option(help="Largest drop of the mean that is accepted.")] = 0.0
    budget: PromptBudget = None
    dataset: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion(corpus_names),
            help="Labelled dataset, as in evaluate, all queries of which the run must have answered.",
        ),
    ] = None
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    name: Annotated[str | None, typer.Option(help="Name of the run. Default: its folder's.")] = None
    seed: Annotated[int, typer.Option(help="Random seed of the permutation tests.")] = 0
    confidence: Annotated[
        float, typer.Option(help="Confidence level: a drop is significant if p is at most 1 minus this.")
    ] = 0.95
    junit: Annotated[Path | None, typer.Option(help="Write the checks to this file as JUnit XML.")] = None
    markdown: Annotated[Path | None, typer.Option(help="Write a summary to this file as Markdown.")] = None
    github: Annotated[
        bool | None,
        typer.Option(
            "--github/--no-github",
            help="Print annotations and add the summary to $GITHUB_STEP_SUMMARY. Default: on GitHub Actions.",
        ),
    ] = None
    overwrite: Annotated[
        bool, typer.Option(help="Replace files for --junit and --markdown that another program wrote.")
    ] = False
    as_json: AsJson = False


@command(
    group,
    "track",
    CI,
    "Log saved runs to MLflow or W&B",
    run="raglift.cli.tracking:run",
    examples=["raglift track runs/bm25 --to mlflow", "raglift track runs/* --to mlflow,wandb --no-files"],
)
@dataclass(frozen=True)
class Track:
    """Log saved evaluations or sweeps to an experiment tracker: parameters, metrics, the report and the run."""

    runs: Annotated[
        tuple[Path, ...], typer.Argument(help="Folders of saved evaluations or sweeps; each is logged by itself.")
    ]
    to: Annotated[tuple[str, ...], choice(TRACKERS, help="Experiment trackers, at least one."), separate] = ()
    project: Annotated[str | None, typer.Option(help="MLflow experiment or W&B project. Default: raglift.")] = None
    name: Annotated[str | None, typer.Option(help="Name of the run in the tracker. Default: the folder's.")] = None
    files: Annotated[
        bool,
        typer.Option(
            "--files/--no-files",
            help="Also upload the report and the saved run, which contain the texts of queries and chunks.",
        ),
    ] = True
    as_json: AsJson = False


@command(
    group,
    "score",
    FILES,
    "Score rankings in files: TREC, JSON Lines",
    run="raglift.cli.score:run",
    examples=[
        "raglift score --run bm25.trec --qrels qrels.txt",
        "raglift score --run a.trec,b.trec --qrels qrels.txt",
        "raglift score --run a.trec --qrels qrels.txt \\",
        "    --metrics map,ndcg_cut_10",
    ],
)
@dataclass(frozen=True)
class Score:
    """Score rankings in files with labels in a file."""

    run: Annotated[
        tuple[Path, ...],
        typer.Option(help="Rankings: TREC run, .jsonl or .parquet files. Several are compared in a table."),
        separate_paths,
    ]
    qrels: Annotated[
        str,
        typer.Option(
            autocompletion=completion(corpus_names),
            help="Labels: TREC qrels, .jsonl, .parquet, or a dataset whose labels are ids or documents.",
        ),
    ]
    metrics: Annotated[
        tuple[str, ...],
        typer.Option(
            autocompletion=completion(metric_names),
            help="Metrics by raglift's names or trec_eval's: 'ndcg@10,map' or 'ndcg_cut_10,P_5,bpref'.",
        ),
        separate,
    ] = ()
    profile: Profile = "default"
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Show each query, then the means.")] = False
    answered_only: Annotated[
        bool,
        typer.Option(help="Leave labelled queries without a ranking out of the means, as trec_eval does without -c."),
    ] = False
    names: Annotated[
        tuple[str, ...], typer.Option(help="Names of the runs, such as 'small,large'. Default: file names."), separate
    ] = ()
    form: Annotated[
        str | None, choice(RANKING_FORMATS, "--from", help="Format of the runs. Default: by the ending of each file.")
    ] = None
    as_json: AsJson = False


@command(
    group,
    "export",
    FILES,
    "Export a run as TREC or Parquet",
    run="raglift.cli.export:run",
    examples=[
        "raglift export runs/bm25 -o trec",
        "raglift export runs/bm25 -o out --format parquet",
    ],
)
@dataclass(frozen=True)
class Export:
    """Write a saved evaluation as files for other tools: TREC run and qrels, or Parquet."""

    run: SavedRun
    output: Annotated[Path, typer.Option("--output", "-o", help="New folder for the files.")]
    form: Annotated[
        str, choice(EXPORT_FORMATS, "--format", help="trec is a run and qrels, as trec_eval reads them.")
    ] = "trec"
    stage: Annotated[str | None, typer.Option(help="Stage whose rankings are written. Default: the last.")] = None
    all_stages: Annotated[bool, typer.Option("--all-stages", help="Write one file of rankings per stage.")] = False
    subtopics: Annotated[
        bool, typer.Option("--subtopics", help="With trec: also write which id is which fact, for pyndeval.")
    ] = False
    escape_ids: Annotated[
        bool,
        typer.Option(
            "--escape-ids", help="With trec: write white space, control characters and % in ids as in URLs (%20)."
        ),
    ] = False
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing export, and nothing else.")] = (
        False
    )
    as_json: AsJson = False


@command(
    group,
    "mcp",
    MORE,
    "Serve a folder to a coding agent over MCP",
    run="raglift.cli.mcp:run",
    examples=["raglift mcp .", "raglift mcp . --allow-write --allow-code"],
)
@dataclass(frozen=True)
class Mcp:
    """Let a coding agent list datasets and runs, evaluate, compare and explain, within one folder.

    Speaks MCP on stdin and stdout; the agent's client starts it. Nothing outside the folder is read, and nothing is
    written or run unless it is allowed.
    """

    folder: Annotated[Path, typer.Argument(help="The folder that the agent may see.")]
    allow_write: Annotated[
        bool, typer.Option("--allow-write", help="Also let it save runs in the folder. Nothing is overwritten.")
    ] = False
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            help="Also let it evaluate systems by reference: this runs the folder's code (module:name), starts the "
            "commands of MCP servers, and asks HTTP addresses, with the rights of whoever starts the server.",
        ),
    ] = False


@command(
    group,
    "metrics",
    MORE,
    "List all metrics with their formulas",
    run="raglift.cli.metrics:run",
    examples=["raglift metrics", "raglift metrics ndcg"],
)
@dataclass(frozen=True)
class Metrics:
    """List all metrics with formula and source, including those of installed plugins."""

    name: Annotated[
        str | None,
        typer.Argument(metavar="METRIC", autocompletion=completion(metric_names), help="A metric to show in full."),
    ] = None
    as_json: AsJson = False
