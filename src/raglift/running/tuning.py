"""`tune()`: fusion weights, constants, candidates, depths and score cut-offs, from stored rankings alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.paired_statistics import bound_of, is_quality, primary_of
from raglift.analysis.shared_queries import check_same_rule, shared_queries
from raglift.analysis.tuning import FOLDS, REPEATS, Setting, Tuning, tuned
from raglift.analysis.upper_bound import rule_of
from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.metrics.computing import compute, rankings_by_stage
from raglift.metrics.parsing import as_metric
from raglift.retrieval.retrievers import RRF_CONSTANT, fuse
from raglift.text.tokens import TokenCounts
from raglift.types.rankings import Hit, Ranking
from raglift.utilities.progress import track

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric

_MOST_SETTINGS = 2_000
_STEPS = 10
"""Weights are multiples of 1 / 10, and add up to 1."""
_CONSTANTS = (RRF_CONSTANT, 1, 10, 30, 100)
_FEWEST_SETTINGS = 2
_FEW_SYSTEMS = 3
"""Of so many systems every combination of weights is tried; of more, each with the others alike."""


def tune(
    systems: Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation],
    *,
    metric: Metric | str | None = None,
    weights: Sequence[Sequence[float]] | None = None,
    constants: Sequence[int] | None = None,
    candidates: Sequence[int] | None = None,
    cut_offs: Sequence[float] | None = None,
    ks: Sequence[int] | None = None,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    seed: int = 0,
    progress: bool | None = None,
) -> Tuning:
    """Choose settings from stored rankings, without asking any system, with figures that are not optimistic.

    Two systems or more over the same chunks are fused by reciprocal rank fusion, with every weight and constant. For
    one system with a reranker, numbers of candidates are tried: the reranker's order among the first of them, then the
    rest as they were retrieved. Depths (`ks`) and score cut-offs (`cut_offs`) are tried if they are given. The gain is
    measured by cross-validation: see `raglift.analysis.Tuning`.

    Args:
        systems: one evaluation, or several of the same queries, or a mapping from names to them.
        metric: what decides; by default the primary metric of the first system.
        weights: of the systems, one number for each; by default multiples of 0.1 that add up to 1.
        constants: of reciprocal rank fusion; by default 60, 1, 10, 30 and 100.
        candidates: how many hits of each ranking are fused, or reranked; by default all, and of one system with a
            reranker 5, 10, 20 and 50 if it has more.
        cut_offs: lowest scores of hits that are kept; by default none is.
        ks: how many hits are passed on; by default all.
        folds: into how many parts the queries are split.
        repeats: how often.
        seed: of the folds.
        progress: whether to show progress; None decides by the terminal.

    Raises:
        ConfigurationError: systems of other queries, sessions, a metric that is not a measure of quality, settings that
            make no sense, or only one or too many of them.
    """
    named = _named(systems)
    first = next(iter(named.values()))
    chosen = primary_of(None, first.scores.metrics, first.depth_limit) if metric is None else as_metric(metric)
    if not is_quality(chosen):
        raise ConfigurationError(f"metric: found {chosen}; expected a measure of quality, of which more is better")
    if any(one.run.has_sessions for one in named.values()):
        raise ConfigurationError("tune: found sessions; expected systems that search once for each question")
    check_same_rule(named)
    shared = shared_queries(named, next(iter(named)))
    labelled = [number for number, query in enumerate(shared.queries) if query.is_labelled]
    queries = [shared.queries[number] for number in labelled]
    lasts, before = [], None
    for name, evaluation in named.items():
        by_stage = rankings_by_stage(evaluation.run)
        places = shared.places[name][labelled].tolist()
        lasts.append([by_stage[-1][place] for place in places])
        if len(named) == 1 and len(by_stage) > 1:
            before = [by_stage[0][place] for place in places]
    _check_chunks(named, lasts)
    settings = _settings(len(named), lasts, before, weights, constants, candidates, cut_offs, ks)
    rule, counter = rule_of(first), TokenCounts()
    values = np.empty((len(settings), len(queries)))
    with track("tune", len(settings), "settings", show=progress) as advance:
        for number, setting in enumerate(settings):
            (table,) = match_rankings(queries, [_tuned(setting, lasts, before)], rule, counter=counter)
            values[number] = compute(table, chosen, first.profile)
            advance(1)
    # A query of which the metric says nothing, whatever the setting, is in no mean, as in an evaluation
    values = np.nan_to_num(values[:, ~np.isnan(values).all(axis=0)])
    return tuned(
        values, settings, chosen, tuple(named), folds=folds, repeats=repeats, seed=seed, bound=bound_of(chosen)
    )


def _named(systems: Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    from raglift.results.evaluation import Evaluation as Known
    from raglift.results.sources import distinct_names

    if isinstance(systems, Mapping):
        found = dict(systems)
    else:
        known = [systems] if isinstance(systems, Known) else list(systems)
        found = dict(zip(distinct_names(known, known), known, strict=True))
    if not found or not all(isinstance(one, Known) for one in found.values()):
        raise ConfigurationError("tune: expected evaluations, from rl.evaluate or rl.load_evaluation")
    return found


def _check_chunks(named: Mapping[str, Evaluation], lasts: Sequence[Sequence[Ranking]]) -> None:
    """Raise if two systems are over other chunks: fused, each would only push the other's hits down."""
    first, *others = named
    ids = {
        name: {hit.chunk.id for one in rankings for hit in one.hits}
        for name, rankings in zip(named, lasts, strict=True)
    }
    for name in others:
        sizes = [one.chunks for each in (first, name) if (one := named[each].run.inventory) is not None]
        if len(set(sizes)) > 1:
            found = f"{sizes[0]:,} chunks of {first!r} and {sizes[1]:,} of {name!r}"
        elif ids[first] and ids[name] and not ids[first] & ids[name]:
            found = f"no chunk id that both {first!r} and {name!r} returned"
        else:
            continue
        raise ConfigurationError(f"tune: found {found}; expected runs over the same chunks, with the same ids")


