"""Metrics on characters of the source: how much of the passages was retrieved, and how much other text.

After Chroma's chunking evaluation (Smith and Troynikov 2024). They count what each hit covers of a passage, whatever
the match rule: by offsets where both have them, else told from the texts. With alternatives, a fact counts by the one
that is covered best (the first of these in the label). Chunk-id labels have no characters: a query that has no others
is left out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.matching.overlap import covered_characters
from raglift.metrics.custom import metric
from raglift.metrics.measure import count_by_query, depth, per_query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric


_CHUNKING = "Smith and Troynikov 2024 (Chroma), Evaluating Chunking Strategies for Retrieval"


@metric(
    "span_recall",
    title="SpanRecall",
    formula="passage characters covered by the first k hits / passage characters",
    source=_CHUNKING,
    aliases=("spanrecall",),
    needs_text=True,
    vectorized=True,
)
def SpanRecall(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """SpanRecall@k = passage characters that the first k hits cover, each once / passage characters. Range [0, 1]."""
    covered, labelled, _ = _characters(match_table, metric.k)
    return _left_out(match_table, per_query(covered, labelled), labelled)


@metric(
    "span_precision",
    title="SpanPrecision",
    formula="passage characters covered by the first k hits / characters of these hits",
    source=_CHUNKING,
    aliases=("spanprecision",),
    needs_text=True,
    vectorized=True,
)
def SpanPrecision(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """SpanPrecision@k = passage characters that the first k hits cover, each once / Σ hit lengths. Range [0, 1].

    What hits share counts twice in the denominator, and so does a hit from another document.
    """
    covered, labelled, returned = _characters(match_table, metric.k)
    # White space that was folded on the way in can make a hit shorter than what it covers
    return _left_out(match_table, np.minimum(per_query(covered, returned), 1.0), labelled)


@metric(
    "span_iou",
    title="SpanIoU",
    formula="passage characters covered / (characters of the first k hits + passage characters not covered)",
    source=_CHUNKING,
    aliases=("spaniou",),
    needs_text=True,
    vectorized=True,
)
def SpanIoU(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """SpanIoU@k = covered passage characters / (Σ hit lengths + passage characters not covered). Range [0, 1]."""
    covered, labelled, returned = _characters(match_table, metric.k)
    return _left_out(match_table, np.minimum(per_query(covered, returned + labelled - covered), 1.0), labelled)


@metric(
    "span_precision_omega",
    title="SpanPrecisionOmega",
    formula="SpanIoU if exactly the chunks that touch a passage had been retrieved",
    source=_CHUNKING,
    aliases=("spanprecisionomega",),
    takes_k=False,
    is_earned=False,
    needs_chunks=True,
    needs_text=True,
    vectorized=True,
)
def SpanPrecisionOmega(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """SpanPrecisionOmega = SpanIoU if exactly the chunks that overlap a passage had been retrieved. Range [0, 1].

    That is covered passage characters / (characters of these chunks + passage characters that they do not cover), each
    character of the source once. It says what the chunking costs, whatever is retrieved, so it is the same at every k
    and stage. Where the locations of passages and chunks are known it equals the precision omega of Chroma's
    `chunking_evaluation` (`BaseEvaluation._full_precision_score`). Its intersection of two ranges may be empty, so a
    chunk that only abuts a passage, and shares no character with it, counts as overlapping.

    Raises:
        ConfigurationError: the chunks of the index are not known.
    """
    reach = match_table.reach
    if reach is None:
        raise ConfigurationError(
            f"{metric}: found a system whose chunks are not known; expected them, as evaluate(..., chunks=chunks)"
        )
    covered, labelled, chunks = (part.astype(np.float64) for part in (reach.covered, reach.passages, reach.chunks))
    return _left_out(match_table, np.minimum(per_query(covered, chunks + labelled - covered), 1.0), labelled)


def _left_out(
    match_table: MatchTable, values: NDArray[np.float64], labelled: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Put NaN if a query has facts and none of them has a text."""
    return np.where((labelled == 0) & (count_by_query(match_table.facts.query, match_table) > 0), np.nan, values)


def _characters(match_table: MatchTable, k: int | None) -> tuple[NDArray[np.float64], ...]:
    """Return, for each query, covered passage characters, passage characters, and characters of the first k hits."""
    within = np.flatnonzero(match_table.overlaps.rank <= depth(k))
    found = match_table.overlaps.take(within)
    rows = match_table.passages.rows(found.fact, found.passage)
    overlaps: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, start, end in zip(rows.tolist(), found.start.tolist(), found.end.tolist(), strict=True):
        overlaps[row].append((start, end))
    covered, labelled = covered_characters(match_table.queries, match_table.facts, match_table.passages, overlaps)
    query = np.repeat(np.arange(match_table.queries), match_table.hits)
    first = np.cumsum(match_table.hits) - match_table.hits
    early = np.arange(len(query)) - first[query] < depth(k)
    returned = np.bincount(query[early], weights=match_table.lengths[early], minlength=match_table.queries)
    return covered.astype(np.float64), labelled.astype(np.float64), returned.astype(np.float64)
