"""`evaluate_rankings()`: rankings that a system has returned elsewhere are scored, without running it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from raglift.matching.provenance import Provenance
from raglift.metrics.computing import DEFAULT_METRICS, choose_metrics, names_of
from raglift.running.notes import run_notes
from raglift.running.scoring import checked_rule, evaluation_of, require_chunks, require_encoding
from raglift.running.settings import DEFAULT_KS, Settings
from raglift.running.spec import named_in_spec, spec_of
from raglift.text.tokens import TokenCounts
from raglift.types.rankings import Ranking, Run, StageInfo, StageTrace, Trace

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.metric import Metric


_STAGE = "retrieve"


def evaluate_rankings(
    rankings: Mapping[str, Ranking],
    dataset: Dataset,
    *,
    system: str,
    metrics: Sequence[Metric | str] = DEFAULT_METRICS,
    ks: Sequence[int] = DEFAULT_KS,
    match: str | MatchRule = "containment",
    profile: str = "default",
    notes: Sequence[str] = (),
) -> Evaluation:
    """Measure rankings as `evaluate` does those of a system; a query without one counts as failed.

    Args:
        rankings: for queries of the dataset, by their ids, what came back.
        dataset: labelled queries.
        system: what the rankings are of, for people.
        metrics: what to compute.
        ks: the depths at which metrics are taken.
        match: what counts as a match, as for `evaluate`.
        profile: whose metric conventions, as for `evaluate`.
        notes: what a reader of the figures must know.

    Raises:
        ConfigurationError: an argument that cannot be used.
    """
    chosen = choose_metrics(metrics, ks, dataset)
    require_encoding(chosen)
    require_chunks(chosen, None)
    rule, provenance = checked_rule(match, profile), Provenance(dataset)
    error = f"{_STAGE}: no ranking of this question in {system}"
    traces = tuple(
        Trace(query.id, (StageTrace(_STAGE, provenance.check(rankings[query.id]), 0.0),))
        if query.id in rankings
        else Trace(query.id, error=error)
        for query in dataset
    )
    settings = spec_of(dataset, Settings())  # nothing was asked: models, retries and the like had no part in it
    spec = {name: settings[name] for name in ("depth", "dataset", "started", "environment")}
    spec |= named_in_spec(names_of(metrics))
    spec["returned"] = max(map(len, rankings.values()), default=0)
    spec["candidates"] = max([spec["returned"], *(metric.k or 0 for metric in chosen), DEFAULT_KS[-1]])
    run = Run(
        (StageInfo(_STAGE, system, has_own_depth=True),),
        traces,
        spec,
        (*dataset.resolution.notes, *run_notes((), provenance), *notes),
    )
    return evaluation_of(run, dataset, chosen, rule, profile, TokenCounts())
