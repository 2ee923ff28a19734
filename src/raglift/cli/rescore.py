"""`raglift rescore`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raglift.cli.evaluate import depths, print_result
from raglift.errors import ConfigurationError
from raglift.evaluation import rescore
from raglift.evaluation.options import DEFAULT_KS
from raglift.matching import MatchRule
from raglift.metrics.choosing import JUDGED
from raglift.store import check_free, load_evaluation

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.records import Evaluation, Metric

__all__ = ["Request", "run"]


@dataclass(frozen=True)
class Request:
    """The command line, parsed; None keeps what the run was scored by."""

    run: Path
    ks: str | None
    metrics: str | None
    profile: str | None
    match: str | None
    match_threshold: float | None
    save: Path | None
    overwrite: bool
    as_json: bool


def run(request: Request) -> None:
    """Load, score again, save, print."""
    if request.save is not None:
        check_free(request.save, overwrite=request.overwrite)
    evaluation = _rescored(load_evaluation(request.run), request)
    if request.save is not None:
        evaluation.save(request.save, overwrite=request.overwrite)
        sys.stderr.write(f"saved to {request.save}\n")
    print_result(evaluation, json=request.as_json)


def _rescored(evaluation: Evaluation, request: Request) -> Evaluation:
    known = evaluation.scores.metrics
    measures: list[Metric | str] = [part.strip() for part in (request.metrics or "").split(",") if part.strip()]
    if request.ks is not None:
        ks = depths(request.ks)
    else:
        ks = tuple(dict.fromkeys(metric.depth for metric in known if metric.depth is not None)) or DEFAULT_KS
    if not measures:  # as before, and at other depths where they are asked for
        measures = list(known if request.ks is None else dict.fromkeys(replace(metric, depth=None) for metric in known))
        if evaluation.dataset.shows_judged and not any(metric.name == JUDGED for metric in known):
            measures.append(JUDGED)
    match = _rule(evaluation, request)
    return rescore(evaluation, metrics=measures, ks=ks, match=match, profile=request.profile)


def _rule(evaluation: Evaluation, request: Request) -> MatchRule | None:
    """Return how to match; None for as before.

    Raises:
        ConfigurationError: a threshold without a way of matching.
    """
    if request.match is None:
        if request.match_threshold is not None:
            raise ConfigurationError(
                "--match-threshold: found it without --match; expected both, as --match coverage --match-threshold 0.7"
            )
        return None
    profile = evaluation.profile if request.profile is None else request.profile
    folding = bool(evaluation.run.spec["match"].get("unicode_folding", False))
    return MatchRule.for_profile(profile, request.match, threshold=request.match_threshold, unicode_folding=folding)
