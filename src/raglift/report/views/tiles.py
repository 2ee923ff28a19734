"""The first screen of an evaluation: a few large figures, and what became of the facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from raglift.analysis.fairness import tokens_sent
from raglift.analysis.outcomes import OUTCOMES, FailureAnalysis, fact_outcomes
from raglift.analysis.paired_statistics import interval_of, is_quality, scored
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Share, Tile
from raglift.report.cells import difference_cell
from raglift.report.format import (
    confidence_text,
    decimals_of,
    interval_in_words,
    number_text,
    outcome_text,
    p_equation,
    percent_text,
    verdict_emphasis,
    whole_percent,
)
from raglift.report.sentences import is_area
from raglift.report.views.parts import definition_of
from raglift.report.views.sessions import session_tiles
from raglift.stats.intervals import CONFIDENCE, TIED
from raglift.types.metric import Metric
from raglift.utilities.display import counted, printable

if TYPE_CHECKING:
    from raglift.analysis.records import Lift
    from raglift.report.findings import Findings
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation


def evaluation_tiles(found: Findings) -> tuple[Tile, ...]:
    """Return the figures of the first screen: right first, in the top k, the primary metric, and the facts found.

    A share of questions is shown where the hit rate at its depth was scored. Of sessions, the primary metric, and what
    was found, by how many calls, and kept.
    """
    evaluation, lift, primary = found.evaluation, found.lift, found.primary
    if found.sessions is not None:
        tiles = [*session_tiles(found.sessions), _primary_tile(found)]
    else:
        depths = dict.fromkeys(depth for depth in (1, primary.k) if depth is not None)
        rates = [metric for depth in depths if (metric := Metric("hit_rate", depth)) != primary]
        tiles = [_rate_tile(evaluation, lift, metric) for metric in rates if metric in evaluation.scores.metrics]
        tiles += [_primary_tile(found), _facts_tile(evaluation, found.losses.k)]
    return tuple(tile for tile in tiles if tile is not None)


def _rate_tile(evaluation: Evaluation, lift: Lift | None, metric: Metric) -> Tile | None:
    """Return the share of questions with a right passage among the first hits; None if no query counts."""
    share = evaluation.scores.mean(evaluation.after, metric)
    if math.isnan(share):
        return None
    first, questions = metric.k == 1, counted(evaluation.scores.n(evaluation.after, metric), "question")
    name = mean_title(metric)
    label = "Right passage first" if first else f"Right passage in the top {metric.k}"
    where = "the first hit matches" if first else f"one of the first {metric.k} hits matches"
    definition = f"{name}: the share of questions for which {where} a passage that answers the question."
    found = None if lift is None else lift.row(metric).difference
    change = emphasis = ""
    if lift is not None and found is not None and found.n:
        before = lift.row(metric).before
        points = whole_percent(lift.row(metric).after) - whole_percent(before)
        sign = "▲" if points > 0 else "▼"
        change = f"{sign} {counted(abs(points), 'point')}, from " if points else "unchanged from "
        change += percent_text(before, 0)
        emphasis = difference_cell(metric, found, alpha=lift.method.alpha).emphasis
    return Tile(label, percent_text(share, 0), change, emphasis.replace("muted", ""), f"of {questions}", definition)


def _primary_tile(found: Findings) -> Tile | None:
    """Return the metric that decides, its interval or that of its change, and its ceiling; None without queries."""
    evaluation, lift, primary = found.evaluation, found.lift, found.primary
    decimals, name, meaning = decimals_of(primary), mean_title(primary), definition_of(primary)
    percent, ceiling = confidence_text(found.confidence), _ceiling(found)
    change = None if lift is None else lift.row().difference
    if lift is not None and change is not None and change.n:
        row = lift.row()
        sign = "▲ " if change.mean > TIED else "▼ " if change.mean < -TIED else ""
        moved = f"{sign}{number_text(abs(change.mean), decimals)}, from {number_text(row.before, decimals)}"
        parts = [interval_in_words(change, percent, decimals, signs=True), p_equation(change.p), ceiling]
        note = "; ".join(filter(None, parts))
        return Tile(name, number_text(row.after, decimals), moved, verdict_emphasis(row.verdict), note, meaning)
    mean = evaluation.scores.mean(evaluation.after, primary)
    if math.isnan(mean):
        return None
    interval = interval_of(primary, evaluation.scores.of(evaluation.after, primary), found.confidence)
    note = "; ".join(filter(None, [interval_in_words(interval, percent, decimals), ceiling]))
    return Tile(name, number_text(mean, decimals), "", "", note, meaning)


def _ceiling(found: Findings) -> str:
    """Return what a perfect reranker of the same candidates would reach; empty where that is not known."""
    primary, bound = found.primary, found.upper_bound
    if primary.name not in ("ndcg", "recall") or primary.parameters or primary.k != found.losses.k:
        return ""
    most = bound.mean_ndcg if primary.name == "ndcg" else bound.mean_recall
    return "" if math.isnan(most) else f"a perfect reranker: {'' if bound.is_exact else '≤ '}{most:.3f}"


def _facts_tile(evaluation: Evaluation, k: int) -> Tile | None:
    """Return how many facts are found by rank k, before and after; None if no query is labelled."""
    outcomes = fact_outcomes(evaluation, k)
    facts = len(outcomes.query)
    if not facts:
        return None
    stages = evaluation.scores.stages
    before, after = (
        int(((ranks > 0) & (ranks <= outcomes.k)).sum())
        for ranks in (outcomes.ranks[stages.index(evaluation.before)], outcomes.ranks[-1])
    )
    change = ""
    if len(stages) > 1:
        sign = "▲" if after > before else "▼"
        change = f"{sign} {abs(after - before):,}, from {before:,}" if after != before else f"unchanged from {before:,}"
    note = f"{percent_text(after / facts, 0)} of all facts, in the top {outcomes.k}"
    if not math.isnan(sent := tokens_sent(evaluation, outcomes.k)):
        note += f"; about {number_text(sent, 0)} tokens sent"
    definition = (
        f"A fact is one thing that an answer needs; a question may need several. It is found if the first {outcomes.k} "
        "hits hold a passage that states it."
    )
    return Tile("Facts found", f"{after:,} of {facts:,}", change, "", note, definition)


def target_shown(evaluation: Evaluation, target: Mapping[str, float]) -> tuple[str, Tile]:
    """Return whether means reach what is asked of them, in a sentence and as a tile.

    Args:
        evaluation: what was measured.
        target: the lowest means, by metric; a stage may be before it, as in `retrieve:recall@50`.
    """
    said, missed = [], []
    for name, least in target.items():
        stage, _, text = name.rpartition(":")
        stage = stage or evaluation.after
        if stage not in evaluation.scores.stages:
            known = ", ".join(evaluation.scores.stages)
            raise ConfigurationError(f"target: found the stage {printable(stage)!r}; expected one of {known}")
        metric = scored(text, evaluation.scores.metrics, "target")
        if not is_quality(metric) or not math.isfinite(least):
            raise ConfigurationError(
                f"target: found {metric} with {least:g}; expected a measure of quality and a number"
            )
        mean, decimals = evaluation.scores.mean(stage, metric), max(decimals_of(metric), len(f"{least:g}") - 2)
        interval = interval_of(metric, evaluation.scores.of(stage, metric), CONFIDENCE)
        between = interval_in_words(interval, confidence_text(CONFIDENCE), decimals_of(metric))
        of_stage = "" if stage == evaluation.after else f" ({stage})"
        figure = f"{mean_title(metric)}{of_stage} {number_text(mean, decimals)}, at least {least:g}"
        said.append(f"{figure}{f' ({between})' if between else ''}")
        missed += [] if mean >= least else [figure]
        if math.isnan(mean):
            return f"The target cannot be checked: no question counts in {mean_title(metric)}.", Tile("Target", "–")
    tile = Tile("Target", "missed" if missed else "reached", note="; ".join(said))
    if missed:
        return f"The target is missed: {'; '.join(missed)}.", tile
    return "The target is reached on these questions.", tile


_MOST_SYSTEMS = 6


def comparison_tiles(comparison: Comparison, names: Sequence[str]) -> tuple[Tile, ...]:
    """Return a figure for each of a few systems: how often it puts the right passage first, and what it sends.

    Where prompts of one size are compared, the share of the facts that is found, averaged over the sizes.
    """
    fair, metric = comparison.fairness, comparison.primary
    budget = metric.budget if is_area(metric) else None
    shown = metric if budget is not None else Metric("hit_rate", 1)
    k = metric.k if fair is None or fair.in_hits is None else fair.in_hits.k
    within = Metric("hit_rate", k)
    if shown not in comparison.metrics or any(not comparison.row(name, shown).n for name in names):
        return ()
    chosen = list(dict.fromkeys(names))
    if len(chosen) > _MOST_SYSTEMS:
        chosen = list(dict.fromkeys([chosen[0], comparison.baseline, *chosen]))[:_MOST_SYSTEMS]
    tiles = []
    for name in chosen:
        share = percent_text(comparison.row(name, shown).mean, 0)
        top = percent_text(comparison.row(name, within).mean, 0) if within in comparison.metrics and k != 1 else ""
        tokens = tokens_sent(comparison.evaluation(name), k)
        sent = "" if math.isnan(tokens) else f"about {number_text(tokens, 0)} tokens"
        if budget is not None:
            notes = [f"of the facts, averaged over prompts of up to {budget.most:,} tokens"]
            top_k = "all hits" if k is None else f"the top {k}"
            deployed = f"right passage in {top_k}: {top}" if top else ""
            notes += [f"as deployed, {', '.join(filter(None, [deployed, sent]))}"] if deployed or sent else []
        else:
            notes = [
                "right passage first",
                *([f"{top} in the top {k}"] if top else []),
                *([f"{sent} sent"] if sent else []),
            ]
        verdict = "baseline" if name == comparison.baseline else comparison.deciding(name).verdict
        row = comparison.row(name)
        mean = (
            ""
            if budget is not None or not row.n
            else f"{mean_title(metric)} {number_text(row.mean, decimals_of(metric))}"
        )
        change = ", ".join(filter(None, [mean, str(verdict or "")]))
        emphasis = verdict_emphasis(verdict).replace("muted", "")
        tiles.append(Tile(name, share, change, emphasis, "; ".join(notes), definition_of(shown)))
    return tuple(tiles)


def shares_of(losses: FailureAnalysis) -> tuple[Share, ...]:
    """Return what became of the facts, those that are found first; nothing if there are none."""
    if not losses.facts:
        return ()
    words = {"found": "found", "missed": "not retrieved, or lost in chunking"}
    if [one.stage for one in losses.losses if one.outcome == "dropped" and one.facts] == ["rerank"]:
        words["dropped"] = "dropped by the reranker"
    found = [
        Share(words.get(one.outcome) or outcome_text(one, losses.k), one.facts, one.outcome)
        for one in losses.losses
        if one.facts
    ]
    return tuple(sorted(found, key=lambda share: OUTCOMES.index(share.outcome)))
