"""An evaluation as the records of other tools, in memory."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

from raglift.errors import ConfigurationError, MissingDependency
from raglift.storage.rankings.export_labels import labels_of
from raglift.storage.rankings.write import IdRankings

if TYPE_CHECKING:
    from raglift.analysis.records import EvaluationRecord


class InRanx(NamedTuple):
    """An evaluation as ranx has it: `qrels, runs = evaluation.to_ranx()`."""

    qrels: Any
    """A `ranx.Qrels` of the labelled queries."""
    runs: dict[str, Any]
    """For each stage, a `ranx.Run` of the labelled queries, named as the stage."""


class InIrMeasures(NamedTuple):
    """An evaluation as ir_measures has it: `qrels, runs = evaluation.to_ir_measures()`."""

    qrels: list[Any]
    """`ir_measures.Qrel` records."""
    runs: dict[str, list[Any]]
    """For each stage, its `ir_measures.ScoredDoc` records."""


def to_ranx(evaluation: EvaluationRecord) -> InRanx:
    """Return an evaluation's labels and rankings as ranx has them.

    Queries without labels are left out, and those that nothing came back for have an empty result, so that ranx takes
    the two as they are.

    Args:
        evaluation: from `evaluate` or `load_evaluation`.

    Raises:
        ConfigurationError: no query has labels.
        MissingDependency: ranx is not installed.
    """
    ranx = _imported("ranx")
    grades = labels_of(evaluation).grades
    if not grades:
        raise ConfigurationError("to_ranx: found no query with labels; expected one at least: ranx has no empty qrels")
    qrels = ranx.Qrels({query: dict(of_query) for query, of_query in grades.items()}, name=evaluation.dataset.name)
    runs = {}
    for stage in evaluation.scores.stages:
        found = {
            query: dict(zip(ids, scores, strict=True))
            for query, ids, scores in IdRankings.of_stage(evaluation.run, stage)
            if ids and query in grades
        }
        # An empty dictionary is none that ranx can make a run of
        run = ranx.Run(found, name=stage) if found else ranx.Run(name=stage)
        runs[stage] = run.make_comparable(qrels)
    return InRanx(qrels, runs)


def to_ir_measures(evaluation: EvaluationRecord) -> InIrMeasures:
    """Return an evaluation's labels and rankings as ir_measures has them.

    Args:
        evaluation: from `evaluate` or `load_evaluation`.

    Raises:
        MissingDependency: ir_measures is not installed.
    """
    ir_measures = _imported("ir_measures")
    qrels = [
        ir_measures.Qrel(query, each, grade)
        for query, of_query in labels_of(evaluation).grades.items()
        for each, grade in of_query.items()
    ]
    runs = {
        stage: [
            ir_measures.ScoredDoc(query, each, score)
            for query, ids, scores in IdRankings.of_stage(evaluation.run, stage)
            for each, score in zip(ids, scores, strict=True)
        ]
        for stage in evaluation.scores.stages
    }
    return InIrMeasures(qrels, runs)


def _imported(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingDependency(package, None, f"an evaluation as {package} has it") from None
