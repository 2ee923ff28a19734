"""Recall by how much is read: over all prompt sizes up to a budget, and at the budget.

Ten chunks of 200 characters and ten of 6,000 are not the same prompt, and a measure that discounts by chunks prefers
the same text cut coarser. These measures look at the text: the prompt is the hits' texts in order, and the position of
a fact is how many characters are read until it is satisfied. The budget L is in characters too: tokens times the mean
characters of a token in the labelled passages, one constant for all systems of a dataset. (Counting the tokens of each
hit would make the same text, cut finer, longer by rounding alone.)

Worked example: L = 4,000 characters; two facts, one satisfied after 1,000 characters and one never. Up to L the area is
(1 − 1,000/4,000 + 0) / 2 = 0.375; at L, recall is 1/2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.matching.reading import positions_of_facts
from raglift.metrics.custom import metric
from raglift.metrics.measure import count_by_query, per_query, sum_by
from raglift.text.tokens import characters_per_token

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.text.tokens import TokenCounts
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


DEFAULT_BUDGET = 2000
"""The tokens of a prompt at which chunk sizes are compared unless another number is asked for."""
NAMED_BUDGETS = (500, 1000, 2000, 4000)
"""The prompt sizes, in tokens, at which recall is shown, and a change of lead may be claimed."""

_SOURCE = "Sakai and Dou 2013 (U-measure), Smucker and Clarke 2012 (time-biased gain): the trail of text that is read"


@metric(
    "recall_area",
    title="Recall up to",
    formula="mean over facts of max(0, 1 − characters read until it is satisfied / L)",
    source=_SOURCE,
    needs_budget=True,
    needs_text=True,
    vectorized=True,
)
def RecallArea(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """Recall up to B tokens = (1/R) Σ over facts of max(0, 1 − position / L). Range [0, 1].

    It is the area under the recall curve: recall averaged over all prompt sizes from 0 to L characters, where L is B
    tokens in characters. The position of a fact is how many characters of the hits' texts, in order, are read until it
    is satisfied under the match rule (`raglift.matching.reading`). It is close to the U-measure of Sakai and Dou (SIGIR
    2013), whose gain falls linearly with the offset in what is read, and to the time-biased gain of Smucker and Clarke
    (SIGIR 2012).

    By coverage, with offsets, the same text in the same order has the same value however it is cut. By containment it
    has not: a passage that is cut in two is found by neither part.
    """
    limit = budget_in_characters(match_table, metric)
    return _mean_over_facts(match_table, np.maximum(0.0, 1.0 - positions_of_facts(match_table) / limit))


@metric(
    "prompt_recall",
    title="Recall at",
    formula="facts satisfied within the first L characters read / R",
    source=_SOURCE,
    needs_budget=True,
    needs_text=True,
    vectorized=True,
)
def PromptRecall(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """Recall at B tokens = facts whose position is at most L / R: recall in a prompt of L characters. Range [0, 1].

    L is B tokens in characters, and positions are those of `RecallArea`. `Recall@tokens(B)` counts whole hits that fit
    into B tokens instead, so that a hit that would be cut by the end of the prompt does not count.
    """
    limit = budget_in_characters(match_table, metric)
    return _mean_over_facts(match_table, (positions_of_facts(match_table) <= limit).astype(np.float64))


def budget_in_characters(match_table: MatchTable, metric: Metric) -> float:
    """Return a budget of tokens in characters.

    Raises:
        ConfigurationError: the metric has no budget; or tokens cannot be counted.
        MissingDependency: tiktoken is not installed.
    """
    if metric.budget is None:
        raise ConfigurationError(
            f"{metric}: found no budget of tokens; expected one, as '{metric.name}@tokens({DEFAULT_BUDGET})'"
        )
    return metric.budget.most * scale_of(match_table)


def scale_of(match_table: MatchTable) -> float:
    """Return the characters of a token: those that were given, else the mean of the labelled passages."""
    if match_table.characters_per_token is not None:
        return match_table.characters_per_token
    texts = (text for text in match_table.passages.texts if text is not None)
    return characters_per_token(texts, match_table.counter)


def scale_of_labels(queries: Iterable[Query], counter: TokenCounts) -> float:
    """Return the mean characters of a token in the labelled passages of a dataset: see `characters_per_token`."""
    facts = (fact for query in queries if query.is_labelled for fact in query.facts)
    texts = (passage.text for fact in facts for passage in fact.passages if passage.text is not None)
    return characters_per_token(texts, counter)


def _mean_over_facts(match_table: MatchTable, values: NDArray[np.float64]) -> NDArray[np.float64]:
    query = match_table.facts.query
    return per_query(sum_by(query, values, match_table.queries), count_by_query(query, match_table))
