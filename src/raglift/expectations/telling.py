"""What a failed test says: the bounds that were not kept, the table, and the worst queries with what came back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.comparison.same_queries import named
from raglift.gating.words import check_sentence, hit_words, missing_sentence, regression_sentence
from raglift.metrics import title
from raglift.printable import counted, printable
from raglift.records.labels import passage_text
from raglift.report.format import figure_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.gating import GateResult
    from raglift.gating.bounds import Bound
    from raglift.results import Evaluation, Explanation

__all__ = ["bounds_failure", "query_failure", "query_text"]

_WORST = 3
"""The most queries that are shown with what came back."""
_HITS = 10


def bounds_failure(result: GateResult, misses: Mapping[Bound, Sequence[tuple[str, float]]]) -> str | None:
    """Return what a test says that failed; None where everything is as expected.

    Args:
        result: of the gate.
        misses: for each bound on single queries, those that did not keep it with their values, worst first.
    """
    said = [check_sentence(check) for check in result.checks if not check.passed]
    said += [regression_sentence(one) for one in result.regressions if not one.passed]
    said += [missing_sentence(result)] if result.missing else []
    said += [
        f"{bound.name} is below {bound.bound:.10g} for {counted(len(queries), 'query')}: "
        f"{named([query for query, _ in queries])}"
        for bound, queries in misses.items()
        if queries
    ]
    if not said:
        return None
    # What pytest shows of it in one line is the first
    parts = ["\n".join(said), str(result).rstrip(), str(result.evaluation).rstrip()]
    parts += [query_text(result.evaluation, query_id) for query_id in _worst(result, misses)]
    return printable("\n\n".join(parts))


def query_failure(evaluation: Evaluation, query_id: str, missed: Sequence[tuple[Bound, float]]) -> str:
    """Return what the item of one query says that failed.

    Args:
        evaluation: in which it was asked.
        query_id: the query.
        missed: the bounds that it did not keep, each with its value.
    """
    error = evaluation.run.traces[evaluation.scores.query_ids.index(query_id)].error
    said = [] if error is None else [f"failed: {error}"]
    said += [f"{bound.name} is {_value(value)}; expected ≥ {bound.bound:.10g}" for bound, value in missed]
    return printable("\n".join([*said, "", query_text(evaluation, query_id)]))


def query_text(evaluation: Evaluation, query_id: str) -> str:
    """Return one query with its values, the hits that came back, and what was missed."""
    return printable("\n".join(_query_lines(evaluation.explain(query_id))))


def _worst(result: GateResult, misses: Mapping[Bound, Sequence[tuple[str, float]]]) -> list[str]:
    """Return the queries to show; those of the regressions are shown with both rankings already."""
    wanted = [query for check in result.checks if not check.passed for query, _ in check.worst]
    wanted += [one.query_id for one in result.failed]
    wanted += [query for queries in misses.values() for query, _ in queries]
    return list(dict.fromkeys(wanted))[:_WORST]


def _query_lines(explanation: Explanation) -> Iterator[str]:
    query = explanation.query
    yield f"{query.id}: {' '.join(query.text.split())}"
    yield from _values(explanation)
    if explanation.error is not None:
        yield f"  failed: {explanation.error}"
    elif not explanation.hits:
        yield f"  {explanation.stage} returned nothing"
    else:
        yield f"  {explanation.stage} returned {counted(len(explanation.hits), 'hit')}; ✓ matches a label:"
    for each in explanation.hits[:_HITS]:
        mark = "✓" if any(piece.counts or piece.satisfies for piece in each.pieces) else " "
        yield f"  {mark} {each.hit.rank:>3}. {hit_words(each.hit)}"
    if len(explanation.hits) > _HITS:
        below = [each.hit.rank for each in explanation.hits[_HITS:] if any(piece.counts for piece in each.pieces)]
        told = f"; matching: {', '.join(map(str, below))}" if below else ""
        yield f"         and {len(explanation.hits) - _HITS:,} more{told}"
    yield from _missed(explanation)


def _missed(explanation: Explanation) -> Iterator[str]:
    """Yield the facts that no hit shown holds, each with its alternatives."""
    found: dict[int, int] = {}
    for each in explanation.hits:
        for piece in each.pieces:
            if piece.satisfies:
                found.setdefault(piece.fact, each.hit.rank)
    for number, fact in enumerate(explanation.query.facts, start=1):
        rank = found.get(number)
        if rank is None or rank > _HITS:
            late = "" if rank is None else f", found at rank {rank}"
            for place, passage in enumerate(fact.passages):
                yield f"  {'or     ' if place else 'missed '} {passage_text(passage)}{'' if place else late}"


def _values(explanation: Explanation) -> Iterator[str]:
    """Yield the values of a query, a line for each depth."""
    of_depth: dict[str, list[str]] = {}
    for metric, value in zip(explanation.metrics, explanation.values, strict=True):
        if not math.isnan(value):
            of_depth.setdefault(str(metric.depth), []).append(f"{title(metric)} {figure_text(metric, value)}")
    yield from (f"  {', '.join(values)}" for values in list(of_depth.values())[-1:])


def _value(value: float) -> str:
    return "not known" if math.isnan(value) else f"{value:.4f}"
