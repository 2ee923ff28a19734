"""The options of the commands for CI, for files of other tools, and about the metrics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    EXPORT_FORMATS,
    GATED_FIGURES,
    MATCH_RULES,
    RANKING_FORMATS,
    TRACKERS,
    AsJson,
    Documents,
    Encoding,
    Include,
    Output,
    Overwrite,
    Profile,
    PromptBudget,
    SavedRun,
    Several,
    choice,
    completion,
    corpus_names,
    metric_names,
)
from raglift.cli.command import CI, FILES, MORE, RARE, FromProject, command, new_group

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
        3: "Incomplete: questions are missing.",
    },
)
@dataclass(frozen=True)
class Gate:
    """Check a run against thresholds and a baseline, for CI."""

    run: Annotated[Path, typer.Argument()]
    """Folder of a saved evaluation, or of one cell of a sweep."""
    minimum: Annotated[
        Several, typer.Option("--min", autocompletion=completion(metric_names)), FromProject("target")
    ] = ()
    """Lowest means that pass, such as 'ndcg@10=0.75,mrr=0.6' or retrieve:recall@50=0.9."""
    maximum: Annotated[
        Several,
        typer.Option("--max", autocompletion=completion(GATED_FIGURES)),
    ] = ()
    """Highest values that pass, such as 'p95_latency=500ms,failures=0': of p50_latency, p95_latency, failures, empty,
    unlabelled or a metric."""
    baseline: Path | None = None
    """Folder of a saved evaluation of the same queries."""
    no_regression: Annotated[Several, typer.Option(autocompletion=completion(metric_names))] = ()
    """Metrics that must not be worse than the baseline's at the last stage, such as 'ndcg@10,mrr'."""
    margin: float = 0.0
    """Largest drop of the mean that is accepted."""
    budget: Annotated[PromptBudget, FromProject("budget")] = None
    dataset: Annotated[str | None, typer.Option(autocompletion=completion(corpus_names))] = None
    """Labelled dataset, as in evaluate, all queries of which the run must have answered."""
    documents: Documents = None
    encoding: Annotated[Encoding, RARE] = None
    include: Annotated[Include, RARE] = ()
    name: Annotated[str | None, RARE] = None
    """Name of the run. Default: its folder's."""
    seed: Annotated[int, RARE] = 0
    """Random seed of the permutation tests."""
    confidence: Annotated[float, RARE] = 0.95
    """Confidence level: a drop is significant if p is at most 1 minus this."""
    junit: Path | None = None
    """Write the checks to this file as JUnit XML."""
    markdown: Path | None = None
    """Write a summary to this file as Markdown."""
    github: Annotated[bool | None, typer.Option("--github/--no-github"), RARE] = None
    """Print annotations and add the summary to $GITHUB_STEP_SUMMARY. Default: on GitHub Actions."""
    as_json: AsJson = False


@command(
    group,
    "track",
    CI,
    "Log saved runs to MLflow or W&B",
    run="raglift.cli.scoring:run_track",
    examples=["raglift track runs/bm25 --to mlflow", "raglift track runs/* --to mlflow,wandb --no-files"],
)
@dataclass(frozen=True)
class Track:
    """Log saved evaluations or sweeps to an experiment tracker: parameters, metrics, the report and the run."""

    runs: Annotated[tuple[Path, ...], typer.Argument()]
    """Folders of saved evaluations or sweeps; each is logged by itself."""
    to: Annotated[Several, choice(TRACKERS)] = ()
    """Experiment trackers, at least one."""
    project: str | None = None
    """MLflow experiment or W&B project. Default: raglift."""
    name: str | None = None
    """Name of the run in the tracker. Default: the folder's."""
    files: Annotated[bool, typer.Option("--files/--no-files")] = True
    """Also upload the report and the saved run, which contain the texts of queries and chunks."""
    as_json: AsJson = False


