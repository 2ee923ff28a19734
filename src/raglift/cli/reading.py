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
    Include,
    Names,
    Output,
    Overwrite,
    Primary,
    SavedRun,
)
from raglift.cli.choices import (
    MATCH_RULES,
    PROFILES,
    REPORT_FORMATS,
    Several,
    choice,
    completion,
    corpus_names,
)
from raglift.cli.command import MEASURE, command, new_group

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

    runs: Annotated[tuple[Path, ...], typer.Argument()]
    """Saved evaluations: one, or several to compare; a sweep; or a folder of runs, for an index."""
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    """File to write. Default: report.html, or index.html in a folder of runs; Markdown is printed."""
    form: Annotated[str | None, choice(REPORT_FORMATS, "--format")] = None
    """Default: by the ending of the file, else html."""
    baseline: Annotated[str | None, typer.Option(help=f"Run or cell that the others are compared with. {BASELINE}")] = (
        None
    )
    primary: Primary = None
    names: Names = ()
    seed: int | None = None
    """Random seed of the permutation tests. Default: 0, or the sweep's."""
    confidence: float | None = None
    """Confidence level of the intervals. Default: 0.95."""
    match: CompareMatch = None
    overwrite: bool = False
    """Replace an existing file; an HTML report is always replaced."""


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
    query: Annotated[str | None, typer.Argument()] = None
    """Id of a query."""
    stage: str | None = None
    """Stage of the pipeline. Default: the last."""
    every: Annotated[bool, typer.Option("--all")] = False
    """Show all metrics at all depths, not only at that of the primary metric."""
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
    ks: Annotated[Several, typer.Option("-k")] = ()
    """Depths of the metrics, as in evaluate. Default: those of the run."""
    metrics: Several = ()
    """Metrics, as in evaluate. Default: those of the run."""
    profile: Annotated[str | None, choice(PROFILES)] = None
    """The tool whose metric definitions are used. Default: as in the run."""
    match: Annotated[str | None, choice(MATCH_RULES)] = None
    """Match rule, as in evaluate. Default: as in the run."""
    match_threshold: float | None = None
    """With --match: share of the passage to cover (default 0.5), or similarity for fuzzy (default 0.9)."""
    labels: Annotated[str | None, typer.Option(autocompletion=completion(corpus_names))] = None
    """Other labels of the same queries: a dataset, as in evaluate."""
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    output: Output = None
    overwrite: Overwrite = False
    as_json: AsJson = False
