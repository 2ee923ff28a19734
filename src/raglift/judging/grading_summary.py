"""What a model's grades come to: how many of each, how systems do under them, and what became no label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.evaluation import rescore
from raglift.judging.labelled import label_grades

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.judging.grading import Graded
    from raglift.records import Dataset, Evaluation

__all__ = ["GradedSystem", "GradingSummary", "graded_systems", "summarize"]


@dataclass(frozen=True)
class GradedSystem:
    """The first hits of one system at one stage, as they were graded."""

    name: str
    """As in the pool."""
    mean_grade: float
    """Over its pooled hits that have a grade; NaN without any."""
    n: int
    """How many those are."""
    ndcg: float | None = None
    """NDCG at the pool's depth under the labels that follow; None where no evaluation is at hand."""
    judged: float | None = None
    """Judged at that depth, likewise."""
    queries: int | None = None
    """How many queries these means are over."""


@dataclass(frozen=True)
class GradingSummary:
    """A model's grades, the labels that follow from them, and the systems under these."""

    graded: Graded
    labels: Dataset
    """What `Graded.to_dataset` made of the grades."""
    relevant_from: int
    filled: bool
    """Whether the labels that were there are among them."""
    systems: tuple[GradedSystem, ...]

    @property
    def without_facts(self) -> tuple[str, ...]:
        """The ids of the queries that these labels leave without facts, of those not marked as unanswerable."""
        return tuple(query.id for query in self.labels if query.answerable and not query.facts)

    @property
    def answered_after_all(self) -> tuple[str, ...]:
        """The ids of the queries that were marked as unanswerable, and of which a chunk was found relevant."""
        return tuple(
            entry.query.id
            for entry, row in zip(self.graded.pool.queries, self.graded.known, strict=True)
            if not entry.query.answerable and any(grade is not None and grade >= self.relevant_from for grade in row)
        )

    @property
    def read_otherwise(self) -> int:
        """How many graded pairs have another grade by the labels, for they overlap with chunks of other grades."""
        by_labels = label_grades(self.graded.pool, self.labels.queries)
        return sum(
            grade is not None and label != (grade if grade >= self.relevant_from else 0)
            for row, labels in zip(self.graded.known, by_labels, strict=True)
            for grade, label in zip(row, labels, strict=True)
        )

    def to_markdown(self) -> str:
        """Return the summary as GitHub's Markdown, for a pull request."""
        from raglift.judging.grading_brief import grading_brief
        from raglift.report.markdown.rendering import markdown_of

        return markdown_of(grading_brief(self))

    def _repr_html_(self) -> str:
        from raglift.judging.grading_brief import grading_brief
        from raglift.report.notebook import html_of

        return html_of(grading_brief(self))

    def __str__(self) -> str:
        from raglift.judging.grading_brief import grading_text

        return grading_text(self)


def summarize(
    graded: Graded, evaluations: Mapping[str, Evaluation], *, relevant_from: int = 1, fill: bool = False
) -> GradingSummary:
    """Return what the grades come to.

    Args:
        graded: the grades.
        evaluations: those that were pooled, in that order, to be scored under the labels; or none.
        relevant_from: the lowest grade that makes a passage of a fact.
        fill: keep the labels that the queries have.
    """
    labels = graded.to_dataset(relevant_from=relevant_from, fill=fill)
    systems = graded_systems(graded, labels, evaluations)
    return GradingSummary(graded, labels, relevant_from, fill, systems)


def graded_systems(graded: Graded, labels: Dataset, evaluations: Mapping[str, Evaluation]) -> tuple[GradedSystem, ...]:
    """Return how each pooled system does by the grades and, where the evaluations are given, under the labels."""
    scored = [figures for each in evaluations.values() for figures in _scored(each, labels, graded.pool.depth)]
    found = []
    for number, name in enumerate(graded.pool.systems):
        grades = [
            grade
            for entry, row in zip(graded.pool.queries, graded.known, strict=True)
            for pooled, grade in zip(entry.chunks, row, strict=True)
            if name in pooled.ranks and grade is not None
        ]
        mean = float(np.mean(grades)) if grades else math.nan
        found.append(GradedSystem(name, mean, len(grades), *(scored[number] if scored else ())))
    return tuple(found)


def _scored(evaluation: Evaluation, labels: Dataset, depth: int) -> list[tuple[float, float, int]]:
    """Return NDCG, Judged and how many queries count, at each stage of a run under other labels."""
    k = min(depth, int(evaluation.run.spec["candidates"]))
    scores = rescore(evaluation, metrics=("ndcg", "judged"), ks=(k,), labels=labels).scores
    ndcg, judged = scores.metrics
    return [(scores.mean(stage, ndcg), scores.mean(stage, judged), scores.n(stage, ndcg)) for stage in scores.stages]
