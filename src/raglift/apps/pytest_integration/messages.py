"""Messages of failed tests: the bounds that failed, the table, and the worst queries with their hits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.gating.text import findings_of, hit_words
from raglift.metrics.computing import title
from raglift.report.format import figure_text
from raglift.types.labels import passage_text
from raglift.utilities.display import counted, lines_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from raglift.analysis.explanation import Explanation
    from raglift.errors import RagliftError
    from raglift.gating.deciding import GateResult


_WORST = 3
"""The most queries that are shown with what came back."""
_HITS = 10
_RAGLIFT = Path(__file__).parents[2]


def bounds_failure(result: GateResult) -> str | None:
    """Return what a test says that failed; None if everything is as expected."""
    failed = [found.sentence for found in findings_of(result) if not found.passed]
    if not failed:
        return None
    # Those of the regressions are shown with both rankings already
    worst = [query for check in result.checks if not check.passed for query, _ in check.worst]
    worst += [one.query_id for one in result.failed]
    # What pytest shows of it in one line is the first
    parts = [lines_text(failed), str(result).rstrip(), str(result.evaluation).rstrip()]
    parts += [
        lines_text(_query_lines(result.evaluation.explain(query))) for query in list(dict.fromkeys(worst))[:_WORST]
    ]
    return printable("\n\n".join(parts))


def _query_lines(explanation: Explanation) -> Iterator[str]:
    """Yield one query with its values at the greatest depth, the hits that came back, and what was missed."""
    yield f"{explanation.query.id}: {' '.join(explanation.query.text.split())}"
    depth = explanation.metrics[-1].depth
    values = [
        f"{title(metric)} {figure_text(metric, value)}"
        for metric, value in zip(explanation.metrics, explanation.values, strict=True)
        if metric.depth == depth and not math.isnan(value)
    ]
    yield f"  {', '.join(values)}"
    if explanation.error is not None:
        yield f"  failed: {explanation.error}"
    yield f"  {explanation.stage} returned {counted(len(explanation.hits), 'hit')}; ✓ matches a label:"
    found: set[int] = set()
    for each in explanation.hits[:_HITS]:
        mark = "✓" if any(overlap.counts or overlap.satisfies for overlap in each.overlaps) else " "
        yield f"  {mark} {each.hit.rank:>3}. {hit_words(each.hit)}"
        found |= {overlap.fact for overlap in each.overlaps if overlap.satisfies}
    for number, fact in enumerate(explanation.query.facts, start=1):
        if number not in found:
            for place, passage in enumerate(fact.passages):
                yield f"  {'or     ' if place else 'missed '} {passage_text(passage)}"


def without_own_frames(error: RagliftError) -> RagliftError:
    """Return an error without the way that it took through raglift; its cause begins where the system was called."""
    cause = error.__cause__
    if cause is not None:
        cause.__traceback__ = _of_system(cause.__traceback__)
    return error.with_traceback(None)


def _of_system(traceback: TracebackType | None) -> TracebackType | None:
    """Return what comes after raglift's own last frame; all of it if that is nothing."""
    found, place = traceback, traceback
    while place is not None:
        if _RAGLIFT in Path(place.tb_frame.f_code.co_filename).parents and place.tb_next is not None:
            found = place.tb_next
        place = place.tb_next
    return found
