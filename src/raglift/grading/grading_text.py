"""A model's grading in words: as text, and as a summary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.upper_bound import rule_of
from raglift.grading.agreement_records import Agreement, SystemAgreement, agreement_view
from raglift.grading.comparing import system_agreement
from raglift.grading.labels import labels_of_people
from raglift.grading.pooling import systems_of
from raglift.grading.rubrics import ANSWERS_FROM
from raglift.rendering.document import Document, Section, Table, row_of
from raglift.rendering.presenting import Presentable, view_of, whole
from raglift.report.format import percent_text
from raglift.running.scoring import rescore
from raglift.utilities.display import counted, listed
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.grading.grading import Evaluations, Graded
    from raglift.metrics.computing import Scores
    from raglift.types.dataset import Dataset
    from raglift.types.labels import Query


# Results of a model's grading: how many of each grade, the systems scored by them, and grades that gave no label.


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
    """How deep it is scored: the pool's depth, or that of the shortest run; None if no evaluation is at hand."""
    ndcg: float | None = None
    """NDCG at that depth under the labels that follow."""
    judged: float | None = None
    """Judged at that depth."""
    queries: int | None = None
    """How many queries these means are over."""


@dataclass(frozen=True, repr=False)
class GradingSummary(Presentable):
    """A model's grades, the labels that follow from them, and the systems under these."""

    graded: Graded
    labels: Dataset
    """What `Graded.to_dataset` made of the grades."""
    relevant_from: int
    filled: bool
    """Whether the labels that were there are among them."""
    systems: tuple[GradedSystem, ...]
    agreement: Agreement | None = None
    """How far the grades agree with the labels of people; None if people labelled none of the queries."""
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


def summarize(
    graded: Graded, evaluations: Evaluations | None, *, relevant_from: int = 1, fill: bool = False
) -> GradingSummary:
    """Return what the grades come to."""
    rule = rule_of(next(iter(systems_of(evaluations).values()))[0]) if evaluations else None
    labels = graded.to_dataset(relevant_from=relevant_from, fill=fill, rule=rule)
    people = [labels_of_people(entry.query) for entry in graded.pool.queries]
    has_people = any(query.is_labelled for query in people)
    has_order = has_people and len(graded.pool.systems) > 1
    return GradingSummary(
        graded=graded,
        labels=labels,
        relevant_from=relevant_from,
        filled=fill,
        systems=graded_systems(graded, labels, evaluations),
        agreement=graded.agreement(relevant_from=relevant_from, rule=rule) if has_people else None,
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


# Summary of a model's grades: how many of each, the systems scored by them, and ungraded chunks.


_SHOWN = 20


def grading_view(summary: GradingSummary) -> Document:
    """Return what is shown of a model's grades."""
    graded, measured = summary.graded, _measured(summary.graded)
    return Document(
        title=f"{graded.pool.name}: {counted(len(graded.pool), 'pair')} graded by {graded.annotator.model}",
        lead=(
            f"The first {graded.pool.depth} hits of {counted(len(graded.pool.systems), 'ranking')} of "
            f"{counted(len(graded.pool.queries), 'question')}, on a scale from 0 to {graded.scale}."
        ),
        headline=_grades(graded),
        measured=measured,
        warnings=tuple(_warnings(summary)),
        notes=tuple(_notes(summary)),
        sections=tuple(_sections(summary)),
        about=tuple(f"{name}: {value}" for name, value in measured),
    )


def _grades(graded: Graded) -> Table:
    """Return how many pairs have each grade, the best first."""
    total = max(len(graded.pool), 1)
    rows = [(str(grade), count) for grade, count in sorted(graded.counts.items(), reverse=True)]
    rows += [("none", len(graded.not_graded))] if graded.not_graded else []
    cells = tuple(row_of((name, f"{count:,}", percent_text(count / total))) for name, count in rows)
    return Table("Pairs of each grade", ("grade", "pairs", "share"), cells)


def _sections(summary: GradingSummary) -> Iterator[Section]:
    graded = summary.graded
    yield Section("Systems under these grades", tables=(_systems(summary.systems, graded.pool.depth),))
    for found in (summary.agreement, summary.order):
        if found is not None:
            agreement = agreement_view(found)
            tables = [table for section in agreement.sections for table in section.tables]
            yield Section(
                agreement.title, tuple(filter(None, (agreement.lead, *agreement.notes))), (*tables, agreement.headline)
            )
    if graded.not_graded:
        rows = tuple(
            row_of((each.query.id, quoted(each.pooled.chunk.text), each.reason)) for each in graded.not_graded[:_SHOWN]
        )
        more = len(graded.not_graded) - len(rows)
        rest = (f"and {more:,} more",) if more else ()
        table = Table("Pairs without a grade", ("question", "chunk", "why"), rows, text_columns=(0, 1, 2))
        yield Section(f"Without a grade: {len(graded.not_graded):,}", rest, (table,))


def _systems(systems: Sequence[GradedSystem], depth: int) -> Table:
    columns: tuple[str, ...] = ("system", f"mean grade of {depth}", "graded")
    k = next((each.k for each in systems), None)
    columns += (f"NDCG@{k}", f"Judged@{k}", "questions") if k is not None else ()
    rows = []
    for each in systems:
        cells = [each.name, _figure(each.mean_grade), f"{each.n:,}"]
        if k is not None:
            cells += [_figure(each.ndcg), _figure(each.judged), f"{each.queries or 0:,}"]
        rows.append(row_of(cells))
    return Table("Systems under these grades", columns, tuple(rows))


def _figure(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def _measured(graded: Graded) -> tuple[tuple[str, str], ...]:
    usage = graded.usage
    tokens = f"{usage.input:,} tokens in, {usage.output:,} out"
    cached = f", {counted(graded.cached, 'answer')} from the cache" if graded.cached else ""
    asked = f"{counted(graded.asked, 'prompt')}{cached}; {tokens}"
    return (("judge", str(graded.annotator)), ("asked", asked))


def _warnings(summary: GradingSummary) -> Iterator[str]:
    graded, model = summary.graded, summary.graded.annotator.model
    if summary.filled:
        yield f"{summary.labels.label_sources}: figures under them are nobody's alone"
    else:
        yield f"all of these labels are by {model}: no person has seen them"
    if graded.not_graded:
        yield f"{counted(len(graded.not_graded), 'pair')} without a grade: no labels, and unjudged in every figure"
    if summary.answered_after_all:
        yield (
            f"marked as unanswerable, but with chunks that answer (grade {summary.answers_from} or more), so look at "
            f"them; they stay unanswerable, without facts: {listed(summary.answered_after_all, _SHOWN)}"
        )


def _notes(summary: GradingSummary) -> Iterator[str]:
    labels = summary.labels
    facts = sum(len(query.facts) for query in labels)
    passages = sum(len(fact.passages) for query in labels for fact in query.facts)
    irrelevant = sum(len(query.judged_irrelevant) for query in labels)
    yield (
        f"labels: {counted(facts, 'fact')} with {counted(passages, 'passage')} (grade {summary.relevant_from} or more) "
        f"and {irrelevant:,} judged irrelevant"
    )
    if summary.without_facts:
        yield f"no relevant chunk found, so excluded from all averages: {listed(summary.without_facts, _SHOWN)}"


view_of.register(GradingSummary, whole(grading_view))
