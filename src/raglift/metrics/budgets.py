"""Rankings at a token budget: the longest prefix that fits, and rankings shorter than the budget.

Five chunks of 200 characters and five of 1,000 are not the same prompt. At an equal budget each ranking is cut where
its hits would come to more tokens than the budget has, and the metric is that of the whole ranking that is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.custom import metric
from raglift.types.metric import Tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric


def tokens(most: int) -> Tokens:
    """Make a depth out of a number of tokens of context.

    As in `Recall @ tokens(2000)`, whose text is `recall@tokens(2000)`.

    Args:
        most: how many tokens of tiktoken's cl100k_base the hits may have together.

    Raises:
        ConfigurationError: not an integer from 1 to 999,999,999.
    """
    return Tokens(most)


@metric(
    "context_tokens",
    title="ContextTokens",
    formula="tokens of the first k hits",
    source="tiktoken's cl100k_base",
    aliases=("contexttokens",),
    is_cost=True,
    is_neutral=True,
    is_bounded=False,
    needs_text=True,
    vectorized=True,
)
def ContextTokens(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """ContextTokens@k = tokens of the first k hits; at a budget, the tokens that are used. Range [0, ∞).

    Tokens of tiktoken's cl100k_base, hit by hit: what a prompt puts around and between them is not counted, and what
    overlapping hits share counts twice, as it does in the prompt. It is a cost, so more of it is not better.
    """
    query, place = _places(match_table)
    early = slice(None) if metric.k is None else place < metric.k
    sums = np.bincount(query[early], weights=match_table.tokens[early], minlength=match_table.queries)
    return sums.astype(np.float64)


def within_budget(match_table: MatchTable, budget: Tokens) -> MatchTable:
    """Return the matches of the longest prefix of each ranking whose tokens fit the budget."""
    cut = match_table.prefixes.get(budget)
    if cut is None:
        cut = match_table.prefixes[budget] = match_table.cut(prefix_lengths(match_table, budget))
    return cut


def prefix_lengths(match_table: MatchTable, budget: Tokens) -> NDArray[np.int64]:
    """Return how many hits of each ranking fit; the first that does not fit ends it, though a later one might."""
    query, _ = _places(match_table)
    return np.bincount(query[_tokens_so_far(match_table) <= budget.most], minlength=match_table.queries).astype(
        np.int64
    )


def context_totals(match_table: MatchTable) -> NDArray[np.int64]:
    """Return the tokens of all hits of each ranking."""
    query, _ = _places(match_table)
    return np.bincount(query, weights=match_table.tokens, minlength=match_table.queries).astype(np.int64)


def _tokens_so_far(match_table: MatchTable) -> NDArray[np.int64]:
    """Return for each hit the tokens of its ranking up to and with it."""
    sums = np.concatenate(([0], np.cumsum(match_table.tokens)))
    before = sums[np.cumsum(match_table.hits) - match_table.hits]
    query, _ = _places(match_table)
    return np.asarray(sums[1:] - before[query], dtype=np.int64)


def _places(match_table: MatchTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each hit, query after query, its query and how many hits come before it."""
    query = np.repeat(np.arange(match_table.queries), match_table.hits)
    first = np.cumsum(match_table.hits) - match_table.hits
    return query, np.asarray(np.arange(len(query)) - first[query], dtype=np.int64)
