"""The options of the commands that read what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    BASELINE,
    AsJson,
    CompareMatch,
    Documents,
    Encoding,
    HoldOut,
    Include,
    Names,
    Output,
    Overwrite,
    Primary,
    SavedRun,
    Track,
    TrackFiles,
    TrackProject,
)
from raglift.cli.choices import (
    MATCH_RULES,
    PROFILES,
    REPORT_FORMATS,
    choice,
    completion,
    corpus_names,
    separate,
)
from raglift.cli.command import MEASURE, MORE, command, new_group

group = new_group()


@command(
    group,
    "report",
    MEASURE,
    "Write an HTML report of saved runs",
    run="raglift.cli.report:run",
    examples=["raglift report runs/bm25", "raglift report runs/bm25 runs/hybrid -o compared.html"],
)
@dataclass(frozen=True)
class Report:
    """Write a report: one HTML file with metrics, plots and every query. Or a table in Markdown, CSV or Parquet."""

    runs: Annotated[
        tuple[Path, ...],
        typer.Argument(
            help="Saved evaluations: one, or several to compare; a sweep; or a folder of runs, for an index."
        ),
    ]
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write. Default: report.html, or index.html in a folder of runs; Markdown is printed.",
        ),
    ] = None
    form: Annotated[
        str | None, choice(REPORT_FORMATS, "--format", help="Default: by the ending of the file, else html.")
    ] = None
    baseline: Annotated[str | None, typer.Option(help=f"Run or cell that the others are compared with. {BASELINE}")] = (
        None
    )
    primary: Primary = None
    names: Names = ()
    seed: Annotated[
        int | None,
        typer.Option(help="Random seed of the permutation tests and of --hold-out. Default: 0, or the sweep's."),
    ] = None
    confidence: Annotated[float | None, typer.Option(help="Confidence level of the intervals. Default: 0.95.")] = None
    hold_out: HoldOut = False
    match: CompareMatch = None
    overwrite: Annotated[bool, typer.Option(help="Replace an existing file; an HTML report is always replaced.")] = (
        False
    )


@command(
    group,
    "explain",
    MEASURE,
    "Explain the score of one query",
    run="raglift.cli.explain:run",
    examples=["raglift explain runs/bm25 q17"],
)
@dataclass(frozen=True)
class Explain:
    """Show which hits of one query match which facts, and what each adds to the metrics."""

    run: SavedRun
    query: Annotated[
        str | None,
        typer.Argument(help="Id of a query."),
    ] = None
    stage: Annotated[str | None, typer.Option(help="Stage of the pipeline. Default: the last.")] = None
    every: Annotated[
        bool, typer.Option("--all", help="Show all metrics at all depths, not only at that of the primary metric.")
    ] = False
    query_option: Annotated[str | None, typer.Option("--query", hidden=True, help="Id of a query.")] = None
    as_json: AsJson = False


@command(
    group,
    "threshold",
    MORE,
    "Find the score below which not to answer",
    run="raglift.cli.threshold:run",
    examples=["raglift threshold runs/bm25 --risk 0.2", "raglift threshold runs/bm25 --made"],
)
@dataclass(frozen=True)
class Threshold:
    """Find the score of the first hit below which a question is better not answered.

    The threshold is chosen on one half of the questions, with a guarantee, and checked on the other. It takes questions
    that are marked as unanswerable, or --made.
    """

    run: SavedRun
    risk: Annotated[float, typer.Option(help="The share of unanswerable questions that may be answered.")] = 0.1
    delta: Annotated[float, typer.Option(help="How often the guarantee may fail.")] = 0.1
    stage: Annotated[str | None, typer.Option(help="Stage of the pipeline. Default: the last.")] = None
    k: Annotated[
        int | None, typer.Option("-k", help="Depth at which an answer needs a relevant hit. Default: the deepest.")
    ] = None
    made: Annotated[
        bool,
        typer.Option("--made", help="Make half of the labelled questions unanswerable: take their documents out."),
    ] = False
    seed: Annotated[int, typer.Option(help="Random seed of the halves.")] = 0
    as_json: AsJson = False


@command(
    group,
    "rescore",
    MEASURE,
    "Score a saved run again, by other rules",
    run="raglift.cli.rescore:run",
    examples=[
        "raglift rescore runs/bm25 --match coverage -k 5,20",
        "raglift rescore runs/bm25 --labels new.jsonl \\",
        "    -o runs/2",
    ],
)
@dataclass(frozen=True)
class Rescore:
    """Score a saved evaluation again with another match rule, metrics or labels, without querying the system."""

    run: SavedRun
    ks: Annotated[
        tuple[str, ...],
        typer.Option("-k", help="Depths of the metrics, as in evaluate. Default: those of the run."),
        separate,
    ] = ()
    metrics: Annotated[
        tuple[str, ...], typer.Option(help="Metrics, as in evaluate. Default: those of the run."), separate
    ] = ()
    profile: Annotated[
        str | None, choice(PROFILES, help="The tool whose metric definitions are used. Default: as in the run.")
    ] = None
    match: Annotated[str | None, choice(MATCH_RULES, help="Match rule, as in evaluate. Default: as in the run.")] = None
    match_threshold: Annotated[
        float | None,
        typer.Option(
            help="With --match: share of the passage to cover (default 0.5), or similarity for fuzzy (default 0.9)."
        ),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion(corpus_names), help="Other labels of the same queries: a dataset, as in evaluate."
        ),
    ] = None
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    output: Output = None
    overwrite: Overwrite = False
    track: Track = ()
    track_project: TrackProject = None
    track_files: TrackFiles = True
    as_json: AsJson = False
