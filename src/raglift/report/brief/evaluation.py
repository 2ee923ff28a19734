"""One system in short: what the reranker did, where recall is lost, and the queries that moved most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.comparison import reranker_lift
from raglift.comparison.cautions import few_queries, read_in_part
from raglift.comparison.statistics import primary_of
from raglift.diagnosis import headroom, loss_breakdown
from raglift.diagnosis.rejudged import judgements_of, rule_of
from raglift.errors import ConfigurationError
from raglift.metrics import mean_title
from raglift.rendering.document import Document, Section
from raglift.report.format import level
from raglift.report.page.evaluation import headline, metrics_section, moved_table
from raglift.report.page.measured import measured
from raglift.report.page.parts import loss_table
from raglift.report.terminal.curves import over_k_table
from raglift.report.terminal.diagnosis import headroom_line
from raglift.report.terminal.evaluation import evaluation_table
from raglift.report.words import depth_of_loss, evaluation_sentence
from raglift.significance import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.records import Metric
    from raglift.result_records import EvaluationRecord, LiftRecord

__all__ = ["evaluation_brief", "lift_brief", "loss_section"]


def evaluation_brief(evaluation: EvaluationRecord, primary: Metric | str | None = None) -> Document:
    """Return an evaluation in short.

    Args:
        evaluation: what was measured.
        primary: the metric that decides; by default as for a page.

    Raises:
        ConfigurationError: the metric was not scored, or is no measure of quality.
    """
    evaluation = replace(evaluation, judgements=judgements_of(evaluation))  # matched once, for all that asks
    try:
        decides = primary_of(primary, evaluation.scores.metrics)
    except ConfigurationError:
        if primary is not None:
            raise
        return _figures_alone(evaluation)
    if len(evaluation.scores.stages) > 1:
        return lift_brief(reranker_lift(evaluation, primary=decides))
    return Document(
        title=_title(evaluation),
        lead=evaluation_sentence(evaluation, None, decides, CONFIDENCE),
        headline=headline(evaluation, None, decides, CONFIDENCE),
        measured=measured(evaluation, decides, match=str(rule_of(evaluation))),
        warnings=(
            *few_queries(evaluation.scores.n(evaluation.after, decides)),
            *read_in_part(evaluation),
        ),
        notes=evaluation.notes,
        labels=str(evaluation.label_sources),
        sections=(
            *_sections(evaluation, decides),
            replace(metrics_section(evaluation, None, CONFIDENCE), folded=True),
        ),
    )


def lift_brief(lift: LiftRecord) -> Document:
    """Return what reranking changed, in short."""
    evaluation, confidence = lift.evaluation, lift.method.confidence
    method = f"{lift.method.text}; seed {lift.method.seed}; confidence {level(lift.method)}"
    return Document(
        title=_title(evaluation),
        lead=evaluation_sentence(evaluation, lift, lift.primary, confidence),
        headline=headline(evaluation, lift, lift.primary, confidence),
        measured=(*measured(evaluation, lift.primary, match=str(rule_of(evaluation))), ("Method", method)),
        warnings=lift.warnings,
        notes=tuple(note for note in evaluation.notes if note not in lift.warnings),
        labels=str(evaluation.label_sources),
        sections=(
            *_sections(evaluation, lift.primary),
            *_moved(lift),
            replace(metrics_section(evaluation, lift, confidence), folded=True),
        ),
    )


def loss_section(evaluation: EvaluationRecord, primary: Metric) -> Section | None:
    """Return where recall was lost; None where no query is labelled."""
    k = depth_of_loss(evaluation, primary)
    losses = loss_breakdown(evaluation, k)
    if not losses.facts:
        return None
    return Section(
        "Where recall was lost", (f"{headroom_line(headroom(evaluation, k))}.",), (loss_table({"": losses}),)
    )


def _title(evaluation: EvaluationRecord) -> str:
    return f"{evaluation.dataset.name}: {' → '.join(evaluation.scores.stages)}"


def _figures_alone(evaluation: EvaluationRecord) -> Document:
    """Return an evaluation of which no measure says how good it is."""
    stages = tuple((f"Stage {stage.name}", stage.system) for stage in evaluation.run.stages)
    labels = str(evaluation.label_sources)
    return Document(_title(evaluation), "", evaluation_table(evaluation), stages, notes=evaluation.notes, labels=labels)


def _sections(evaluation: EvaluationRecord, primary: Metric) -> Iterator[Section]:
    curve = over_k_table(evaluation)
    if curve is not None:
        yield Section(curve.caption, tables=(curve,))
    lost = loss_section(evaluation, primary)
    if lost is not None:
        yield lost


def _moved(lift: LiftRecord) -> Iterator[Section]:
    """Yield the queries that moved most, folded: those that lost first."""
    name = mean_title(lift.primary)
    for where, rows, verb in (("down", lift.down, "lowered"), ("up", lift.up, "raised")):
        if rows:
            table = moved_table(lift, where, rows)
            yield Section(f"Queries of which reranking {verb} {name} most: {len(rows)}", tables=(table,), folded=True)
