"""Messages of failed tests."""

from __future__ import annotations

import math
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.analysis.shared_queries import named
from raglift.errors import ConfigurationError
from raglift.gating.records import ROUNDING
from raglift.gating.text import findings_of, hit_words
from raglift.metrics.computing import title
from raglift.report.format import figure_text
from raglift.types.labels import passage_text
from raglift.utilities.display import counted, lines_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

    from raglift.analysis.explanation import Explanation
    from raglift.errors import RagliftError
    from raglift.gating.bounds import Bound
    from raglift.gating.deciding import GateResult
    from raglift.results.evaluation import Evaluation


# Message of a failed test: the bounds that failed, the table, and the worst queries with their hits.


_WORST = 3
"""The most queries that are shown with what came back."""
_HITS = 10
_MOST_DECIMALS = 12


def bounds_failure(result: GateResult, misses: Mapping[Bound, Sequence[tuple[str, float]]]) -> str | None:
    """Return what a test says that failed; None if everything is as expected.

    Args:
        result: of the gate.
        misses: for each bound on single queries, those that did not keep it with their values, worst first.
    """
    said = [found.sentence for found in findings_of(result) if not found.passed]
    said += [
        f"{bound.name} is below {bound.bound:.10g} for {counted(len(queries), 'query')}: "
        f"{named([query for query, _ in queries])}"
        for bound, queries in misses.items()
        if queries
    ]
    if not said:
        return None
    # What pytest shows of it in one line is the first
    parts = [lines_text(said), str(result).rstrip(), str(result.evaluation).rstrip()]
    parts += [query_text(result.evaluation, query_id) for query_id in _worst(result, misses)]
    return printable("\n\n".join(parts))


def query_text(evaluation: Evaluation, query_id: str) -> str:
    """Return one query with its values, the hits that came back, and what was missed."""
    return lines_text(_query_lines(evaluation.explain(query_id)))


def _worst(result: GateResult, misses: Mapping[Bound, Sequence[tuple[str, float]]]) -> list[str]:
    """Return the queries to show; those of the regressions are shown with both rankings already."""
    wanted = [query for check in result.checks if not check.passed for query, _ in check.worst]
    wanted += [one.query_id for one in result.failed]
    wanted += [query for queries in misses.values() for query, _ in queries]
    return list(dict.fromkeys(wanted))[:_WORST]


def _query_lines(explanation: Explanation) -> Iterator[str]:
    query = explanation.query
    yield f"{query.id}: {' '.join(query.text.split())}"
    yield from _values_line(explanation)
    if explanation.error is not None:
        yield f"  failed: {explanation.error}"
    elif not explanation.hits:
        yield f"  {explanation.stage} returned nothing"
    else:
        yield f"  {explanation.stage} returned {counted(len(explanation.hits), 'hit')}; ✓ matches a label:"
    for each in explanation.hits[:_HITS]:
        mark = "✓" if any(overlap.counts or overlap.satisfies for overlap in each.overlaps) else " "
        yield f"  {mark} {each.hit.rank:>3}. {hit_words(each.hit)}"
    if len(explanation.hits) > _HITS:
        below = [each.hit.rank for each in explanation.hits[_HITS:] if any(overlap.counts for overlap in each.overlaps)]
        matching = f"; matching: {', '.join(map(str, below))}" if below else ""
        yield f"         and {len(explanation.hits) - _HITS:,} more{matching}"
    yield from _missed(explanation)


def _missed(explanation: Explanation) -> Iterator[str]:
    """Yield the facts that no hit shown holds, each with its alternatives."""
    found: dict[int, int] = {}
    for each in explanation.hits:
        for overlap in each.overlaps:
            if overlap.satisfies:
                found.setdefault(overlap.fact, each.hit.rank)
    for number, fact in enumerate(explanation.query.facts, start=1):
        rank = found.get(number)
        if rank is None or rank > _HITS:
            late = "" if rank is None else f", found at rank {rank}"
            for place, passage in enumerate(fact.passages):
                yield f"  {'or     ' if place else 'missed '} {passage_text(passage)}{'' if place else late}"


def _values_line(explanation: Explanation) -> Iterator[str]:
    """Yield the values of a query, a line for each depth."""
    of_depth: dict[str, list[str]] = {}
    for metric, value in zip(explanation.metrics, explanation.values, strict=True):
        if not math.isnan(value):
            of_depth.setdefault(str(metric.depth), []).append(f"{title(metric)} {figure_text(metric, value)}")
    yield from (f"  {', '.join(values)}" for values in list(of_depth.values())[-1:])


def misses_of(evaluation: Evaluation, bounds: Iterable[Bound]) -> dict[Bound, list[tuple[str, float]]]:
    """Return, for each bound on single queries, those that do not keep it with their values, worst first."""
    found = {}
    for bound in bounds:
        pairs = zip(evaluation.scores.query_ids, _values(evaluation, bound).tolist(), strict=True)
        # A query without labels has no value, and keeps every bound
        missed = [(query, value) for query, value in pairs if value < bound.bound - ROUNDING]
        found[bound] = sorted(missed, key=itemgetter(1))
    return found


def _values(evaluation: Evaluation, bound: Bound) -> NDArray[np.float64]:
    """Return the value of each query."""
    if bound.metric is None:
        raise ConfigurationError(f"per_query: found {bound.name!r}; expected a metric")
    return evaluation.scores.of(bound.stage or evaluation.after, bound.metric)


# Tracebacks of user code only: the test's line and, if a system failed, the system's own code.


_RAGLIFT = Path(__file__).parents[2]
_RUNNING, _ADAPTERS = _RAGLIFT / "running", _RAGLIFT / "adapters"


def without_own_frames(error: RagliftError) -> RagliftError:
    """Return an error without the way that it took through raglift; its cause begins where the system was called."""
    cause = error.__cause__
    if cause is not None:
        cause.__traceback__ = _of_system(cause.__traceback__)
    return error.with_traceback(None)


def _of_system(traceback: TracebackType | None) -> TracebackType | None:
    """Return what comes after raglift's own call; all of it where that is nothing, or raglift called nobody."""
    found, place = traceback, traceback
    while place is not None:
        if _is_in(_RUNNING, place) and place.tb_next is not None:
            found = place.tb_next
        place = place.tb_next
    # Between the two may be what makes a retriever of a function, or of another library's
    while found is not None and found.tb_next is not None and _is_in(_ADAPTERS, found):
        found = found.tb_next
    return found


def _is_in(folder: Path, traceback: TracebackType) -> bool:
    return folder in Path(traceback.tb_frame.f_code.co_filename).parents
