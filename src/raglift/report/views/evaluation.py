"""What is shown of one evaluation: the effect of the reranker, where recall was lost, and the figures behind both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from raglift.analysis.explanation import has_curve
from raglift.analysis.lift import evaluation_by_tag
from raglift.analysis.paired_statistics import method_of, primary_of
from raglift.analysis.shared_queries import system_name
from raglift.analysis.upper_bound import rule_of
from raglift.analysis.warnings import cannot_read
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title, title
from raglift.rendering.document import Cell, Column, Detail, Document, Example, Figure, Section, Table, Tile, table_from
from raglift.report.cells import (
    decided_cell,
    difference_cell,
    mean_cell,
    p_cell,
    stage_mean_cell,
    test_cells,
    verdict_cell,
)
from raglift.report.charts.plots import EvaluationPlots
from raglift.report.findings import Findings, findings
from raglift.report.format import (
    confidence_text,
    decimals_of,
    level,
    marks,
    method_text,
    rule_in_words,
    shown_stage,
    signed,
    stage_title,
)
from raglift.report.sentences import (
    BEYOND_CANDIDATES,
    EXPLORATORY,
    detectable_effect_sentence,
    failure_sentence,
    failures_table,
    lift_sentence,
    next_step,
    one_stage_sentence,
    over_candidates_sentence,
)
from raglift.report.views.measured import candidates_of, cost_section, measured, queries_text
from raglift.report.views.parts import (
    causes_in_words,
    failure_table,
    few_metrics,
    few_text,
    has_tags,
    lines_between,
    marks_explained,
    moved_table,
    primary_sentence,
    slices_table,
    truncation,
)
from raglift.report.views.sessions import session_next_step, session_sentence, session_shares, sessions_section
from raglift.report.views.tiles import evaluation_tiles, shares_of
from raglift.stats.intervals import CONFIDENCE
from raglift.utilities.display import BEYOND, TRUNCATED, counted

if TYPE_CHECKING:
    from raglift.analysis.outcomes import OutcomeFacts
    from raglift.analysis.records import Lift, LiftRow, MovedQuery
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric


_QUERIES_NAMED = 20


def evaluation_view(
    evaluation: Evaluation,
    primary: Metric | str | None = None,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    detail: Detail = Detail.DETAILS,
) -> Document:
    """Return what is shown of an evaluation."""
    method_of(seed, confidence)  # raises for what is outside its range
    try:
        decides = primary_of(primary, evaluation.scores.metrics, evaluation.depth_limit)
    except ConfigurationError:
        if primary is not None:
            raise
        return _figures_alone(evaluation)
    return _document(findings(evaluation, decides, seed=seed, confidence=confidence), detail)


def lift_view(lift: Lift, *, detail: Detail = Detail.DETAILS) -> Document:
    """Return what is shown of a reranker lift: the evaluation in detail, by the lift's metric, seed and confidence."""
    detail, method = max(detail, Detail.DETAILS), lift.method
    found = findings(lift.evaluation, lift.primary, seed=method.seed, confidence=method.confidence)
    # The lift itself may name more queries, or fewer
    view = _document(replace(found, lift=lift), detail)
    return replace(view, measured=tuple(_method_row(lift)), printed=Detail.DETAILS)


