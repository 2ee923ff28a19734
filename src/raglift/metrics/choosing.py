"""Which metrics are taken: each measure at each depth."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.matching.judging import fact_table, passage_table
from raglift.metrics.computing import require_irrelevant
from raglift.metrics.parsing import parse, parse_depth, refuse_budget
from raglift.metrics.registry import MEASURES
from raglift.metrics.saved import require_installed
from raglift.records import Metric, Tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from raglift.records import Dataset

__all__ = ["DEFAULT_METRICS", "JUDGED", "choose_metrics"]

DEFAULT_METRICS = ("hit_rate", "precision", "recall", "f1", "rr", "ap", "ndcg")
"""The measures that are taken unless others are asked for."""
JUDGED = "judged"
"""The measure beside them that tells how far to trust them."""


def choose_metrics(
    metrics: Sequence[Metric | str], ks: Sequence[int | Tokens | str], dataset: Dataset | None = None
) -> tuple[Metric, ...]:
    """Return each measure at each depth, ordered by measure; one that names its own depth is taken at that.

    A measure that divides by k is taken at the numbers of hits alone. Where there is none, it is refused, or left out
    of the default measures. Judged joins these where the labels say more than what people found relevant.

    Args:
        metrics: measures, or metrics with their depths.
        ks: numbers of hits, and token budgets, also as their text.
        dataset: what is measured on, where it is known.

    Raises:
        ConfigurationError: no metric, no such metric, one that is not installed or that such labels are not enough
            for, or something that is no depth.
    """
    if isinstance(metrics, (str, Metric)):
        metrics = (metrics,)
    is_default = tuple(metrics) == DEFAULT_METRICS
    if is_default and dataset is not None and dataset.shows_judged:
        metrics = (*metrics, JUDGED)
    depths = _depths(ks)
    numbers = [depth for depth in depths if not isinstance(depth, Tokens)]
    chosen: dict[Metric, None] = {}
    for given in metrics:
        metric = parse(given) if isinstance(given, str) else parse(str(given))
        measure = MEASURES[metric.name]
        if metric.depth is not None or not measure.takes_k:
            chosen[metric] = None
            continue
        if measure.needs_k and not numbers and not is_default:
            refuse_budget(metric @ depths[0])
        chosen |= dict.fromkeys(metric @ depth for depth in (numbers if measure.needs_k else depths))
    if not chosen:
        raise ConfigurationError("metrics: found none; expected at least one, as ['ndcg@10']")
    require_installed(chosen)
    if dataset is not None:
        _check_labels(chosen, dataset)
    return tuple(chosen)


def _check_labels(metrics: Collection[Metric], dataset: Dataset) -> None:
    """Raise where a metric cannot be computed from the labels, before a system is asked anything."""
    require_irrelevant(metrics, says_irrelevant=any(query.judged_irrelevant for query in dataset.queries))
    checks = [(metric, check) for metric in metrics if (check := MEASURES[metric.name].check) is not None]
    if checks:
        facts, passages = fact_table(dataset.queries), passage_table(dataset.queries)
        for metric, check in checks:
            check(metric, facts, passages)


def _depths(ks: Sequence[int | Tokens | str]) -> list[int | Tokens]:
    """Return the depths in order: numbers of hits, then token budgets."""
    given: object = ks
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = ()
    found = {_depth(depth) for depth in given}
    if not found:
        raise ConfigurationError(
            f"ks: found {ks!r}; expected a list of depths, as (1, 3, 5, 10) or (5, 'tokens(2000)')"
        )
    budgets = sorted(depth for depth in found if isinstance(depth, Tokens))
    return [*sorted(depth for depth in found if not isinstance(depth, Tokens)), *budgets]


def _depth(given: object) -> int | Tokens:
    """Return one depth: a positive integer, or a token budget, also as its text."""
    depth = parse_depth(given) if isinstance(given, str) else given
    if isinstance(depth, Tokens):
        return depth
    if isinstance(given, bool) or not isinstance(given, Integral) or int(given) < 1:
        raise ConfigurationError(
            f"ks: found {given!r}; expected an integer, 1 or more, or a budget of tokens, as tokens(2000)"
        )
    return int(given)
