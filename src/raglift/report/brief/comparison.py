"""Several systems in short: which differ, at what cost, and the queries that got worse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.comparison import has_costs, tradeoff
from raglift.diagnosis import loss_breakdown
from raglift.diagnosis.rejudged import rule_of
from raglift.metrics import mean_title, title
from raglift.printable import counted
from raglift.rendering.document import Document, Section, Table, row_of
from raglift.report.format import level
from raglift.report.page.comparison import by_mean, headline, lead, notes_of, tradeoff_table
from raglift.report.page.measured import measured_together
from raglift.report.page.parts import few_text, loss_table, slices_table
from raglift.report.terminal.comparison import exploratory_parts
from raglift.report.words import EXPLORATORY, ON_THE_FRONT, depth_of_loss
from raglift.significance import TIED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.result_records import ComparisonRecord, TagSlicesRecord, TradeoffRecord

__all__ = ["comparison_brief", "regressions_sections", "slices_brief", "tradeoff_brief"]

_SHOWN = 3
"""As many systems beside the baseline have their losses shown."""
_REGRESSIONS = 5
_FEW = 6
"""As many rows of costs are shown unfolded."""


def comparison_brief(comparison: ComparisonRecord) -> Document:
    """Return a comparison in short."""
    evaluation = comparison.evaluation(comparison.baseline)
    method = f"{comparison.method.text}; seed {comparison.method.seed}; confidence {level(comparison.method)}"
    return Document(
        title=f"{evaluation.dataset.name}: {counted(len(comparison.names), 'system')} compared",
        lead=lead(comparison),
        headline=headline(comparison),
        measured=(*measured_together(comparison, match=str(rule_of(evaluation))), ("Method", method)),
        warnings=comparison.warnings,
        notes=(*comparison.notes, *notes_of(comparison)),
        sections=tuple(_sections(comparison)),
        labels=str(comparison.label_sources),
    )


def slices_brief(slices: TagSlicesRecord) -> Document:
    """Return slices by tag."""
    said = EXPLORATORY
    notes = tuple(filter(None, [few_text(slices)]))
    return Document(
        f"{mean_title(slices.metric)} by tag",
        said,
        slices_table(slices),
        (),
        notes=notes,
        labels=str(slices.label_sources),
    )


def tradeoff_brief(tradeoff: TradeoffRecord) -> Document:
    """Return cost beside quality."""
    said = ON_THE_FRONT
    return Document(
        "Cost beside quality",
        said,
        tradeoff_table(tradeoff),
        (),
        notes=tradeoff.notes,
        labels=str(tradeoff.label_sources),
    )


def regressions_sections(comparison: ComparisonRecord) -> Iterator[Section]:
    """Yield, for the best systems beside the baseline, the queries that they answer worse than it, folded."""
    others = [row for row in by_mean(comparison) if row.system != comparison.baseline]
    for row in others[:_SHOWN]:
        table = _regressions(comparison, row.system) if row.difference is not None and row.difference.n else None
        if table is not None:
            heading = f"Queries that {row.system} answers worse than {comparison.baseline}: {len(table.rows)} most"
            yield Section(heading, tables=(table,), folded=True)


def _sections(comparison: ComparisonRecord) -> Iterator[Section]:
    yield _loss_section(comparison)
    if has_costs(comparison):
        found = tradeoff(comparison)
        table = tradeoff_table(found)
        yield Section("Cost beside quality", found.notes, (table,), folded=len(table.rows) > _FEW)
    yield from regressions_sections(comparison)
    if len(comparison.metrics) > 1:
        parts = list(exploratory_parts(comparison, {name: name for name in comparison.names}))
        said = tuple(part for part in parts if isinstance(part, str))
        tables = tuple(part for part in parts if isinstance(part, Table))
        yield Section("All metrics", said, tables, folded=True)


def _loss_section(comparison: ComparisonRecord) -> Section:
    """Return where the baseline and the best others lost recall."""
    losses = {}
    for row in by_mean(comparison)[: _SHOWN + 1]:
        evaluation = comparison.evaluation(row.system)
        losses[row.system] = loss_breakdown(evaluation, depth_of_loss(evaluation, comparison.primary))
    return Section("Where recall was lost", tables=(loss_table(losses),))


def _regressions(comparison: ComparisonRecord, system: str) -> Table | None:
    """Return the queries that lost most of the primary metric against the baseline; None where none lost."""
    baseline, other = comparison.evaluation(comparison.baseline), comparison.evaluation(system)
    metric = comparison.primary
    before = dict(zip(baseline.scores.query_ids, baseline.scores.of(baseline.after, metric).tolist(), strict=True))
    after = dict(zip(other.scores.query_ids, other.scores.of(other.after, metric).tolist(), strict=True))
    change = np.nan_to_num([after[query] - before[query] for query in comparison.query_ids])
    worst = [place for place in np.argsort(change, kind="stable").tolist() if change[place] < -TIED][:_REGRESSIONS]
    if not worst:
        return None
    rows = []
    for place in worst:
        query = comparison.query_ids[place]
        told = f"{before[query]:.3f} → {after[query]:.3f}"
        rows.append(row_of((query, baseline.dataset.query(query).text, told)))
    columns = ("query", "question", title(metric))
    return Table(f"{comparison.baseline} → {system}", columns, tuple(rows), words=(0, 1))