def _document(found: Findings, detail: Detail) -> Document:
    evaluation, lift, primary, searched = found.evaluation, found.lift, found.primary, found.sessions
    lead = one_stage_sentence(evaluation, primary, found.confidence) if lift is None else lift_sentence(lift)
    if searched is not None:  # an agent: what it found comes before what a reranker changed
        lead = " ".join(filter(None, [session_sentence(searched), "" if lift is None else lead])) or lead
    first = evaluation_headline(evaluation, lift, primary, found.confidence)
    tiles: tuple[Tile, ...] = ()
    if found.all_failed:
        lead, first = failure_sentence(evaluation), replace(first, rows=())
    else:
        tiles = evaluation_tiles(found)
    rule = rule_of(evaluation)
    shares = shares_of(found.losses) if searched is None else session_shares(searched)
    return Document(
        title=_title(evaluation),
        lead=lead,
        headline=first,
        about=_about(evaluation, str(rule)),
        measured=(*measured(evaluation, primary, match=rule_in_words(rule)), *_method_row(lift)),
        warnings=found.warnings,
        notes=(*(_marks(evaluation, primary) if first.rows else ()), *found.notes),
        sections=tuple(_sections(found, detail)),
        labels=str(evaluation.label_sources),
        tiles=tiles,
        shares=shares if tiles else (),
        next_step=_next_step(found) if tiles else "",
        next_outcome=_next_outcome(found) if tiles else "",
        example=_example(found) if tiles else None,
    )


def _marks(evaluation: Evaluation, primary: Metric) -> tuple[str, ...]:
    """Return an explanation of each mark of the figures on the first screen."""
    chosen, stages = _few(evaluation, primary, evaluation.scores.metrics), (evaluation.before, evaluation.after)
    return marks_explained(
        truncated=any(evaluation.is_truncated(stage, metric) for stage in stages for metric in chosen),
        beyond=any(evaluation.is_beyond_candidates(evaluation.after, metric) for metric in chosen),
    )


def _few(evaluation: Evaluation, primary: Metric, known: Sequence[Metric]) -> list[Metric]:
    return few_metrics(primary, known, evaluation.named_metrics(primary))


def _method_row(lift: Lift | None) -> list[tuple[str, str]]:
    return [] if lift is None else [("Method", method_text(lift.method))]


def _about(evaluation: Evaluation, match: str) -> tuple[str, ...]:
    profile = "" if evaluation.profile == "default" else f"; {evaluation.profile} conventions"
    candidates = counted(candidates_of(evaluation.run.spec), "candidate")
    if evaluation.run.has_sessions:
        candidates = counted(sum(len(trace.calls or ()) for trace in evaluation.run.traces), "search")
    return (f"{queries_text(evaluation.dataset)}; {candidates}; match by {match}{profile}",)


def _figures_alone(evaluation: Evaluation) -> Document:
    """Return an evaluation of which no measure says how good it is."""
    stages = tuple((stage_title(stage.name), stage.system) for stage in evaluation.run.stages)
    return Document(
        _title(evaluation),
        "",
        table_from(_stage_columns(evaluation, CONFIDENCE), evaluation.scores.metrics, "Every metric"),
        stages,
        about=_about(evaluation, str(rule_of(evaluation))),
        notes=evaluation.notes,
        labels=str(evaluation.label_sources),
    )


def _sections(found: Findings, detail: Detail) -> Iterator[Section]:
    """Yield what follows the headline; of a run that failed whole, no charts and tables full of zeros."""
    evaluation, lift, primary = found.evaluation, found.lift, found.primary
    failed = failures_table(evaluation, most=_QUERIES_NAMED)
    measured_any = not found.all_failed
    sections: list[Section | None] = []
    if measured_any:
        sections.append(None if found.sessions is None else sessions_section(found.sessions))
        lost = failure_section(found)
        if lost is not None and found.sessions is not None:  # their own section says it call by call
            lost = replace(lost, detail=Detail.DETAILS)
        sections.append(lost)
        sections.append(None if lift is None else candidates_section(lift))
    if failed is not None:
        sections.append(Section(failed.caption, tables=(failed,), detail=Detail.DETAILS))
    if measured_any:
        sections.append(cost_section(evaluation))
    if measured_any and detail >= Detail.DETAILS:
        sections.append(None if lift is None else _lift_section(lift))
        sections.append(_over_k_section(evaluation, primary))
        sections.append(_tags_section(found))
        sections.append(metrics_section(evaluation, lift, found.confidence))
    yield from (section for section in sections if section is not None and section.detail <= detail)


