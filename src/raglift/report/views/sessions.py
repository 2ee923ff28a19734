"""What is shown of sessions: recall after each call, how the agent searched, and where each fact was lost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.analysis.sessions import session_analysis
from raglift.base.display import counted
from raglift.components.passage_search import ASKED_FOR, PassageSearch
from raglift.metrics.computing import mean_title
from raglift.metrics.registry import MEASURES
from raglift.rendering.document import Cell, Document, Section, Table, row_of
from raglift.report.cells import share_cell
from raglift.report.format import number_text, percent_text

if TYPE_CHECKING:
    from raglift.analysis.records import EvaluationRecord
    from raglift.analysis.sessions import SessionAnalysisRecord
    from raglift.records.metric import Metric


_EXAMPLES = 3
_CALLS_SHOWN = 10


def sessions_section(evaluation: EvaluationRecord) -> Section | None:
    """Return how the sessions of an evaluation went; None if no query is labelled."""
    found = session_analysis(evaluation, PassageSearch)
    if not found.facts:
        return None
    return Section("Sessions", _said(found), (_curve(found), _measures(found), _losses(found)))


def sessions_view(found: SessionAnalysisRecord) -> Document:
    """Return what is shown of a session analysis."""
    lead, *others = _said(found)
    sections = (Section("How the agent searched", tuple(others), (_measures(found), _losses(found))),)
    return Document("Sessions: recall after each call", lead, _curve(found), (), sections=sections)


def _said(found: SessionAnalysisRecord) -> tuple[str, ...]:
    """Return what was found, in sentences."""
    curve = found.recall_after
    said = ["No session made a call."]
    if curve:
        said = [f"On average, the first call found {percent_text(curve[0], 0)} of a query's facts"]
        said[0] += f", and all calls together {percent_text(curve[-1], 0)}." if len(curve) > 1 else "."
    lost = [
        f"{counted(loss.facts, 'fact')} {_BRIEFLY[loss.outcome]}"
        for loss in found.losses
        if loss.facts and loss.outcome in _BRIEFLY
    ]
    if lost:
        said.append(f"{', '.join(lost)}.")
    if any(loss.facts for loss in found.losses if loss.outcome in ("asked", "never_asked")):
        said.append(
            f"Whether a fact was asked for is an estimate: one of its passages is among the first {ASKED_FOR} of all "
            "labelled passages, ranked by BM25 for the text of a call."
        )
    parts = found.components
    if parts is not None:
        share = percent_text(parts.share_within, 0)
        times = parts.runs / parts.queries
        said.append(
            f"{share} of the variance of a single run's recall is from run to run of the same query. The standard "
            f"error of the mean is {number_text(parts.standard_error())}; with twice the runs it would be about "
            f"{number_text(parts.standard_error(repetitions=max(1, round(2 * times))))}, with twice the queries "
            f"{number_text(parts.standard_error(queries=2 * parts.queries))}."
        )
    return tuple(said)


_BRIEFLY = {
    "left_out": "found and left out of the context",
    "dropped": "retrieved and dropped by the reranker",
    "asked": "asked for and not retrieved",
    "never_asked": "never asked for",
    "failed": "of failed sessions",
}

_IN_WORDS = {
    "failed": "the session failed",
    "found": "found",
    "left_out": "found, left out of the context",
    "dropped": "dropped by the reranker",
    "asked": "asked for, not retrieved",
    "never_asked": "never asked for",
    "not_retrieved": "not retrieved",
}


def _curve(found: SessionAnalysisRecord) -> Table:
    shown = list(enumerate(zip(found.recall_after, found.still_searching, strict=True), start=1))
    if len(shown) > _CALLS_SHOWN:
        shown = [*shown[: _CALLS_SHOWN - 1], shown[-1]]
    rows = tuple(
        row_of((str(number), Cell(number_text(recall), low=0.0, middle=recall, high=recall), f"{sessions:,}"))
        for number, (recall, sessions) in shown
    )
    return Table("Recall after each call", ("after call", "recall", "sessions with so many calls"), rows)


def _measures(found: SessionAnalysisRecord) -> Table:
    rows = tuple(
        row_of((mean_title(metric), _value_text(metric, mean), f"{queries:,}", MEASURES[metric.name].formula))
        for metric, mean, queries in found.means
        if not math.isnan(mean)
    )
    return Table("How the agent searched", ("measure", "mean", "queries", "what it is"), rows, text_columns=(0, 3))


def _value_text(metric: Metric, mean: float) -> str:
    return percent_text(mean) if MEASURES[metric.name].is_bounded else number_text(mean, 2)


def _losses(found: SessionAnalysisRecord) -> Table:
    rows = []
    for loss in found.losses:
        if loss.facts or loss.outcome == "found":
            share = loss.facts / len(found.facts) if found.facts else 0.0
            bar = share_cell(share)
            examples = "" if loss.outcome == "found" else ", ".join(loss.query_ids[:_EXAMPLES])
            words = _IN_WORDS[loss.outcome]
            if loss.outcome == "found" and found.context_known:
                words = "found, in the context"
            rows.append(row_of((words, f"{loss.facts:,}", bar, f"{len(loss.query_ids):,}", examples)))
    columns = ("outcome", "facts", "share", "queries", "for example")
    return Table("What became of each fact in the session", columns, tuple(rows), text_columns=(0, 4))
