"""What a model's grades come to: how many of each, how systems do under them, and what became no label."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.diagnosis.rejudged import rule_of
from raglift.evaluation import rescore
from raglift.judging.agreement import labels_by_people, system_agreement
from raglift.judging.grading.rubrics import ANSWERS_FROM
from raglift.judging.pooling.labelled import label_grades
from raglift.judging.pooling.pool import systems_of

if TYPE_CHECKING:
    from raglift.judging.agreement import Agreement, SystemAgreement
    from raglift.judging.grading.graded import Evaluations, Graded
    from raglift.matching import MatchRule
    from raglift.records import Dataset, Query
    from raglift.result_records import Scores

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
    k: int | None = None
    """How deep it is scored: the pool's depth, or that of the shortest run; None where no evaluation is at hand."""
    ndcg: float | None = None
    """NDCG at that depth under the labels that follow."""
    judged: float | None = None
    """Judged at that depth."""
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
    agreement: Agreement | None = None
    """How far the grades agree with the labels of people; None where people labelled none of the queries."""
    rule: MatchRule | None = None
    """By which chunks match labels; None for containment, where no evaluation is at hand."""
    order: SystemAgreement | None = None
    """Whether the grades alone put the systems in the order that the labels of people put them in; None likewise."""

    @property
    def without_facts(self) -> tuple[str, ...]:
        """The ids of the queries that these labels leave without facts, of those not marked as unanswerable."""
        return tuple(query.id for query in self.labels if query.answerable and not query.facts)

    @property
    def answered_after_all(self) -> tuple[str, ...]:
        """The ids of the queries that are marked as unanswerable, and of which a chunk answers by its grade."""
        return tuple(
            entry.query.id
            for entry, row in zip(self.graded.pool.queries, self.graded.known, strict=True)
            if not entry.query.answerable and any(grade is not None and grade >= self.answers_from for grade in row)
        )

    @property
    def answers_from(self) -> int:
        """The lowest grade that says that a chunk answers, and is not only related."""
        return max(ANSWERS_FROM[self.graded.scale], self.relevant_from)

    @property
    def read_otherwise(self) -> int | None:
        """How many graded pairs have another grade by the labels, for they overlap with chunks of other grades.

        None where the labels that were there are among them: then it may be these that say otherwise.
        """
        if self.filled:
            return None
        by_labels = label_grades(self.graded.pool, self.labels.queries, self.rule)
        return sum(
            grade is not None and label != (grade if grade >= self.relevant_from else 0)
            for entry, row, labels in zip(self.graded.pool.queries, self.graded.known, by_labels, strict=True)
            for grade, label in zip(row, labels, strict=True)
            if entry.query.answerable
        )

    def to_markdown(self) -> str:
        """Return the summary as GitHub's Markdown, for a pull request."""
        from raglift.judging.grading.brief import grading_brief
        from raglift.rendering.markdown import markdown_of

        return markdown_of(grading_brief(self))

    def _repr_html_(self) -> str:
        from raglift.judging.grading.brief import grading_brief
        from raglift.rendering.notebook import html_of

        return html_of(grading_brief(self))

    def __str__(self) -> str:
        from raglift.judging.grading.brief import grading_text

        return grading_text(self)


def summarize(
    graded: Graded, evaluations: Evaluations | None, *, relevant_from: int = 1, fill: bool = False
) -> GradingSummary:
    """Return what the grades come to.

    Args:
        graded: the grades.
        evaluations: those that were pooled, to be scored under the labels; or none.
        relevant_from: the lowest grade that makes a passage of a fact.
        fill: keep the labels that the queries have.
    """
    rule = rule_of(next(iter(systems_of(evaluations).values()))[0]) if evaluations else None
    labels = graded.to_dataset(relevant_from=relevant_from, fill=fill, rule=rule)
    people = labels_by_people([entry.query for entry in graded.pool.queries])
    has_people = any(query.is_labelled for query in people)
    has_order = has_people and len(graded.pool.systems) > 1
    return GradingSummary(
        graded=graded,
        labels=labels,
        relevant_from=relevant_from,
        filled=fill,
        systems=graded_systems(graded, labels, evaluations),
        agreement=graded.agreement(relevant_from=relevant_from, rule=rule) if has_people else None,
        rule=rule,
        order=_order(graded, people, evaluations, relevant_from) if evaluations and has_order else None,
    )


def graded_systems(graded: Graded, labels: Dataset, evaluations: Evaluations | None) -> tuple[GradedSystem, ...]:
    """Return how each pooled system does by the grades and, where the evaluations are given, under the labels."""
    found = [_by_grades(graded, name) for name in graded.pool.systems]
    if not evaluations:
        return tuple(found)
    scored: dict[int, Scores] = {}
    k = _depth(graded, evaluations)
    for number, (evaluation, stage) in enumerate(systems_of(evaluations).values()):
        if id(evaluation) not in scored:
            rescored = rescore(evaluation, metrics=("ndcg", "judged"), ks=(k,), labels=labels)
            scored[id(evaluation)] = rescored.scores
        scores = scored[id(evaluation)]
        name, (ndcg, judged) = scores.stages[stage], scores.metrics
        found[number] = replace(
            found[number],
            k=k,
            ndcg=scores.mean(name, ndcg),
            judged=scores.mean(name, judged),
            queries=scores.n(name, ndcg),
        )
    return tuple(found)


def _by_grades(graded: Graded, system: str) -> GradedSystem:
    """Return the mean grade of a system's pooled hits."""
    grades = [
        grade
        for entry, row in zip(graded.pool.queries, graded.known, strict=True)
        for pooled, grade in zip(entry.chunks, row, strict=True)
        if system in pooled.ranks and grade is not None
    ]
    return GradedSystem(system, float(np.mean(grades)) if grades else math.nan, len(grades))


def _order(graded: Graded, people: list[Query], evaluations: Evaluations, relevant_from: int) -> SystemAgreement:
    """Return the order of the systems under the labels of people and under the model's alone."""
    metric = f"ndcg@{_depth(graded, evaluations)}"
    model = graded.to_dataset(relevant_from=relevant_from)
    return system_agreement(evaluations, people, model, metric=metric, judge=graded.annotator.model)


def _depth(graded: Graded, evaluations: Evaluations) -> int:
    """Return how deep systems are scored, all alike: as deep as was graded, where the runs are so deep."""
    return min(graded.pool.depth, *(int(each.run.spec["candidates"]) for each, _ in systems_of(evaluations).values()))
