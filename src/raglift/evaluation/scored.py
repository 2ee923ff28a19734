"""A run, matched and scored."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from raglift.chunking.encodings import DEFAULT_ENCODING, load_encoding
from raglift.errors import ConfigurationError
from raglift.evaluation.notes import cut_stages, evaluation_notes, fewest_tokens
from raglift.matching import MatchRule, judge, reach_of
from raglift.metrics import MEASURES, PROFILES, counts_tokens
from raglift.results import Evaluation
from raglift.scoring import rankings_by_stage, score

if TYPE_CHECKING:
    from raglift.chunking.token_counts import TokenCounts
    from raglift.records import Dataset, Inventory, Metric, Run

__all__ = ["checked_rule", "evaluation_of", "require_chunks", "require_encoding"]

_WITHOUT_ABUTTING = (
    "span_precision_omega: which chunks abut a passage without sharing a character with it was not kept when this run "
    "was measured, so they are not counted, as they are in Chroma's code; evaluate again to count them"
)


def evaluation_of(
    run: Run, dataset: Dataset, metrics: tuple[Metric, ...], rule: MatchRule, profile: str, counter: TokenCounts
) -> Evaluation:
    """Match and score a run.

    Args:
        run: what a system returned.
        dataset: what it was asked, with the labels.
        metrics: what to compute.
        rule: what counts as a match.
        profile: whose metric conventions.
        counter: counts tokens, each distinct text once.
    """
    rankings = rankings_by_stage(run)
    wants_reach = any(MEASURES[metric.name].needs_chunks for metric in metrics)
    reach = reach_of(dataset.queries, run.inventory, rule) if run.inventory is not None and wants_reach else None
    judgements = judge(dataset.queries, rankings, rule, reach=reach, counter=counter)
    notes = []
    if reach is not None and run.inventory is not None and not run.inventory.abutting:
        notes.append(_WITHOUT_ABUTTING)
    budgets = sorted({metric.budget for metric in metrics if metric.budget is not None})
    scored = {
        "ks": sorted({metric.k for metric in metrics if metric.k is not None}),
        "budgets": [budget.most for budget in budgets],
        "match": asdict(rule),
        "profile": profile,
    }
    run = replace(run, spec={**run.spec, **scored})
    truncated = cut_stages(run, rankings)
    return Evaluation(
        run=run,
        dataset=dataset,
        scores=score(run, dataset, judgements, metrics, profile),
        profile=profile,
        truncated=truncated,
        notes=(*evaluation_notes(run, dataset, judgements, truncated, budgets), *notes),
        judgements=tuple(judgements),
        truncated_tokens=fewest_tokens(truncated, judgements, run) if budgets else {},
    )


def require_chunks(metrics: tuple[Metric, ...], inventory: Inventory | None) -> None:
    """Raise when a metric needs all chunks of the index and they are not known."""
    wanted = [str(metric) for metric in metrics if MEASURES[metric.name].needs_chunks]
    if wanted and inventory is None:
        raise ConfigurationError(
            f"{wanted[0]}: found a system that does not tell its chunks; expected them, as evaluate(..., chunks=chunks)"
        )


def require_encoding(metrics: tuple[Metric, ...]) -> None:
    """Raise when a metric needs tokens counted and they cannot be, before the system is asked anything."""
    if any(counts_tokens(metric) for metric in metrics):
        load_encoding(DEFAULT_ENCODING)


def checked_rule(match: str | MatchRule, profile: str) -> MatchRule:
    """Return what counts as a match.

    Raises:
        ConfigurationError: an unknown profile or mode.
    """
    if profile not in PROFILES:
        raise ConfigurationError(f"profile: found {profile!r}; expected one of {', '.join(map(repr, PROFILES))}")
    return match if isinstance(match, MatchRule) else MatchRule.for_profile(profile, match)