def _settings(
    systems: int,
    lasts: Sequence[Sequence[Ranking]],
    before: Sequence[Ranking] | None,
    weights: Sequence[Sequence[float]] | None,
    constants: Sequence[int] | None,
    candidates: Sequence[int] | None,
    cut_offs: Sequence[float] | None,
    ks: Sequence[int] | None,
) -> list[Setting]:
    """Return every combination, what there is without tuning first."""
    deepest = max((len(ranking) for rankings in (*lasts, before or ()) for ranking in rankings), default=0)
    if systems > 1:
        every_weight = _weights(systems) if weights is None else [_checked_weights(each, systems) for each in weights]
        every_constant: Sequence[int | None] = _CONSTANTS if constants is None else list(constants)
    else:
        if weights is not None or constants is not None:
            raise ConfigurationError("weights, constants: found them with one system; expected two or more to fuse")
        every_weight, every_constant = [()], [None]
    deep: list[int | None] = [None, *_whole("candidates", candidates)]
    if candidates is None and before is not None:
        deep += [count for count in (5, 10, 20, 50) if count < deepest]
    if candidates is not None and systems == 1 and before is None:
        raise ConfigurationError("candidates: found them without a reranker; expected several systems, or a reranker")
    lowest: list[float | None] = [None, *(cut_offs or ())]
    most: list[int | None] = [None, *_whole("ks", ks)]
    alike = () if systems == 1 else tuple(1.0 / systems for _ in range(systems))
    first = Setting(alike, RRF_CONSTANT if systems > 1 else None)
    found = [Setting(*parts) for parts in itertools.product(every_weight, every_constant, deep, lowest, most)]
    settings = list(dict.fromkeys([first, *found]))
    if len(settings) < _FEWEST_SETTINGS:
        raise ConfigurationError(
            "tune: found one system without a reranker, and nothing to try; expected several systems, one with a "
            "reranker, or ks or cut_offs (-k, --cut-offs)"
        )
    if len(settings) > _MOST_SETTINGS:
        raise ConfigurationError(f"tune: found {len(settings):,} settings; expected at most {_MOST_SETTINGS:,}")
    return settings


def _weights(systems: int) -> list[tuple[float, ...]]:
    """Return combinations of weights that add up to 1, none of them 0."""
    if systems > _FEW_SYSTEMS:
        rest = systems - 1
        return [
            tuple(step / _STEPS if place == number else (1 - step / _STEPS) / rest for place in range(systems))
            for number in range(systems)
            for step in range(1, _STEPS)
        ]
    steps = itertools.product(range(1, _STEPS), repeat=systems)
    return [tuple(step / _STEPS for step in each) for each in steps if sum(each) == _STEPS]


def _checked_weights(weights: Sequence[float], systems: int) -> tuple[float, ...]:
    found = tuple(float(weight) for weight in weights)
    if len(found) != systems or not all(weight > 0 for weight in found):
        raise ConfigurationError(f"weights: found {found}; expected a number above 0 for each of {systems} systems")
    return found


def _whole(name: str, values: Sequence[int] | None) -> list[int]:
    for value in values or ():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigurationError(f"{name}: found {value!r}; expected integers of 1 or more")
    return list(values or ())


def _tuned(setting: Setting, lasts: Sequence[Sequence[Ranking]], before: Sequence[Ranking] | None) -> list[Ranking]:
    """Return the rankings of a setting."""
    if setting.constant is not None:
        parts = [[Ranking(ranking.hits[: setting.candidates]) for ranking in rankings] for rankings in lasts]
        rankings = fuse(parts, setting.weights, setting.constant)
    elif setting.candidates is not None and before is not None:
        rankings = [_reranked(first, last, setting.candidates) for first, last in zip(before, lasts[0], strict=True)]
    else:
        rankings = list(lasts[0])
    if setting.cut_off is not None:
        rankings = [_from_score(ranking, setting.cut_off) for ranking in rankings]
    return rankings if setting.k is None else [Ranking(ranking.hits[: setting.k]) for ranking in rankings]


def _from_score(ranking: Ranking, lowest: float) -> Ranking:
    """Return the hits of at least a score, with their ranks."""
    hits = [hit for hit in ranking.hits if hit.score is not None and hit.score >= lowest]
    return Ranking.of((hit.chunk, hit.score) for hit in hits)


def _reranked(retrieved: Ranking, reranked: Ranking, candidates: int) -> Ranking:
    """Return what the reranker makes of fewer candidates: its order among these, then the rest as they were."""
    few = {hit.chunk.id for hit in retrieved.hits[:candidates]}
    first = [hit.chunk for hit in reranked.hits if hit.chunk.id in few]
    chunks = [*first, *(hit.chunk for hit in retrieved.hits[candidates:])]
    return Ranking(tuple(Hit(chunk, rank) for rank, chunk in enumerate(chunks[: len(reranked)], start=1)))
