"""Recall by how much of a prompt is read, of each system of a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.paired_statistics import interval_of
from raglift.analysis.upper_bound import match_tables_of
from raglift.matching.reading import characters_sent
from raglift.metrics.computing import mean_of, score
from raglift.metrics.prompt_measures import PromptRecall, scale_of_labels
from raglift.text.tokens import EstimatedTokens, is_encoding_available
from raglift.types.metric import Tokens

if TYPE_CHECKING:
    from raglift.matching.matches import MatchTable
    from raglift.results.comparison import Comparison
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


@dataclass(frozen=True)
class PromptCurve:
    """A system's recall over prompt sizes."""

    points: tuple[PromptSize, ...]
    """From 0 tokens up to the end of the system with the longest prompts: the same sizes for all."""
    end: int
    """At how many tokens half of the system's own prompts have ended."""

    def at(self, tokens: int) -> PromptSize:
        """Return the recall where so much is read, one of the sizes."""
        return next(point for point in self.points if point.tokens == tokens)


def prompt_curves(comparison: Comparison) -> Mapping[str, PromptCurve]:
    """Return recall over prompt sizes up to 4,000 tokens, after the last stage of each system that is asked once.

    One token has as many characters for all systems: the mean of the labelled passages. What a system returned is read
    as far as it goes; more may be asked for with `budget=`.

    Returns:
        By system; agents, whose hits are spread over calls, are left out, and so are systems that returned nothing.
    """
    tables = {
        name: match_tables_of(one)[-1]
        for name, one in zip(comparison.names, comparison.evaluations, strict=True)
        if not one.run.has_sessions
    }
    if not tables:
        return {}
    counter = next(iter(tables.values())).counter if is_encoding_available() else EstimatedTokens()
    scale = scale_of_labels(comparison.evaluation(comparison.baseline).dataset.queries, counter)
    lengths = {name: characters_sent(table) / scale for name, table in tables.items()}
    medians = {name: float(np.median(some[some > 0])) for name, some in lengths.items() if np.any(some > 0)}
    longest = min(_LONGEST, max(medians.values(), default=0.0))
    step = _FINE if longest <= _FEW else _STEP
    ends = {name: math.ceil(min(_LONGEST, median) / step) * step for name, median in medians.items()}
    sizes = range(step, max(ends.values(), default=0) + 1, step)
    return {
        name: PromptCurve(_points(comparison, name, replace(tables[name], characters_per_token=scale), sizes), end)
        for name, end in ends.items()
    }


def _points(comparison: Comparison, name: str, table: MatchTable, sizes: range) -> tuple[PromptSize, ...]:
    evaluation = comparison.evaluation(name)
    metrics = [PromptRecall @ Tokens(size) for size in sizes]
    last = replace(evaluation.run, stages=evaluation.run.stages[-1:])
    scores = score(last, evaluation.dataset, [table], metrics, evaluation.profile)
    shared = scores.places_of(comparison.query_ids)
    found = [PromptSize(0, 0.0, None)]
    for size, metric in zip(sizes, metrics, strict=True):
        values = scores.of(evaluation.after, metric)[shared]
        interval = interval_of(metric, values, comparison.method.confidence)
        found.append(PromptSize(size, mean_of(metric, values), interval))
    return tuple(found)
