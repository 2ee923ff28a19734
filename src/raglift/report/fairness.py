"""How different chunkings were compared, in sentences and as columns beside the figures that decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from raglift.analysis.chunking import index_share
from raglift.analysis.fairness import Fairness, tokens_sent
from raglift.analysis.paired_statistics import NOT_COMPARABLE
from raglift.analysis.shared_queries import named
from raglift.metrics.computing import mean_title
from raglift.report.format import number_text, percent_text
from raglift.report.sentences import as_deployed
from raglift.types.metric import Metric
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation


def fairness_sentences(comparison: Comparison) -> list[str]:
    """Return what decides and why, what cannot be compared, who leads, and where k hits are much of an index."""
    found, systems = comparison.fairness, dict(zip(comparison.names, comparison.evaluations, strict=True))
    if found is None:
        return index_sentences(systems, comparison.primary.k)
    sentences = [
        _deployed_sentence(comparison, found),
        reading_sentence(found),
        *_not_comparable(comparison, found),
        *size_sentences(found),
    ]
    same = [name for name in comparison.others if comparison.deciding(name).metric != comparison.primary]
    if same:
        have, decides = "has" if len(same) == 1 else "have", mean_title(comparison.deciding(same[0]).metric)
        sentences.append(
            f"{named(same)} {have} the chunks of {comparison.baseline}, or about as long ones, so {decides} decides "
            "between them, as the runs were scored."
        )
    k = comparison.primary.k if found.in_hits is None else found.in_hits.k
    return [*filter(None, [*sentences, matching_sentence(found)]), *index_sentences(systems, k)]


def _deployed_sentence(comparison: Comparison, found: Fairness) -> str:
    """Return which system finds a right passage most often as deployed, if that is not the one that leads by size."""
    metric = None if found.in_hits is None else Metric("hit_rate", found.in_hits.k)
    best = comparison.best
    if not found.decides or metric not in comparison.metrics or best is None:
        return ""
    rows = {row.system: row for row in comparison.of(metric) if row.n}
    most = max(rows, key=lambda name: rows[name].mean, default=best)
    if most == best or best not in rows or rows[most].mean - rows[best].mean < _CLOSE:
        return ""
    one, other = (percent_text(rows[name].mean, 0) for name in (most, best))
    sent = [number_text(tokens_sent(comparison.evaluation(name), metric.k), 0) for name in (most, best)]
    return (
        f"The order depends on what is sent. With {counted(metric.k, 'hit') if metric.k else 'all hits'} as deployed, "
        f"{most} has a right passage for {one} of questions and {best} for {other}, with about {sent[0]} "
        f"against {sent[1]} tokens."
    )


_CLOSE = 0.02


def reading_sentence(found: Fairness) -> str:
    """Return that systems are compared by what is read, and at which budget; empty where another metric decides."""
    if not found.decides or found.area is None:
        return ""
    limit = found.budget.most * found.characters_per_token
    return (
        f"Chunks differ, so systems are compared by what is read: {mean_title(found.area)} is recall averaged over all "
        f"prompt sizes up to {found.budget.most:,} tokens ({limit:,.0f} characters, {found.characters_per_token:.2f} a "
        "token in the labelled passages)."
    )


def size_sentences(found: Fairness) -> list[str]:
    """Return who leads at which prompt size, and whether another would where passages must be read whole."""
    sentences = []
    sizes: dict[str, list[str]] = {}
    for lead in found.leads:
        sizes.setdefault(lead.system, []).append(f"{lead.budget.most:,}")
    if found.change is not None:
        low, high = found.change
        sentences.append(
            f"Recall by prompt size: {low.system} leads at {low.budget.most:,} tokens, {high.system} at "
            f"{high.budget.most:,}, both significantly (Holm over sizes and pairs)."
        )
    elif sizes:
        highest = "; ".join(
            f"highest at {' and '.join([', '.join(at[:-1])] * (len(at) > 1) + at[-1:])} tokens: {system}"
            for system, at in sizes.items()
        )
        sentences.append(f"Recall by prompt size: {highest}{'; no significant change of lead' * (len(sizes) > 1)}.")
    if found.at_whole is not None and found.area is not None:
        sentences.append(
            f"The order depends on how much of a passage is enough: where all of it must be read, "
            f"{found.at_whole.system} has the highest {mean_title(found.area)}, {found.at_whole.recall:.3f}."
        )
    return sentences


def _not_comparable(comparison: Comparison, found: Fairness) -> list[str]:
    """Return, of systems whose prompts end before the budget, what they find as deployed, and how to fill them."""
    open_rows = [name for name in comparison.others if comparison.deciding(name).verdict == NOT_COMPARABLE]
    if found.filled is None or found.unfilled is None:
        return []
    if not open_rows:
        early = [name for name in comparison.names if found.ends_early(name, comparison.row(name).n)]
        sizes = named([f"{name} sends {found.filled[name]:,.0f}" for name in early])
        holds = f"{sizes} of {found.budget.most:,} tokens; the verdicts hold whatever the rest holds."
        return [holds] if early and found.decides else []
    short = [name for name in (comparison.baseline, *open_rows) if found.unfilled[name]]
    sizes = ", ".join(f"{name} sends {found.filled[name]:,.0f}" for name in short[:_SHOWN])
    deployed = [as_deployed(comparison, name) for name in (comparison.baseline, *open_rows[:_SHOWN])]
    finds = "; ".join(filter(None, deployed))
    sizes = f"{sizes} of {found.budget.most:,} tokens, and the rest could turn the verdict"
    deployed_text = f" As deployed, {finds}." if finds else ""
    asked = [int(comparison.evaluation(name).run.spec.get("budget", 0)) for name in short]
    fills = f" `raglift evaluate … --budget {found.budget.most}` fills the prompts."  # of those that can be filled
    command = fills if min(asked, default=0) < found.budget.most else ""
    return [f"Not comparable by size: {sizes}.{deployed_text}{command}"]


_SHOWN = 3
_MOST_NAMED = 6
"""As many systems are named with their figures by containment; of more, the ends."""


def matching_sentence(found: Fairness) -> str:
    """Return that coverage decides, and what containment makes of the systems; empty where it does not."""
    if found.containment is None or found.in_hits is None:
        return ""
    ordered = sorted(found.containment.items(), key=lambda one: -one[1])
    shown = [f"{mean:.3f} ({name})" for name, mean in ordered]
    means = f"between {shown[-1]} and {shown[0]}" if len(shown) > _MOST_NAMED else ", ".join(shown)
    every = len(found.rescored) == len(found.lengths)
    whose = ", as the runs were scored" if every else f", as {named(found.rescored)} were scored"
    by = f"by containment{whose if found.rescored else ''}"
    return f"Hits are matched by coverage; {by}, {mean_title(found.in_hits)} is {means}."


def index_sentences(systems: Mapping[str, Evaluation], k: int | None) -> list[str]:
    """Return where k hits are more than a tenth of an index, as `10 hits are 56% of the index of a (18 chunks).`."""
    by_index: dict[tuple[int, float], list[str]] = {}
    for name, evaluation in systems.items():
        share, inventory = index_share(evaluation, k), evaluation.run.inventory
        if share is not None and inventory is not None:
            by_index.setdefault((inventory.chunks, share), []).append(name)
    hits = "1 hit is" if k == 1 else f"{k} hits are"
    parts = [
        f"{percent_text(share, 0)} of the index{f' of {named(names)}' if len(systems) > 1 else ''} "
        f"({chunks:,} chunk{'s' * (chunks != 1)})"
        for (chunks, share), names in sorted(by_index.items())
    ]
    return [f"{hits} {', '.join(parts)}."] if parts else []


def beside_of(found: Fairness | None) -> list[Metric]:
    """Return the metrics that stand beside the one that decides, where chunks differ.

    Where recall up to a budget decides, these are recall at the budget and, as deployed, the hit rate at k hits; where
    another metric was named, recall up to the budget.
    """
    if found is None or found.area is None:
        return []
    if not found.decides:
        return [found.area]
    deployed = [] if found.in_hits is None else [Metric("hit_rate", found.in_hits.k)]
    return [*([] if found.recall is None else [found.recall]), *deployed]
