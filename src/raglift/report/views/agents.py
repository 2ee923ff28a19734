"""What is shown of agents side by side: how each searched, and what it lost where."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.metrics.registry import MEASURES
from raglift.rendering.document import Cell, Column, Detail, Document, Section, Table, row_of, table_from
from raglift.report.cells import share_cell
from raglift.report.format import number_text, percent_text
from raglift.report.views.sessions import (
    IN_ORDER,
    calls_table,
    measure_text,
    outcome_in_words,
    session_figures,
    tokens_table,
)

if TYPE_CHECKING:
    from raglift.analysis.sessions import Agents, SessionAnalysis
    from raglift.types.metric import Metric


_SHOWN = ("calls", "redundancy", "wasted_calls", "kept", "final_recall", "final_precision")


def agents_view(found: Agents) -> Document:
    """Return what is shown of compared agents."""
    tables_of_recall = (calls_table(found.analyses), tokens_table(found.analyses))
    curves = tuple(table for table in tables_of_recall if table is not None)
    lost = Section("Where each fact was lost", tables=(_losses(found),))
    sections = (lost, Section("Recall as they search", (), curves))
    return Document("Agents: how each searched", "", agents_table(found), (), sections=sections)


def agents_sections(found: Agents, baseline: str) -> tuple[Section, ...]:
    """Return the sections of agents: how they searched in short, then losses and curves."""
    charts = session_figures(found.analyses, baseline)
    sections = [
        Section("How the agents searched", tables=(agents_table(found),)),
        Section("Where each fact was lost", tables=(_losses(found),)),
        Section("Recall as the agents search", figures=charts, detail=Detail.DETAILS) if charts else None,
    ]
    return tuple(section for section in sections if section is not None)


_Agent = tuple[str, "SessionAnalysis"]


def agents_table(found: Agents) -> Table:
    """Return how each agent searched: what it found and kept, and what that took."""
    measured = [name for name in _SHOWN if any(not math.isnan(one.mean(name)) for one in found.analyses.values())]
    columns: list[Column[_Agent]] = [
        Column("agent", lambda one: one[0], words=True),
        Column(
            "recall",
            lambda one: _recall_cell(one[1], -1),
            definition="The share of a query's facts that all calls together find",
        ),
        Column(
            "call 1",
            lambda one: _recall_cell(one[1], 0),
            definition="The share of a query's facts that the first call finds",
        ),
        Column(
            "tokens",
            lambda one: number_text(one[1].tokens, 0),
            value=lambda one: one[1].tokens,
            definition="The tokens of all hits of a session, mean over queries",
        ),
        *map(_measure_column, measured),
    ]
    agents = sorted(found.analyses.items(), key=lambda one: -_recall(one[1], -1))
    return table_from(columns, agents, "What each agent found, and what that took", sortable=True)


def _measure_column(name: str) -> Column[_Agent]:
    measure = MEASURES[name]

    def cell(one: _Agent) -> Cell:
        mean = one[1].mean(name)
        if math.isnan(mean):
            return Cell("–", "muted")
        text = measure_text(_metric_of(one[1], name), mean)
        return Cell(text, value=mean)

    return Column(measure.title, cell, definition=measure.formula, optional=name in ("redundancy", "final_precision"))


def _metric_of(found: SessionAnalysis, name: str) -> Metric:
    return next(metric for metric, _, _ in found.means if metric.name == name)


def _recall(found: SessionAnalysis, call: int) -> float:
    return found.recall_after[call] if found.recall_after else 0.0


def _recall_cell(found: SessionAnalysis, call: int) -> Cell:
    recall = _recall(found, call)
    return Cell("–", "muted") if math.isnan(recall) else replace(share_cell(recall), value=recall)


def _losses(found: Agents) -> Table:
    """Return what became of the facts, an agent a row: so the bars of an outcome are on one scale."""
    known = any(one.context_known for one in found.analyses.values())
    happened = [
        outcome
        for outcome in IN_ORDER
        if outcome == "found" or any(_facts(one, outcome) for one in found.analyses.values())
    ]
    rows = tuple(
        row_of((name, *(_count_cell(_facts(one, outcome), len(one.facts)) for outcome in happened)))
        for name, one in found.analyses.items()
    )
    titles = (outcome_in_words(outcome, context_known=known) for outcome in happened)
    return Table("What became of each fact, in the first run of each query", ("agent", *titles), rows)


def _facts(found: SessionAnalysis, outcome: str) -> int:
    return sum(loss.facts for loss in found.losses if loss.outcome == outcome)


def _count_cell(count: int, facts: int) -> Cell:
    share = count / facts if facts else 0.0
    return Cell(f"{count:,} ({percent_text(share, 0)})", low=0.0, middle=share, high=share, value=share, is_share=True)
