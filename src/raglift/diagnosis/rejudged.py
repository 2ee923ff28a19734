"""What an evaluation's stages matched: kept since it was made, or matched again after it was loaded."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.matching import MatchRule, PassageMatch, judge
from raglift.scoring import rankings_by_stage

if TYPE_CHECKING:
    from raglift.diagnosis.requirements import Pieces
    from raglift.matching import Judgements
    from raglift.records import Dataset
    from raglift.result_records import EvaluationRecord

__all__ = ["depth_of", "highest_grade", "judgements_of", "pieces_by_query", "rule_of"]


def rule_of(evaluation: EvaluationRecord) -> MatchRule:
    """Return the rule by which hits were matched."""
    return MatchRule(**evaluation.run.spec["match"])


def judgements_of(evaluation: EvaluationRecord) -> tuple[Judgements, ...]:
    """Return what matched, for each stage."""
    if evaluation.judgements:
        return evaluation.judgements
    rankings = rankings_by_stage(evaluation.run)
    return tuple(judge(evaluation.dataset.queries, rankings, rule_of(evaluation)))


def highest_grade(dataset: Dataset) -> int:
    """Return the highest grade that a passage of its labelled queries has, 1 where there is none: ERR's scale."""
    return max((fact.ideal_grade for query in dataset.queries if query.is_labelled for fact in query.facts), default=1)


def depth_of(evaluation: EvaluationRecord, k: int | None) -> int:
    """Return a depth to look at: the one asked for, else the deepest that was scored.

    Raises:
        ConfigurationError: it is not a positive integer, or deeper than the candidates.
    """
    candidates = int(evaluation.run.spec["candidates"])
    if k is None:
        return max((metric.k for metric in evaluation.scores.metrics if metric.k), default=candidates)
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= candidates:
        raise ConfigurationError(
            f"k: found {k!r}; expected an integer from 1 to {candidates}, the number of candidates"
        )
    return k


def pieces_by_query(judged: Judgements) -> dict[int, Pieces]:
    """Return, for each query, which rank covers which part of which passage."""
    found: dict[int, dict[tuple[int, int], list[tuple[int, PassageMatch]]]] = defaultdict(lambda: defaultdict(list))
    pieces = judged.pieces
    place = pieces.fact - judged.facts.first_of_query(pieces.query)
    covered = (pieces.start, pieces.end, pieces.normalized_start, pieces.normalized_end)
    columns = (pieces.query, place, pieces.passage, pieces.rank, pieces.direction, *covered)
    for (query, fact, passage, rank, direction, start, end, first, last), relevant in zip(
        np.stack(columns, axis=1).tolist(), pieces.relevant.tolist(), strict=True
    ):
        match = PassageMatch(direction, start, end, first, last, relevant)
        found[query][fact, passage].append((rank, match))
    return dict(found)
