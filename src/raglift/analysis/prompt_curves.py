"""Recall by how much of a prompt is read, of each system of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.paired_statistics import interval_of
from raglift.analysis.upper_bound import match_tables_of
from raglift.base.tokens import EstimatedTokens, is_at_hand
from raglift.matching.reading import characters_sent
from raglift.metrics.computing import mean_of, score
from raglift.metrics.prompt_measures import PromptRecall, scale_of_labels
from raglift.records.metric import Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.analysis.records import ComparisonRecord
    from raglift.matching.matches import MatchTable
    from raglift.stats.intervals import Interval

_LONGEST = 4000
_STEP, _FINE, _FEW = 100, 50, 2000


@dataclass(frozen=True)
class PromptSize:
    """A system's recall where so much is read of each prompt."""

    tokens: int
    """How much."""
    recall: float
    """The mean over the queries that all systems share."""
    interval: Interval | None
    """Where it may lie; None if that is unknown."""


def prompt_curves(comparison: ComparisonRecord) -> Mapping[str, tuple[PromptSize, ...]]:
    """Return recall over prompt sizes, after the last stage of each system that is asked once.

    A curve ends where the longest prompt of its system does, and at 4,000 tokens at the latest. One token has as many
    characters for all systems: the mean of the labelled passages.

    Args:
        comparison: of the systems.

    Returns:
        By system, from 0 tokens on; agents, whose hits are spread over calls, are left out.
    """
    tables = {
        name: match_tables_of(one)[-1]
        for name, one in zip(comparison.names, comparison.evaluations, strict=True)
        if not one.run.has_sessions
    }
    if not tables:
        return {}
    counter = next(iter(tables.values())).counter if is_at_hand() else EstimatedTokens()
    scale = scale_of_labels(comparison.evaluation(comparison.baseline).dataset.queries, counter)
    read = {name: float(characters_sent(table).max(initial=0.0)) / scale for name, table in tables.items()}
    step = _FINE if max(read.values()) <= _FEW else _STEP
    return {
        name: _curve(comparison, name, replace(table, characters_per_token=scale), _sizes(read[name], step))
        for name, table in tables.items()
    }


def _sizes(longest: float, step: int) -> range:
    """Return the sizes up to that of the longest prompt, rounded up."""
    return range(step, min(_LONGEST, int(-(-longest // step)) * step) + 1, step)


def _curve(comparison: ComparisonRecord, name: str, table: MatchTable, sizes: range) -> tuple[PromptSize, ...]:
    evaluation = comparison.evaluation(name)
    metrics = [PromptRecall @ Tokens(size) for size in sizes]
    last = replace(evaluation.run, stages=evaluation.run.stages[-1:])
    scores = score(last, evaluation.dataset, [table], metrics, evaluation.profile)
    place = {query_id: number for number, query_id in enumerate(scores.query_ids)}
    shared = [place[query_id] for query_id in comparison.query_ids]
    found = [PromptSize(0, 0.0, None)]
    for size, metric in zip(sizes, metrics, strict=True):
        values = scores.of(evaluation.after, metric)[np.asarray(shared, dtype=np.intp)]
        interval = interval_of(metric, values, comparison.method.confidence)
        found.append(PromptSize(size, mean_of(metric, values), interval))
    return tuple(found)
