"""The options of the commands that find the better of several systems."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    BASELINE,
    AsJson,
    CompareMatch,
    HoldOut,
    Names,
    Primary,
    PromptBudget,
    SavedRuns,
    Track,
    TrackFiles,
    TrackProject,
)
from raglift.cli.choices import (
    DEVICES,
    choice,
    completion,
    separate,
)
from raglift.cli.command import MEASURE, command, new_group

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

    runs: Annotated[
        tuple[Path, ...], typer.Argument(help="Folders of saved evaluations; one alone shows its reranker lift.")
    ]
    baseline: Annotated[
        str | None, typer.Option(help=f"Name of the run that the others are compared with. {BASELINE}")
    ] = None
    primary: Primary = None
    names: Names = ()
    seed: Annotated[int, typer.Option(help="Random seed of the permutation tests and of --hold-out.")] = 0
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95
    hold_out: HoldOut = False
    match: CompareMatch = None
    budget: PromptBudget = None
    by_tag: Annotated[bool, typer.Option("--by-tag", help="Also show results for each query tag.")] = False
    details: Annotated[
        bool, typer.Option("--all", help="Also print every metric, costs, failures and the queries that moved.")
    ] = False
    track: Track = ()
    track_project: TrackProject = None
    track_files: TrackFiles = True
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

    file: Annotated[
        Path, typer.Argument(help="A YAML file that describes the sweep; or the folder of a sweep, to print it.")
    ]
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the sweep. Default: runs/ and the file's name."),
    ] = None
    plan: Annotated[bool, typer.Option(help="Print what there is to do and measure nothing.")] = False
    resume: Annotated[bool, typer.Option(help="Continue a sweep that was stopped.")] = False
    engine: Annotated[str, choice(("local", "ray"), help="Run on this machine or on a Ray cluster.")] = "local"
    address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster. Default: Ray starts on this machine.")
    ] = None
    device: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion(DEVICES),
            help="Where local models compute, in place of the file's: auto, cpu, cuda, cuda:1 (any number) or mps.",
        ),
    ] = None
    budget: Annotated[
        int | None,
        typer.Option(
            help="Tokens of hits in a prompt, in place of the file's: as many hits are requested as fill it. Default: "
            "that of the file, else budget in [tool.raglift] of pyproject.toml, else 2000."
        ),
    ] = None
    effort: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE|TIME",
            help="Race the cells, in place of the file's effort: '40%' of all questions, or '30 minutes'.",
        ),
    ] = None
    margin: Margin = None
    export_best: Annotated[
        Path | None,
        typer.Option(help="Write the recommended pipeline to this folder, as scripts for LangChain and LlamaIndex."),
    ] = None
    export_cell: Annotated[
        str | None, typer.Option(help="With --export-best: name or key of another cell than the recommended one.")
    ] = None
    overwrite: Annotated[bool, typer.Option(help="With --export-best: replace existing scripts.")] = False
    details: Annotated[
        bool,
        typer.Option("--all", help="Also print every metric, costs, failures and the queries that moved."),
    ] = False
    track: Track = ()
    track_project: TrackProject = None
    track_files: TrackFiles = True
    as_json: AsJson = False

    @property
    def folder(self) -> Path:
        """The folder of the sweep."""
        return Path("runs") / self.file.stem if self.output is None else self.output


@command(
    group,
    "tune",
    MEASURE,
    "Tune fusion and candidates on saved runs",
    run="raglift.cli.tune:run",
    examples=["raglift tune runs/bm25 runs/dense", "raglift tune runs/reranked --candidates 5,10,20"],
)
@dataclass(frozen=True)
class Tune:
    """Choose fusion weights, constants, candidates, depths and score cut-offs on saved runs, without asking a system.

    Several runs over the same chunks are fused; of one with a reranker, the number of candidates is tried. What tuning
    gains is measured on queries that took no part in the choice.
    """

    runs: SavedRuns
    primary: Primary = None
    constants: Annotated[
        tuple[str, ...],
        typer.Option(help="Constants of rank fusion, such as '10,60'. Default: 60, 1, 10, 30, 100."),
        separate,
    ] = ()
    candidates: Annotated[
        tuple[str, ...], typer.Option(help="Hits that are fused or reranked, such as '10,50'."), separate
    ] = ()
    ks: Annotated[tuple[str, ...], typer.Option("-k", help="Hits that are passed on. Default: all."), separate] = ()
    cut_offs: Annotated[
        tuple[str, ...],
        typer.Option("--cut-offs", help="Lowest scores of hits that are kept. Default: none."),
        separate,
    ] = ()
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 5
    seed: Annotated[int, typer.Option(help="Random seed of the folds.")] = 0
    as_json: AsJson = False
