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
    Names,
    Primary,
    PromptBudget,
    SavedRuns,
)
from raglift.cli.choices import (
    DEVICES,
    Several,
    choice,
    completion,
)
from raglift.cli.command import MEASURE, RARE, command, new_group

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
    budget: PromptBudget = None
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
    file, else budget in [tool.raglift] of pyproject.toml, else 2000."""
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