def _over_k_section(evaluation: Evaluation, primary: Metric) -> Section | None:
    """Return the primary metric over k; None if it has no curve."""
    if not has_curve(primary):
        return None
    measure = replace(primary, depth=None)
    figure = Figure(
        f"{mean_title(measure)} over k",
        partial(EvaluationPlots(evaluation).over_k, measure),
        "Each line is a stage; the gap between two at one k is the lift at that depth.",
    )
    return Section("Quality by depth (k)", figures=(figure,), detail=Detail.DETAILS)


def _title(evaluation: Evaluation) -> str:
    return f"{evaluation.dataset.name}: {system_name(evaluation)}"


def evaluation_headline(evaluation: Evaluation, lift: Lift | None, primary: Metric, confidence: float) -> Table:
    """Return the figures of the first screen: a handful of metrics before and after, with their intervals."""
    chosen = _few(evaluation, primary, evaluation.scores.metrics)
    columns, caption = (
        _stage_columns(evaluation, confidence),
        f"{shown_stage(evaluation, evaluation.before)}, with intervals",
    )
    if lift is not None:
        columns, caption = _lift_columns(lift, "before"), "Before and after reranking, with intervals"
        columns.append(Column("", lambda metric: _verdict_cell(lift.row(metric)), words=True))
    return table_from(columns, chosen, caption, confidence=confidence_text(confidence))


def _stage_columns(evaluation: Evaluation, confidence: float) -> list[Column[Metric]]:
    """Return the columns of a system of one stage."""
    return [
        Column("metric", mean_title, words=True),
        Column("mean", lambda metric: stage_mean_cell(evaluation, metric, confidence)),
        Column("questions", lambda metric: f"{evaluation.scores.n(evaluation.after, metric):,}"),
    ]


def _lift_columns(lift: Lift, before: str, *, over: str | None = None) -> list[Column[Metric]]:
    """Return the columns of means before and after reranking, with their intervals, the lift and its p-value."""
    row, alpha = partial(lift.row, over=over), lift.method.alpha

    def after(metric: Metric) -> Cell:
        found = row(metric)
        marked = TRUNCATED * found.truncated + BEYOND * bool(found.beyond_candidates)
        return mean_cell(metric, found.after, found.after_interval, marked, drawn=False)

    def change(metric: Metric) -> Cell:
        found = row(metric)
        return difference_cell(metric, found.difference, alpha=alpha) if found.exploratory else decided_cell(found)

    def p(metric: Metric) -> Cell:
        found = row(metric).difference
        return p_cell(None if found is None or not found.n else found.p)

    return [
        Column("metric", mean_title, words=True),
        Column(before, lambda metric: mean_cell(metric, row(metric).before, row(metric).before_interval, drawn=False)),
        Column("after", after),
        Column("lift", change),
        Column("p", p),
    ]


def _verdict_cell(row: LiftRow) -> Cell:
    return Cell("exploratory", "muted") if row.exploratory else verdict_cell(row.verdict)


def metrics_section(evaluation: Evaluation, lift: Lift | None, confidence: float) -> Section:
    """Return every metric at every depth."""
    metrics = evaluation.scores.metrics
    marked = any(evaluation.is_truncated(stage, metric) for stage in evaluation.scores.stages for metric in metrics)
    columns = _stage_columns(evaluation, confidence) if lift is None else _all_lift_columns(lift)
    table = table_from(columns, metrics, "Every metric at every depth", confidence=confidence_text(confidence))
    said = [] if lift is None else [primary_sentence(lift.primary)]
    said += truncation(marked=marked)
    if evaluation.beyond_candidates:
        said.append(f"{BEYOND} {BEYOND_CANDIDATES[0].upper()}{BEYOND_CANDIDATES[1:]}.")
    return Section(
        "All metrics",
        tuple(said),
        (replace(table, sections=lines_between(metrics)),),
        detail=Detail.DETAILS,
    )


