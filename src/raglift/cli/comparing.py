"""The options of the commands that compare systems, and read what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    BASELINE,
    DEVICES,
    MATCH_RULES,
    PROFILES,
    REPORT_FORMATS,
    AsJson,
    CompareMatch,
    Documents,
    Encoding,
    Include,
    Names,
    Output,
    Overwrite,
    Primary,
    PromptBudget,
    SavedRun,
    SavedRuns,
    Several,
    choice,
    completion,
    corpus_names,
)
from raglift.cli.command import MEASURE, RARE, FromProject, command, new_group

group = new_group()

Margin = Annotated[
    float | None,
    typer.Option(help="How far below another mean counts as equally good. Default: the file's, else 0.03."),
]


@command(
    group,
    "compare",
    MEASURE,
    "Compare saved runs: which is really better?",
    run="raglift.cli.compare:run",
    examples=["raglift compare runs/bm25 runs/hybrid", "raglift compare runs/* --baseline bm25 --by-tag"],
)
@dataclass(frozen=True)
class Compare:
    """Compare saved evaluations on the same queries, with significance tests. With one run, show its reranker lift."""

    runs: Annotated[tuple[Path, ...], typer.Argument()]
    """Folders of saved evaluations; one alone shows its reranker lift."""
    baseline: Annotated[
        str | None, typer.Option(help=f"Name of the run that the others are compared with. {BASELINE}")
    ] = None
    primary: Primary = None
    names: Names = ()
    seed: int = 0
    """Random seed of the permutation tests."""
    confidence: float = 0.95
    """Confidence level of the intervals."""
    match: CompareMatch = None
    budget: Annotated[PromptBudget, FromProject("budget")] = None
    by_tag: bool = False
    """Also show results for each query tag."""
    details: Annotated[bool, typer.Option("--all")] = False
    """Also print every metric, costs, failures and the queries that moved."""
    as_json: AsJson = False


@command(
    group,
    "sweep",
    MEASURE,
    "Measure many systems and find the best",
    run="raglift.cli.sweep:run",
    examples=["raglift sweep sweep.yaml --plan", "raglift sweep sweep.yaml -o runs/sweep"],
    exit_codes={1: "Some cells failed; what is measured is kept."},
)
@dataclass(frozen=True)
class RunSweep:
    """Measure combinations of chunk sizes, embedding models, retrievers and rerankers; shared work is done once.

    Hits are matched by coverage unless the file says otherwise: containment, the default of evaluate, favours some
    chunk sizes.
    """

    file: Annotated[Path, typer.Argument()]
    """A YAML file that describes the sweep; or the folder of a sweep, to print it."""
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    """Folder of the sweep. Default: runs/ and the file's name."""
    plan: bool = False
    """Print what there is to do and measure nothing."""
    resume: bool = False
    """Continue a sweep that was stopped."""
    engine: Annotated[str, choice(("local", "ray"))] = "local"
    """Run on this machine or on a Ray cluster."""
    address: Annotated[str | None, RARE] = None
    """Address of the Ray cluster. Default: Ray starts on this machine."""
    device: Annotated[str | None, typer.Option(autocompletion=completion(DEVICES))] = None
    """Where local models compute, in place of the file's: auto, cpu, cuda, cuda:1 (any number) or mps."""
    budget: int | None = None
    """Tokens of hits in a prompt, in place of the file's: as many hits are requested as fill it. Default: that of the
    file, else 2000."""
    effort: Annotated[str | None, typer.Option(metavar="SHARE|TIME")] = None
    """Race the cells, in place of the file's effort: '40%' of all questions, or '30 minutes'."""
    margin: Margin = None
    details: Annotated[bool, typer.Option("--all")] = False
    """Also print every metric, costs, failures and the queries that moved."""
    as_json: AsJson = False

    @property
    def folder(self) -> Path:
        """The folder of the sweep."""
        return Path("runs") / self.file.stem if self.output is None else self.output


