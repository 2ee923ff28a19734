"""`raglift grade`."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from raglift.cli import Stopped
from raglift.cli.json_output import print_json
from raglift.cli.model_options import limits_of, model_of
from raglift.cli.saved_runs import load_runs
from raglift.dataset import write_queries
from raglift.errors import ConfigurationError, CostLimitReached
from raglift.judging.grading import estimate_grading, grade
from raglift.judging.placing import placed
from raglift.judging.pool import pool
from raglift.loading import load_documents
from raglift.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from raglift.integrations.language_models import LanguageModel
    from raglift.judging.asking import Estimate, Limits
    from raglift.judging.grading_summary import GradingSummary
    from raglift.judging.pool import Pool
    from raglift.records import Document, Evaluation

__all__ = ["Request", "run"]

_MAX_COST = 5.0
"""US dollars, where the price is known and no other limit was given."""
_STOPPED = 1


@dataclass(frozen=True)
class Request:
    """The command line, parsed."""

    runs: tuple[Path, ...]
    output: Path | None
    depth: int
    scale: int
    rubric: Path | None
    relevant_from: int
    fill: bool
    documents: str | None
    model: LanguageModel
    limits: Limits
    estimate: bool
    overwrite: bool
    as_json: bool


def run(request: Request) -> None:
    """Pool, estimate, ask, write, print."""
    output = _checked(request)
    evaluations = load_runs(request.runs)
    documents = () if request.documents is None else load_documents(request.documents)
    pairs = placed(pool(evaluations, depth=request.depth), documents)