def _all_lift_columns(lift: Lift) -> list[Column[Metric]]:
    """Return the columns of means after each stage and of the lift, with its test."""
    evaluation, alpha = lift.evaluation, lift.method.alpha

    def before(metric: Metric) -> Cell:  # on the queries that count on both sides
        return mean_cell(metric, lift.row(metric).before, None, marks(evaluation, evaluation.before, metric))

    def after(metric: Metric) -> Cell:
        return mean_cell(metric, lift.row(metric).after, None, marks(evaluation, evaluation.after, metric))

    def between(stage: str) -> Column[Metric]:
        means = evaluation.scores.mean
        return Column(stage, lambda one: mean_cell(one, means(stage, one), None, marks(evaluation, stage, one)))

    def test(place: int) -> Callable[[Metric], Cell]:
        return lambda metric: test_cells(metric, lift.row(metric).difference, alpha=alpha)[place]

    def over_candidates(metric: Metric) -> Cell:
        return difference_cell(metric, lift.row(metric, over=evaluation.candidates).difference, alpha=alpha)

    columns: list[Column[Metric]] = [
        Column("metric", mean_title, words=True),
        Column(f"before ({shown_stage(evaluation, evaluation.before)})", before),
        *map(between, evaluation.scores.stages[1:-1]),
        Column(f"after ({evaluation.after})", after),
        Column("lift", test(0)),
        Column("p (unadjusted)", test(1)),
        Column("win/tie/loss", test(2), optional=True),
    ]
    if evaluation.candidates is not None:
        columns.append(Column("over candidates", over_candidates))
    return [*columns, Column("questions", lambda metric: f"{lift.row(metric).n:,}", optional=True)]


def _lift_section(lift: Lift) -> Section | None:
    """Return the lift of each query, and the queries that moved most; None if there is no fair pair."""
    found = lift.row().difference
    if found is None or not found.n:
        return None
    name = title(lift.primary)
    row = lift.row()
    said = (
        f"{name} improved for {counted(found.wins, 'question')}, got worse for {found.losses:,} and stayed the same "
        f"for {found.ties:,}; effect size {signed(found.effect_size, 2)}."
    )
    paragraphs = [said]
    if row.minimum_detectable_effect is not None:
        paragraphs.append(detectable_effect_sentence(f"{row.minimum_detectable_effect:.3f}", mean_title(lift.primary)))
    tables = [
        moved_table(f"The questions that moved {where} most", lift.primary, map(_moved, rows), "first fact at rank")
        for where, rows in (("up", lift.up), ("down", lift.down))
        if rows
    ]
    figure = Figure(
        f"Lift in {name}, question by question",
        partial(EvaluationPlots(lift.evaluation).lift, lift.primary),
        "Each bar is one question: up where reranking helped, down where it hurt.",
    )
    return Section("Winners and losers", tuple(paragraphs), tuple(tables), (figure,), detail=Detail.DETAILS)


def _moved(one: MovedQuery) -> tuple[str, str, float, float, str]:
    ranks = f"{one.rank_before or 'none'} → {one.rank_after or 'none'}"
    return one.query_id, one.text, one.before, one.after, ranks


def candidates_section(lift: Lift) -> Section | None:
    """Return the lift over the candidates, where they are a stage of their own; None otherwise."""
    chosen = _few(lift.evaluation, lift.primary, [row.metric for row in lift.over_candidates])
    if not lift.over_candidates:
        return None
    evaluation = lift.evaluation
    said = (
        f"Asked for more hits, the system ranks otherwise. Lifts elsewhere are over {evaluation.before}, the system as "
        "deployed. These are over the candidates that the reranker got: what it alone changed. They are exploratory, "
        "and p-values are not adjusted."
    )
    columns = _lift_columns(lift, "candidates", over=evaluation.candidates)
    table = table_from(columns, chosen, "Candidates and after reranking", confidence=level(lift.method))
    return Section("Lift over the candidates", tuple(filter(None, [over_candidates_sentence(lift), said])), (table,))


