"""What the profiles of other tools share: counts of relevant hits and labels, and the profile itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.measure import count_by_query, depth, one_row_a_hit, per_query, sum_by
from raglift.metrics.rank_measures import harmonic_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import Matches, MatchTable
    from raglift.types.metric import Metric

    Values = NDArray[np.float64]


# Counts of the profiles: single relevant hits and labels, where the default profile credits facts. A label is a chunk
# id, or the text of a passage at its location; every alternative of a fact is one label, and the same label in two
# facts counts once.


@dataclass(frozen=True, eq=False)
class RelevantHits:
    """The hits that match any label: one row per hit, sorted by query, then rank."""

    query: NDArray[np.int64]
    rank: NDArray[np.int64]
    grade: NDArray[np.int64]
    """The best grade of what it matches."""

    @property
    def found_so_far(self) -> NDArray[np.int64]:
        """How many relevant hits of the query there are up to each and with it."""
        return positions(self.query)


def positions(query: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each row's position, from 1, among those of its query; rows are sorted by query."""
    return np.asarray(np.arange(len(query)) - np.searchsorted(query, query) + 1, dtype=np.int64)


def relevant_hits(match_table: MatchTable, metric: Metric, *, distinct: bool = False) -> RelevantHits:
    """Return the relevant hits within the metric's depth."""
    matches = match_table.matches
    within = matches.rank <= depth(metric.k)
    if distinct:
        within &= ~matches.repeated
    return RelevantHits(*one_row_a_hit(matches.query[within], matches.rank[within], matches.grade[within]))


def first_matches(match_table: MatchTable, metric: Metric) -> RelevantHits:
    """Return the hits within the metric's depth that are the first to match some label.

    So each label is found once, by one hit, and no hit finds what was found before: a ranking of distinct documents.
    """
    first, labels_matched = _first_match_of_each_label(match_table, metric)
    return RelevantHits(*one_row_a_hit(first.query, first.rank, label_grades(match_table)[labels_matched]))


def _first_match_of_each_label(match_table: MatchTable, metric: Metric) -> tuple[Matches, NDArray[np.int64]]:
    matches, passages = match_table.matches, match_table.passages
    label = passages.same_as[passages.rows(matches.fact, matches.passage)]
    found, first = np.unique(label, return_index=True)  # rows are in order of rank
    within = matches.rank[first] <= depth(metric.k)
    return matches.take(first[within]), found[within]


def labels_found(match_table: MatchTable, metric: Metric) -> Values:
    """Return how many of each query's labels the hits within the metric's depth match, each label once."""
    first, _ = _first_match_of_each_label(match_table, metric)
    return count_by_query(first.query, match_table)


def labels(match_table: MatchTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return query and grade of each label, query after query, better grades first."""
    facts, passages = match_table.facts, match_table.passages
    query = np.repeat(facts.query, facts.passages)
    is_first = passages.same_as == np.arange(len(query))
    query, grade = query[is_first], label_grades(match_table)[is_first]
    order = np.lexsort((-grade, query))
    return query[order], grade[order]


def ideal_ranking(match_table: MatchTable) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return query, position from 1, and grade of each label where all come first, better grades before others."""
    query, grade = labels(match_table)
    return query, positions(query), grade


def label_grades(match_table: MatchTable) -> NDArray[np.int64]:
    """Return the grade of the label that each passage is: the highest that any fact gives it.

    It is in the row of the label's first passage.
    """
    passages = match_table.passages
    grades = passages.grades.copy()
    np.maximum.at(grades, passages.same_as, passages.grades)
    return grades


def returned(match_table: MatchTable, metric: Metric) -> Values:
    """Return how many hits came back, up to the metric's depth."""
    return np.minimum(match_table.hits, depth(metric.k)).astype(np.float64)


def distinct_returned(match_table: MatchTable, metric: Metric) -> Values:
    """Return how many different ids came back, up to the metric's depth."""
    repeats = match_table.repeats
    again = count_by_query(repeats.query[repeats.rank <= depth(metric.k)], match_table)
    return returned(match_table, metric) - again


def precision_of_ids(match_table: MatchTable, metric: Metric) -> Values:
    """Precision = relevant ids among the first k hits / ids among them, each once."""
    found = count_by_query(relevant_hits(match_table, metric, distinct=True).query, match_table)
    return per_query(found, distinct_returned(match_table, metric))


def recall_of_labels(match_table: MatchTable, metric: Metric) -> Values:
    """Recall = labels that the first k hits match / labels."""
    return per_query(labels_found(match_table, metric), count_by_query(labels(match_table)[0], match_table))


def sums_of_precision(hits: RelevantHits, match_table: MatchTable) -> Values:
    """Return, for each query, Σ over relevant hits of relevant hits so far / rank."""
    return sum_by(hits.query, hits.found_so_far / hits.rank, match_table.queries)


def average_precision_of(hits: RelevantHits, match_table: MatchTable) -> Values:
    """AP = Σ over relevant hits of relevant hits so far / rank, / labels."""
    return per_query(sums_of_precision(hits, match_table), count_by_query(labels(match_table)[0], match_table))


# Profiles: other tools' conventions for the same measures.


Function = Callable[["MatchTable", "Metric"], "NDArray[np.float64]"]
"""Returns a metric's value for each query, in dataset order; NaN for one that is left out of its mean."""


def f1_of(precision: Function, recall: Function) -> Function:
    """Return F1 of a precision and a recall; 0 where both are 0."""
    return lambda match_table, metric: harmonic_mean(precision(match_table, metric), recall(match_table, metric))


def ndcg_of(dcg: Function, idcg: Function) -> Function:
    """Return NDCG = DCG / IDCG; 0 where there is nothing to find."""
    return lambda match_table, metric: per_query(dcg(match_table, metric), idcg(match_table, metric))


@dataclass(frozen=True)
class Profile:
    """A tool's conventions: the measures that it computes in its own way."""

    name: str
    """As `profile="autorag"` names it."""
    source: str
    """The tool, with the version or the page that the conventions were read from."""
    functions: Mapping[str, Function] = field(default_factory=dict)
    """The measures that it computes in its own way, by name; the others are the default's."""
    without_k: frozenset[str] = frozenset()
    """Those that can be taken without a depth, though the default's cannot, since it divides by k."""
    leaves_out_empty: frozenset[str] = frozenset()
    """Those whose mean leaves out a query that was answered with no hits at all; the default counts it 0."""