@command(
    group,
    "score",
    FILES,
    "Score hits in files, from any language",
    run="raglift.cli.score:run",
    examples=[
        "raglift score labels.jsonl hits.jsonl --baseline old.jsonl",
        "raglift score labels.jsonl hits.jsonl -o runs/new",
        "raglift score qrels.txt a.trec b.trec --metrics map,P_5",
        "raglift score --example folder",
    ],
)
@dataclass(frozen=True)
class Score:
    """Score hits in files with labels in a file.

    Any language can write the hits: JSON Lines, a question with its hits in order of rank on each line. Labels are
    questions with passages. Or both are ids, as in the files of trec_eval, whose values are computed.
    """

    labels: Annotated[str | None, typer.Argument(autocompletion=completion(corpus_names))] = None
    """Questions with passages: a .jsonl file or another dataset, as in evaluate. Or judged ids: TREC qrels, .jsonl or
    .parquet."""
    hits: Annotated[tuple[Path, ...], typer.Argument()] = ()
    """Hits: .jsonl, .parquet or TREC run files. Several are compared."""
    baseline: Path | None = None
    """Hits that the others are compared with. Default: of several, the first."""
    metrics: Annotated[Several, typer.Option(autocompletion=completion(metric_names))] = ()
    """Metrics by raglift's names or trec_eval's: 'ndcg@10,map' or 'ndcg_cut_10,P_5,bpref'."""
    match: Annotated[str | None, choice(MATCH_RULES)] = None
    """How texts match passages, as in evaluate. Default: containment; coverage where hits of different lengths are
    compared."""
    documents: Documents = None
    profile: Profile = "default"
    per_query: Annotated[bool, typer.Option("--per-query", "-q")] = False
    """Show each query, then the means."""
    answered_only: bool = False
    """Leave labelled queries without a ranking out of the means, as trec_eval does without -c."""
    names: Several = ()
    """Names of the files in tables, the baseline's first, such as 'small,large'. Default: file names."""
    form: Annotated[str | None, choice(RANKING_FORMATS, "--from")] = None
    """Format of the hits. Default: by the ending of each file."""
    output: Output = None
    overwrite: Overwrite = False
    details: Annotated[bool, typer.Option("--all")] = False
    """Also print every metric at every depth, winners and losers, and settings."""
    example: Path | None = None
    """Score nothing: write examples of both files, and their JSON Schemas, to this new folder."""
    as_json: AsJson = False


@command(
    group,
    "export",
    FILES,
    "Export a run as TREC or Parquet",
    run="raglift.cli.scoring:run_export",
    examples=[
        "raglift export runs/bm25 -o trec",
        "raglift export runs/bm25 -o out --format parquet",
    ],
)
@dataclass(frozen=True)
class Export:
    """Write a saved evaluation as files for other tools: TREC run and qrels, or Parquet."""

    run: SavedRun
    output: Annotated[Path, typer.Option("--output", "-o")]
    """New folder for the files."""
    form: Annotated[str, choice(EXPORT_FORMATS, "--format")] = "trec"
    """trec is a run and qrels, as trec_eval reads them."""
    stage: str | None = None
    """Stage whose rankings are written. Default: the last."""
    all_stages: bool = False
    """Write one file of rankings per stage."""
    overwrite: bool = False
    """Replace an existing export, and nothing else."""
    as_json: AsJson = False


@command(
    group,
    "mcp",
    MORE,
    "Serve a folder to a coding agent over MCP",
    run="raglift.cli.serving:serve_agents",
    examples=["raglift mcp .", "raglift mcp . --allow-write --allow-code"],
)
@dataclass(frozen=True)
class Mcp:
    """Let a coding agent list datasets and runs, evaluate, compare and explain, within one folder.

    Speaks MCP on stdin and stdout; the agent's client starts it. Nothing outside the folder is read, and nothing is
    written or run unless it is allowed.
    """

    folder: Annotated[Path, typer.Argument()]
    """The folder that the agent may see."""
    allow_write: bool = False
    """Also let it save runs in the folder. Nothing is overwritten."""
    allow_code: bool = False
    """Also let it evaluate systems by reference: this runs the folder's code (module:name), starts the commands of MCP
    servers, and asks HTTP addresses, with the rights of whoever starts the server."""


@command(
    group,
    "metrics",
    MORE,
    "List all metrics with their formulas",
    run="raglift.cli.scoring:list_metrics",
    examples=["raglift metrics", "raglift metrics ndcg"],
)
@dataclass(frozen=True)
class Metrics:
    """List all metrics with formula and source, including those of installed plugins."""

    name: Annotated[str | None, typer.Argument(metavar="METRIC", autocompletion=completion(metric_names))] = None
    """A metric to show in full."""
    as_json: AsJson = False