def failure_section(found: Findings) -> Section | None:
    """Return where recall was lost; None if no query is labelled."""
    losses = found.losses
    if not losses.facts:
        return None
    said = [_next_step(replace(found, sessions=None)), f"{found.upper_bound.sentence}."]
    said += [
        f"{counted(loss.facts, 'fact')} of these only since {loss.stage}: no candidate held them."
        for loss in losses.made_findable
    ]
    said += causes_in_words(losses)
    return Section(
        "Where recall was lost",
        tuple(said),
        (failure_table({"": losses}),),
    )


def _next_step(found: Findings) -> str:
    """Return what to try next: what `repairs` proposes, which was really tried, or what the losses suggest."""
    known = found.evaluation.known_repairs
    if known is None or not known.proposals:
        return _suggested_step(found)
    best = known.proposals[0]
    return f"Next: try {best.title}: {best.effect}."


def _suggested_step(found: Findings) -> str:
    """Return what to try next: another model where one cannot read the texts, no reranker where it hurts."""
    evaluation, lift, searched, losses = found.evaluation, found.lift, found.sessions, found.losses
    for known in (one for stage in evaluation.run.stages for one in stage.vocabularies):
        if better := cannot_read(known):
            return f"Next: use {better}: {known.model} cannot read these texts."
    row = None if lift is None else lift.row()
    if row is not None and row.verdict == "worse":
        name, decimals = mean_title(row.metric), decimals_of(row.metric)
        means = f"{row.before:.{decimals}f} instead of {row.after:.{decimals}f}"
        return f"Next: leave the reranker out, or try another one: without it {name} is {means}."
    if searched is not None and (advice := session_next_step(searched)):
        return advice
    lost = _lost(found)
    has_reranker = len(evaluation.scores.stages) > 1
    return next_step(
        losses.facts,
        lost,
        losses.k,
        has_reranker=has_reranker,
        tried=system_name(evaluation),
        requested=candidates_of(evaluation.run.spec),
    )


def _lost(found: Findings) -> list[OutcomeFacts]:
    """Return the outcomes of the facts that are not found, the commonest first."""
    losses = found.losses.losses if found.sessions is None else found.sessions.losses
    return sorted((one for one in losses if one.facts and one.outcome != "found"), key=lambda one: -one.facts)


def _next_outcome(found: Findings) -> str:
    """Return the outcome that the next step is about; empty where it is about another model or no reranker."""
    lost = _lost(found)
    return "" if not lost or _next_step(found).startswith(_NOT_OF_FACTS) else lost[0].outcome


_NOT_OF_FACTS = ("Next: use ", "Next: leave ", "Next: look at latency ", "Next: ask ")
"""How a next step begins that is not about the facts that are lost as most are."""
_LONGEST_EXAMPLE = 140


def _example(found: Findings) -> Example | None:
    """Return a question whose fact is lost as most are, one that is short if there is one; None if nothing is."""
    lost = _lost(found)
    if not lost or not lost[0].query_ids:
        return None
    queries = [found.evaluation.dataset.query(query_id) for query_id in lost[0].query_ids]
    query = next((one for one in queries if len(one.text) <= _LONGEST_EXAMPLE), queries[0])
    k = found.losses.k
    said = {
        "failed": "it failed",
        "below_k": f"its passage is ranked below {k}",
        "dropped": f"its passage was dropped by {lost[0].stage}",
        "not_retrieved": "its passage was not retrieved",
        "not_attainable": "its passage was lost in chunking",
        "missed": "its passage was not retrieved, or lost in chunking",
        "left_out": "its passage was found, and left out of the prompt",
        "asked": "its passage was searched for, but not retrieved",
        "never_asked": "its passage was never searched for",
    }[lost[0].outcome]
    return Example(query.id, query.text, said)


def _tags_section(found: Findings) -> Section | None:
    evaluation = found.evaluation
    slices = evaluation_by_tag(evaluation, found.primary, seed=found.seed, confidence=found.confidence)
    if not has_tags(slices):
        return None
    said = [EXPLORATORY, few_text(slices)]
    return Section("By tag", tuple(filter(None, said)), (slices_table(slices),), detail=Detail.DETAILS)