@command(
    group,
    "tune",
    MEASURE,
    "Tune fusion, candidates and thresholds",
    run="raglift.cli.tune:run",
    examples=[
        "raglift tune runs/bm25 runs/dense",
        "raglift tune runs/reranked --candidates 5,10,20",
        "raglift tune runs/bm25 --threshold --risk 0.2",
    ],
)
@dataclass(frozen=True)
class Tune:
    """Choose fusion weights, constants, candidates, depths and score cut-offs on saved runs, without asking a system.

    Several runs over the same chunks are fused; of one with a reranker, the number of candidates is tried. What tuning
    gains is measured on queries that took no part in the choice. With --threshold: find the score of the first hit
    below which a question is better not answered. It is chosen on one half of the questions, with a guarantee, and
    checked on the other. It takes questions that are marked as unanswerable.
    """

    runs: SavedRuns
    primary: Primary = None
    constants: Several = ()
    """Constants of rank fusion, such as '10,60'. Default: 60, 1, 10, 30, 100."""
    candidates: Several = ()
    """Hits that are fused or reranked, such as '10,50'."""
    ks: Annotated[Several, typer.Option("-k")] = ()
    """Hits that are passed on. Default: all."""
    cut_offs: Several = ()
    """Lowest scores of hits that are kept. Default: none."""
    folds: int = 5
    """Folds of the cross-validation."""
    seed: int = 0
    """Random seed of the folds, and of the halves of --threshold."""
    threshold: bool = False
    """Of one run: find the score of its first hit below which not to answer; -k is then one depth, at which an answer
    needs a relevant hit."""
    risk: Annotated[float | None, RARE] = None
    """With --threshold: the share of unanswerable questions that may be answered. Default: 0.1."""
    delta: Annotated[float | None, RARE] = None
    """With --threshold: how often the guarantee may fail. Default: 0.1."""
    stage: Annotated[str | None, RARE] = None
    """With --threshold: stage of the pipeline. Default: the last."""
    as_json: AsJson = False


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
    target: Annotated[Several, typer.Option(), FromProject("target")] = ()
    """Lowest means of one run, such as 'ndcg@10=0.7': the page says whether it reaches them."""
    overwrite: bool = False
    """Replace an existing file; an HTML report is always replaced."""


@command(
    group,
    "explain",
    MEASURE,
    "Explain the score of one question",
    run="raglift.cli.report:explain",
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
    "fix",
    MEASURE,
    "Find why facts are lost, and what mends them",
    run="raglift.cli.fix:run",
    examples=["raglift fix runs/bm25", "raglift fix runs/bm25 --dataset my/ -o fixes.html"],
)
@dataclass(frozen=True)
class Fix:
    """Try changes of a system on the questions that lost something: chunks, candidates, weights, filters, models.

    Every change is really run. A change is the cause of a loss where it alone finds the fact and neighbouring settings
    do too. Those that mend most are tried on all questions: chosen on one half, measured on the other.
    """

    run: SavedRun
    dataset: Annotated[str | None, typer.Option()] = None
    """Dataset with the documents that were searched. Default: the run's dataset, by its name."""
    documents: Documents = None
    system: Annotated[str | None, typer.Option()] = None
    """Your own retriever, such as my_rag:retriever, if the run is of one: it is asked again."""
    reranker: Annotated[str | None, typer.Option()] = None
    """With --system: the reranker of the run, by name."""
    k: Annotated[int | None, typer.Option("-k")] = None
    """Rank by which a fact is to be found. Default: the deepest that was scored."""
    seed: int = 0
    """Random seed of the halves and tests."""
    causes: Annotated[bool, typer.Option("--causes")] = False
    """Only say why facts are lost; try nothing on all questions."""
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    """Also write the page of the run, with a row for each lost fact: one HTML file."""
    as_json: AsJson = False


@command(
    group,
    "rescore",
    MEASURE,
    "Score a saved run again, by other rules",
    run="raglift.cli.scoring:rescore_run",
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
