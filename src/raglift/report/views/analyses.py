"""What is shown of analyses: slices by tag, costs, failures, explanations, tuned settings and thresholds."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from raglift.analysis.answering import Abstention, AnsweredShare
from raglift.analysis.explanation import ExplainedHit, Explanation
from raglift.analysis.factors import FactorEffects
from raglift.analysis.outcomes import FailureAnalysis
from raglift.analysis.recommendation import Recommendation
from raglift.analysis.records import Lift, TagSlices, Tradeoff
from raglift.analysis.sessions import Agents, SessionAnalysis
from raglift.analysis.tuning import Tuning
from raglift.metrics.computing import mean_title, title
from raglift.rendering.document import Cell, Column, Detail, Document, Entry, Section, Table, row_of, table_from
from raglift.rendering.presenting import view_of, whole
from raglift.report.cells import figure_cell
from raglift.report.factors import effects_view
from raglift.report.format import (
    brackets,
    earned_lines,
    figure_text,
    interval_in_words,
    interval_text,
    number_text,
    overlap_text,
    p_equation,
    percent_text,
    signed,
    stage_title,
)
from raglift.report.recommendation import recommendation_view
from raglift.report.sentences import EXPLORATORY, failure_analysis_sentence
from raglift.report.views.comparison import tradeoff_sentences, tradeoff_table
from raglift.report.views.evaluation import lift_view
from raglift.report.views.parts import causes_in_words, failure_table, few_text, slices_table
from raglift.report.views.sessions import agents_view, sessions_view
from raglift.types.labels import Fact, LabelSources, passage_text
from raglift.utilities.display import counted, excerpt, listed

if TYPE_CHECKING:
    from raglift.types.metric import Calls, Metric, Tokens


_QUERIES = 3
"""As many queries are named."""


# One metric by tag, and quality against cost.


def slices_view(slices: TagSlices) -> Document:
    """Return slices by tag."""
    name = mean_title(slices.metric)
    notes = tuple(filter(None, [few_text(slices)]))
    if not slices.slices:
        return Document(f"{name} by tag", "No labelled question has a tag.", slices_table(slices), ())
    beside = f", and the difference to {slices.baseline}" if slices.baseline is not None else ""
    return Document(
        f"{name} by tag{beside}",
        EXPLORATORY,
        slices_table(slices),
        (),
        notes=notes,
        labels=str(slices.label_sources),
    )


def tradeoff_view(tradeoff: Tradeoff) -> Document:
    """Return cost against quality."""
    return Document(
        "Quality vs. cost",
        " ".join(tradeoff_sentences(tradeoff)),
        tradeoff_table(tradeoff),
        (),
        labels=str(tradeoff.label_sources),
    )


# The failure analysis, and the explanation of one query's score.


def failure_analysis_view(losses: FailureAnalysis) -> Document:
    """Return the outcome of each fact."""
    notes = tuple(
        f"{counted(loss.facts, 'fact')} of these only since {loss.stage}, no candidate held them: "
        f"{listed(loss.query_ids, _QUERIES)}."
        for loss in losses.made_findable
    )
    notes += causes_in_words(losses)
    table = failure_table({"": losses})
    return Document(
        f"Where recall was lost, at k = {losses.k}",
        failure_analysis_sentence(losses) or "No question has a fact.",
        table if losses.facts else replace(table, rows=()),
        (),
        notes=notes,
        labels=str(losses.label_sources),
    )


def explanation_view(explanation: Explanation) -> Document:
    """Return the values of a query, its facts, and which hits cover what and earned what."""
    query = explanation.query
    matching = [each for each in explanation.hits if _is_match(each)]
    partly = [each for each in explanation.hits if each.overlaps and not _is_match(each)]
    warnings = [f"The question failed: {explanation.error}"] if explanation.error is not None else []
    if not query.is_labelled:
        why = "it has no labels that count" if query.answerable else "it is marked as not answerable"
        warnings.append(f"The question is excluded from all averages: {why}.")
    sections = [
        Section("What the answer needs", entries=tuple(map(partial(_fact, explanation), count(1), query.facts))),
        Section("Hits that match a label", entries=tuple(_hit(each, explanation) for each in matching)),
        Section("Hits with a part of a label", entries=tuple(_hit(each, explanation) for each in partly)),
    ]
    if query.is_labelled and not matching:  # what came instead, with ids if labels are ids
        named = any(passage.chunk_id is not None for fact in query.facts for passage in fact.passages)
        instead = [each for each in explanation.hits if not each.overlaps][:_INSTEAD]
        came = tuple(Entry(_hit_text(each) + (f", id {each.hit.chunk.id}" if named else "")) for each in instead)
        sections.append(Section("The first hits without a label", entries=came))
    match = "matches" if len(matching) == 1 else "match"
    lead = f"{len(matching)} of {counted(len(explanation.hits), 'hit')} {match} a label."
    if partly:
        others = "other has" if len(partly) == 1 else "others have"
        lead += f" {len(partly)} {others} a part of one, which is no match by itself."
    return Document(
        title=f"{query.id}: {query.text}",
        lead=lead,
        headline=_values(explanation),
        measured=(("Stage", explanation.stage), ("Match rule", explanation.match)),
        warnings=tuple(warnings),
        sections=tuple(section for section in sections if section.entries),
        about=(f"stage {explanation.stage}, match by {explanation.match}",),
        labels=str(LabelSources.of([query])),
    )


def _is_match(each: ExplainedHit) -> bool:
    """Whether a hit is relevant, or makes a fact whole that others have parts of."""
    return any(overlap.counts or overlap.satisfies for overlap in each.overlaps)


def _fact(explanation: Explanation, number: int, fact: Fact) -> Entry:
    first, *others = map(passage_text, fact.passages)
    lost = [f"lost: {reason}" for lost, reason in explanation.causes if lost == number]
    return Entry(f"fact {number}: {first}", tuple(map(Entry, [*(f"or {other}" for other in others), *lost])))


_INSTEAD = 5


def _hit_text(each: ExplainedHit) -> str:
    chunk = each.hit.chunk
    place = "" if chunk.start is None else f" {chunk.start}–{chunk.end}"
    score = "" if each.hit.score is None else f", score {each.hit.score:.4f}"
    return f"rank {each.hit.rank}: {chunk.doc_id or 'unknown document'}{place}{score} “{excerpt(chunk.text)}”"


def _hit(each: ExplainedHit, explanation: Explanation) -> Entry:
    """Return a hit, what it covers and what it earned."""
    covered = [Entry(overlap_text(overlap)) for overlap in each.overlaps]
    earned = earned_lines(each, explanation)
    credit = Entry(f"earned: {earned[0]}") if len(earned) == 1 else Entry("earned:", tuple(map(Entry, earned)))
    return Entry(_hit_text(each), (*covered, credit))


def _values(explanation: Explanation) -> Table:
    """Return the metrics of the query: a row for each measure, and a column for each depth."""
    values = dict(zip(explanation.metrics, explanation.values, strict=True))

    def at(depth: int | Tokens | Calls | None, measure: Metric) -> str:
        value = values.get(replace(measure, depth=depth))
        if value is None:
            return ""
        return "left out" if math.isnan(value) else figure_text(measure, value)

    columns: list[Column[Metric]] = [Column("metric", title, words=True)]
    for depth in dict.fromkeys(metric.depth for metric in explanation.metrics):
        above = "all hits" if depth is None else f"k = {depth}" if isinstance(depth, int) else str(depth)
        columns.append(Column(above, partial(at, depth)))
    measures = dict.fromkeys(replace(metric, depth=None) for metric in explanation.metrics)
    return table_from(columns, measures, "The metrics of this question")


# Settings that were tuned.


_MOST_ROWS = 10
_CONFIDENCE = "95%"


def tuning_view(found: Tuning) -> Document:
    """Return what is shown of settings that were tuned."""
    return Document(
        f"Tuned: {' and '.join(found.systems)}",
        _tuning_lead(found),
        _tuning_gains(found),
        (),
        sections=(
            Section("Settings", tables=(_tuned_settings(found),)),
            Section("Method", (_tuning_method(found),), detail=Detail.DETAILS),
        ),
    )


def _tuning_lead(found: Tuning) -> str:
    name, best = mean_title(found.metric), found.settings[found.best]
    gained = f"{signed(found.difference.mean)} ({interval_in_words(found.difference, _CONFIDENCE, signs=True)}"
    said = f"on questions that took no part in the choice, tuning gains {gained}, {p_equation(found.difference.p)})"
    if found.best == 0:
        return f"Keep {found.settings[0]}: no other setting has a higher {name}; {said}."
    return f"Use {best}: {name} {number_text(found.means[found.best])}; {said}."


def _tuning_gains(found: Tuning) -> Table:
    rows = (
        ("without tuning", str(found.settings[0]), Cell(number_text(found.means[0]), value=found.means[0])),
        (
            "tuned, on other questions",
            "as chosen",
            Cell(number_text(found.tuned), value=found.tuned, interval=brackets(found.tuned_interval)),
        ),
        (
            "best, on all questions: optimistic",
            str(found.settings[found.best]),
            Cell(number_text(found.means[found.best]), value=found.means[found.best]),
        ),
    )
    columns = ("", "setting", mean_title(found.metric))
    return Table("What tuning gains", columns, tuple(map(row_of, rows)), text_columns=(0, 1), confidence=_CONFIDENCE)


def _tuned_settings(found: Tuning) -> Table:
    chosen, total = dict(found.chosen), found.folds * found.repeats
    columns: list[Column[int]] = [
        Column("setting", lambda number: str(found.settings[number]), words=True),
        Column(
            mean_title(found.metric), lambda number: Cell(number_text(found.means[number]), value=found.means[number])
        ),
        Column(
            "chosen",
            lambda number: percent_text(chosen.get(number, 0) / total, 0),
            value=lambda number: chosen.get(number, 0),
            definition="in how many of the folds it was chosen; where many are, they are hardly different",
        ),
    ]
    ordered = sorted(range(len(found.settings)), key=lambda number: -found.means[number])[:_MOST_ROWS]
    caption = f"The best of {len(found.settings):,} settings, on all questions"
    return table_from(columns, ordered, caption, sortable=True)


def _tuning_method(found: Tuning) -> str:
    return (
        f"{found.queries:,} questions in {found.folds} folds, {found.repeats} times: for each fold the setting that is "
        "best on the others is measured on it (nested cross-validation). No system was asked."
    )


# Thresholds below which a question is not answered.


_SAYS_NOTHING = 0.5
"""The AUROC of scores that have nothing to do with whether a query can be answered."""


def abstention_view(found: Abstention) -> Document:
    """Return what is shown of a threshold, and of the scores that it is taken from."""
    sections = (Section("Method", (_abstention_method(found),), detail=Detail.DETAILS),)
    says_nothing = f"these scores do not tell answerable questions from unanswerable ones: {_auroc(found)}"
    warnings = (says_nothing,) if found.separation.interval.low <= _SAYS_NOTHING else ()
    return Document(
        "When not to answer", _abstention_lead(found), _at_threshold(found), (), warnings=warnings, sections=sections
    )


def _abstention_lead(found: Abstention) -> str:
    confidence, risk = percent_text(1.0 - found.delta, 0), percent_text(found.risk, 1)
    stage = stage_title(found.stage).lower()
    every = found.threshold == -math.inf
    what = (
        "Answer every question" if every else f"Answer where the first hit of the {stage} scores {found.threshold:g} "
    )
    promise = (
        f"{'' if every else 'or more'}: with {confidence} confidence at most {risk} of unanswerable questions are "
        "answered."
    )
    answered, false = found.checked_on.answered, found.checked_on.false_answers
    checked = (
        f" On the half that took no part in the choice, {answered.count:,} of {answered.of:,} answerable questions are "
        f"answered ({percent_text(answered.share)}), and {false.count:,} of {false.of:,} unanswerable ones."
    )
    return f"{what}{promise}{checked} {_auroc(found)} (0.5 for scores that say nothing)."


def _auroc(found: Abstention) -> str:
    return f"AUROC {interval_text(found.separation.auroc, found.separation.interval)}"


def _at_threshold(found: Abstention) -> Table:
    sides = (("chosen on", found.chosen_on), ("checked on", found.checked_on))
    rows = (
        ("answerable questions answered", [_share(side.answered) for _, side in sides]),
        ("unanswerable questions answered", [_share(side.false_answers) for _, side in sides]),
        ("wrong answers", [_share(side.wrong_answers) for _, side in sides]),
        ("abstention rate", [figure_cell(side.no_answer_rate) for _, side in sides]),
        (f"Recall@{found.k}, 0 if not answered", [figure_cell(side.recall) for _, side in sides]),
    )
    return Table(
        "What the threshold does on the half that it was chosen on, and on the other",
        ("", *(title for title, _ in sides)),
        tuple(row_of((words, *cells)) for words, cells in rows),
        confidence=_CONFIDENCE,
    )


def _share(share: AnsweredShare) -> Cell:
    return figure_cell(share.share, share.interval) if share.of else figure_cell(math.nan)


def _abstention_method(found: Abstention) -> str:
    return (
        "The threshold is chosen on one half of the questions by a risk-controlling prediction set (Bates et al. 2021) "
        "with the exact binomial bound, and checked on the other. So many questions "
        f"certify shares from {percent_text(found.smallest_risk)} on. Intervals of shares are exact (Clopper and "
        "Pearson), that of AUROC is Newcombe's (2006). The guarantee holds for questions like these, as long as the "
        "index, the models and their settings stay the same."
    )


view_of.register(Lift, lift_view)
view_of.register(TagSlices, whole(slices_view))
view_of.register(Tradeoff, whole(tradeoff_view))
view_of.register(Recommendation, whole(recommendation_view))
view_of.register(FailureAnalysis, whole(failure_analysis_view))
view_of.register(SessionAnalysis, whole(sessions_view))
view_of.register(Agents, whole(agents_view))
view_of.register(Abstention, whole(abstention_view))
view_of.register(Tuning, whole(tuning_view))
view_of.register(Explanation, whole(explanation_view))
view_of.register(FactorEffects, whole(effects_view))
