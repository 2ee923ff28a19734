"""How different chunkings were compared, in sentences and as columns beside the figures that decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.analysis.chunking import index_share
from raglift.analysis.shared_queries import named
from raglift.metrics.computing import mean_title
from raglift.report.format import percent_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.analysis.fairness import Fairness
    from raglift.analysis.records import ComparisonRecord, EvaluationRecord
    from raglift.records.metric import Metric


def fairness_sentences(comparison: ComparisonRecord) -> list[str]:
    """Return what decides and why, by which rule hits were matched, and where k hits are much of an index."""
    found, systems = comparison.fairness, dict(zip(comparison.names, comparison.evaluations, strict=True))
    if found is None:
        return index_sentences(systems, comparison.primary.k)
    told = [budget_sentence(found), matching_sentence(found)]
    k = comparison.primary.k if found.unbudgeted is None else found.unbudgeted.k
    return [*filter(None, told), *index_sentences(systems, k)]


def budget_sentence(found: Fairness) -> str:
    """Return why a metric at an equal budget decides; empty where none does."""
    if not found.decides or found.budgeted is None:
        return ""
    title = mean_title(found.budgeted)
    shortest, longest = (f"{length:,.0f}" for length in (min(found.lengths.values()), max(found.lengths.values())))
    why = (
        f"{title} is the primary metric, at an equal token budget, because hits differ in length: {shortest} to "
        f"{longest} characters on average"
    )
    if found.smallest is None or found.unbudgeted is None or found.budgeted.budget is None:
        return f"{why}."
    hits = "1 hit holds" if found.unbudgeted.k == 1 else f"{found.unbudgeted.k} hits hold"
    return f"{why}. The budget is what {hits} in {found.smallest} (median over queries); only whole hits count."


def matching_sentence(found: Fairness) -> str:
    """Return that coverage decides, and that figures by containment stand beside it; empty where it does not."""
    if found.containment is None or found.unbudgeted is None:
        return ""
    title = mean_title(found.unbudgeted)
    if not found.rescored:
        return f"Chunks differ, so hits are matched by coverage; {title} by containment is shown beside it."
    every = len(found.rescored) == len(found.lengths)
    whose = "as the runs were scored" if every else f"as {named(found.rescored)} were scored"
    return f"Chunks differ, so hits are matched by coverage; {title} by containment, {whose}, is shown beside it."


def index_sentences(systems: Mapping[str, EvaluationRecord], k: int | None) -> list[str]:
    """Return where k hits are more than a tenth of an index, as `10 hits are 56% of the index of a (18 chunks).`.

    Args:
        systems: by name; where there is one, it is not named.
        k: the depth.
    """
    by_index: dict[tuple[int, float], list[str]] = {}
    for name, evaluation in systems.items():
        share, inventory = index_share(evaluation, k), evaluation.run.inventory
        if share is not None and inventory is not None:
            by_index.setdefault((inventory.chunks, share), []).append(name)
    hits = "1 hit is" if k == 1 else f"{k} hits are"
    parts = [
        f"{percent_text(share, 0)} of the index{f' of {named(names)}' if len(systems) > 1 else ''} "
        f"({chunks:,} chunk{'s' * (chunks != 1)})"
        for (chunks, share), names in sorted(by_index.items())
    ]
    return [f"{hits} {', '.join(parts)}."] if parts else []


def means_beside(comparison: ComparisonRecord) -> dict[str, tuple[Metric, Mapping[str, float]]]:
    """Return the means beside the metric that decides, by the titles of their columns: of which metric, and by system.

    These are the means of the primary metric at a number of hits where a budget decides, or at the budget where another
    metric was named, and by containment where coverage decides.
    """
    found = comparison.fairness
    if found is None:
        return {}
    other = found.unbudgeted if found.decides else found.budgeted
    columns: dict[str, tuple[Metric, Mapping[str, float]]] = {}
    if other is not None and other in comparison.metrics:
        columns[mean_title(other)] = other, {row.system: row.mean for row in comparison.of(other)}
    if found.containment is not None and found.unbudgeted is not None:
        columns[f"{mean_title(found.unbudgeted)} by containment"] = found.unbudgeted, found.containment
    return columns
