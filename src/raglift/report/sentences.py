"""Results in words: whether a difference is significant, where recall is lost, and why queries failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.analysis.outcomes import failures_of
from raglift.analysis.paired_statistics import (
    NOT_COMPARABLE,
    NOT_SIGNIFICANT,
    TOO_SKEWED,
    interval_of,
    outweighed_text,
)
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Table
from raglift.report.format import (
    confidence_text,
    decimals_of,
    interval_in_words,
    level,
    outcome_text,
    p_equation,
    percent_text,
    signed,
)
from raglift.types.metric import Metric
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.analysis.outcomes import FailureAnalysis, OutcomeFacts
    from raglift.analysis.records import ComparisonRow, Lift
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation


_WORDS_OF_NAME = 7
_BETWEEN = ("·", "+", "→")
"""Signs between the parts of a name, which are no words."""
_FEW_LOST = 0.02
"""Where no more than this share of the facts is not found, finding them gains little."""
EXPLORATORY = "Exploratory: p-values are not adjusted, and a query with several tags is counted under each."
BEYOND_CANDIDATES = "hits that were not candidates raise it, so before and after cannot be compared"
PARETO = "Pareto-optimal: no other system beats it on one measure without losing on another."


def detectable_effect_text(size: str) -> str:
    """Return the smallest difference that this number of queries detects with a power of 80%."""
    return f"minimum detectable effect {size}"


def detectable_effect_sentence(size: str, name: str) -> str:
    """Return the minimum detectable effect on a metric, and what happens to smaller ones, as a sentence."""
    return f"Minimum detectable effect in {name} (80% power): {size}; smaller differences are often missed."


def lift_sentence(lift: Lift) -> str:
    """Return whether the reranker helped, as the primary metric decides, in terms of first passages where they agree.

    "The reranker helped: the right passage comes first for 58 of 100 questions, up from 41." The share of questions is
    HitRate@1; where that was not scored, or did not move as the primary metric did, the primary metric is named.
    """
    row, name = lift.row(), mean_title(lift.primary)
    found = row.difference
    if row.n == 0:
        return _nothing_counts(name)
    if found is None or not found.n:
        return (
            f"Lift is not reported: {_shallow(lift.evaluation, lift.primary)}, so {name} before and after reranking "
            "cannot be compared."
        )
    decimals = decimals_of(lift.primary)
    before, after = f"{row.before:.{decimals}f}", f"{row.after:.{decimals}f}"
    if not found.wins and not found.losses:
        return f"The reranker did not change {name} for any query: it stays at {before} on {counted(found.n, 'query')}."
    if row.verdict == NOT_SIGNIFICANT:
        moved = f"{name} went from {before} to {after}" if before != after else f"{name} stays at {after} on average"
        return f"The reranker made no clear difference: {moved}, which may be chance on {counted(found.n, 'query')}."
    if row.verdict == TOO_SKEWED:
        unclear = f"It is unclear whether the reranker helped: {name} went from {before} to {after}"
        return f"{unclear}, {TOO_SKEWED}: {outweighed_text(found)}."
    change = _first_passages(lift) or f"{name} {'rose' if row.verdict == 'better' else 'fell'} from {before} to {after}"
    return f"The reranker {'helped' if row.verdict == 'better' else 'hurt'}: {change}."


def _first_passages(lift: Lift) -> str:
    """Return for how many questions the right passage comes first, after and before; empty if it says otherwise."""
    first = Metric("hit_rate", 1)
    row = next((row for row in lift.rows if row.metric == first), None)
    if row is None or row.difference is None or not row.difference.n:
        return ""
    (after, of), (before, _) = _out_of(row.after, row.n), _out_of(row.before, row.n)
    if (after > before) != (lift.row().verdict == "better") or after == before:
        return ""
    way = "up" if after > before else "down"
    return f"the right passage comes first for {after:,} of {of:,} questions, {way} from {before:,}"


def _out_of(share: float, n: int) -> tuple[int, int]:
    """Return a share of n as whole numbers: so many out of n, or out of 100 where n is larger."""
    of = min(n, 100)
    return round(share * of), of


def over_candidates_sentence(lift: Lift) -> str:
    """Return what the reranker alone changed; empty where there is no such pair, as where candidates are no stage."""
    if not lift.over_candidates:
        return ""
    row, decimals = lift.over_candidates[0], decimals_of(lift.primary)
    if row.difference is None or not row.difference.n:
        return ""
    before, after, found = f"{row.before:.{decimals}f}", f"{row.after:.{decimals}f}", row.difference
    between = interval_in_words(found, level(lift.method), decimals, signs=True)
    change = f"{', '.join(filter(None, [signed(found.mean, decimals), between]))}; {p_equation(found.p)}"
    return f"Over the candidates: from {before} to {after} ({change}; exploratory)."


def one_stage_sentence(evaluation: Evaluation, metric: Metric, confidence: float = 0.95) -> str:
    """Return how often the only stage finds the right passage, or else the mean of a metric with its interval.

    "The right passage comes first for 41 of 100 questions and is among the first 10 for 79." The shares are HitRate@1
    and HitRate@k at the metric's depth.
    """
    name, decimals = mean_title(metric), decimals_of(metric)
    scores, stage = evaluation.scores, evaluation.after
    n = scores.n(stage, metric)
    if not n:
        return _nothing_counts(name)
    k = metric.k
    rates = [Metric("hit_rate", 1), Metric("hit_rate", k)]
    if k is not None and k > 1 and all(rate in scores.metrics for rate in rates):
        (first, of), (within, _) = (_out_of(scores.mean(stage, rate), scores.n(stage, rate)) for rate in rates)
        return (
            f"The right passage comes first for {first:,} of {of:,} questions and is among the first {k} for "
            f"{within:,}."
        )
    interval = interval_of(metric, scores.of(stage, metric), confidence)
    between = interval_in_words(interval, confidence_text(confidence), decimals)
    mean = f"{scores.mean(stage, metric):.{decimals}f}" + (f" ({between})" if between else "")
    return f"{name} is {mean} on {counted(n, 'query')}."


def failure_analysis_sentence(losses: FailureAnalysis, system: str = "") -> str:
    """Return how many facts are found, and the outcome of most of the others; empty if there is no fact."""
    if not losses.facts:
        return ""
    found, k = losses.of("found").facts, losses.k
    share = f"{found:,} of {counted(losses.facts, 'fact')} ({percent_text(found / losses.facts, 0)})"
    if found == losses.facts > 1:
        share = f"all {counted(found, 'fact')}"
    is_found = "is found" if 1 in (found, losses.facts) else "are found"
    said = f"{f'With {system}, ' if system else ''}{share} {is_found} in the top {k}"
    lost = sorted((loss for loss in losses.losses if loss.facts and loss.outcome != "found"), key=lambda x: -x.facts)
    if not lost:
        return f"{said[0].upper()}{said[1:]}."
    first, rest = lost[0], losses.facts - found
    are = "is" if first.facts == 1 else "are"
    if len(lost) == 1:
        others_are = f"the other {rest:,} are" if rest > 1 else "the other one is"
        return f"{said}; {others_are if found else f'all {are}' if rest > 1 else 'it is'} {outcome_text(first, k)}."
    if 2 * first.facts > rest:
        return f"{said}; most of the rest ({first.facts:,}) are {outcome_text(first, k)}."
    others = [f"{loss.facts:,} {outcome_text(loss, k)}" for loss in lost[1:]]
    return f"{said}; of the rest, {'; '.join([f'{first.facts:,} {are} {outcome_text(first, k)}', *others])}."


def next_step(facts: int, losses: Sequence[OutcomeFacts], k: int, *, has_reranker: bool, tried: str = "") -> str:
    """Return what to try next, by what became of most of the facts that are not found.

    Args:
        facts: how many there are.
        losses: the outcomes of those that are not found, the commonest first.
        k: by which rank they are looked for.
        has_reranker: whether the system has one.
        tried: the names of the systems that were measured: what these have is not advised.
    """
    if not facts:
        return ""
    lost = sum(loss.facts for loss in losses)
    if not lost:
        return f"Next: ask harder questions, or look at a lower k: all {facts:,} facts are found by rank {k}."
    most = losses[0]
    if lost <= _FEW_LOST * facts and most.outcome != "failed":
        return (
            f"Next: look at latency and cost, or ask harder questions: {facts - lost:,} of {facts:,} facts are found "
            f"by rank {k}, so little is left to gain."
        )
    are = "is" if most.facts == 1 else "are"
    these = ("it" if lost == 1 else "they") if most.facts == lost else f"{most.facts:,} of them"
    not_found = f"{lost:,} of {facts:,} facts {'is' if lost == 1 else 'are'} not found by rank {k}"
    advice = {
        "below_k": "another reranker, or more hits in the prompt" if has_reranker else "a reranker",
        "dropped": f"more hits after {most.stage}",
        "not_retrieved": _either(_deeper(has_reranker), *_other_retrievers(tried)),
        "not_attainable": "raglift labels check, which names labels that are in no document, or larger chunks",
        "missed": _either(_deeper(has_reranker), "another retriever", "larger chunks"),
    }.get(most.outcome)
    if most.outcome == "failed":
        which = "" if most.facts == lost else f"{most.facts:,} of them "
        return f"Next: find out why queries fail: {not_found}, {which}because the query failed."
    return f"Next: try {advice}: {not_found}, and {these} {are} {outcome_text(most, k)}."


def _deeper(has_reranker: bool) -> str:
    return "more candidates" if has_reranker else ""


def _other_retrievers(tried: str) -> Iterator[str]:
    """Yield kinds of retrievers that were not measured; BM25 alone has no embedding model to replace."""
    if "hybrid" not in tried:
        yield "a hybrid of BM25 and embeddings"
    if "bm25" not in tried or "dense" in tried or "hybrid" in tried:
        yield "another embedding model"


def _either(*options: str) -> str:
    """Return what can be tried, as `a, b, or c`."""
    given = [option for option in options if option]
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])}, or {given[-1]}"


def failure_sentence(evaluation: Evaluation) -> str:
    """Return how many queries failed; empty if none did."""
    failed = sum(trace.error is not None for trace in evaluation.run.traces)
    if not failed:
        return ""
    of, counts = len(evaluation.dataset), "counts" if failed == 1 else "count"
    if failed == of:
        return f"{'The only query' if of == 1 else f'All {of:,} queries'} failed and {counts} 0."
    return f"{failed:,} of {counted(of, 'query')} failed and {counts} 0."


def comparison_sentence(comparison: Comparison) -> str:
    """Return which system is best and what that is worth, in at most 30 words, with what could change it.

    "dense has the highest NDCG@10 of 4 systems, 0.682, significantly above the baseline's 0.554."
    """
    name = mean_title(comparison.primary)
    tested = [row for row in map(comparison.deciding, comparison.others) if row.verdict is not None]
    if len(_failed_whole(comparison)) == len(comparison.names):
        return "Every query of every system failed, so nothing was measured."
    if not tested:
        if not comparison.row(comparison.baseline).n:
            return _nothing_counts(name)
        return f"No verdict: no system can be compared with {short_name(comparison.baseline)} in {name}."
    if len(comparison.others) == 1:
        return _pair_sentence(tested[0], comparison)
    best = best_of(comparison)
    row, decides = comparison.row(best), comparison.deciding(best)
    short, of = short_name(best), f"of {len(comparison.names):,} systems"
    mean = f"{_mean(row)}{_recall_at_budget(comparison, best)}"
    if best == comparison.baseline:
        first = f"The baseline, {short}, has the highest {name} {of}, {mean}"
        worse = sum(one.verdict == "worse" for one in tested)
        unknown = sum(one.verdict == NOT_COMPARABLE for one in tested)
        others = "no difference to another is significant"
        if worse:
            others = f"{worse:,} of the others {'is' if worse == 1 else 'are'} significantly worse"
        elif unknown:
            others = f"{unknown:,} cannot be compared by size"
        return f"{first}; {others}{_caution(comparison, best)}."
    worth = _against_baseline(row, decides)
    return f"{short} has the highest {name} {of}, {mean}, {worth}{_caution(comparison, best)}."


def _against_baseline(row: ComparisonRow, decides: ComparisonRow) -> str:
    """Return what the best system is worth beside the baseline."""
    value = f"{decides.baseline_mean:.{decimals_of(decides.metric)}f}"
    if decides.metric != row.metric:  # it has the chunks of the baseline
        worth = {
            "better": "significantly better",
            "worse": "significantly worse",
            NOT_SIGNIFICANT: "which may be chance",
        }.get(str(decides.verdict), "which is unclear")
        return f"and {mean_title(decides.metric)} {_mean(decides)} against the baseline's {value}, {worth}"
    above = f"above the baseline's {value}"
    return {
        "better": f"significantly {above}",
        NOT_SIGNIFICANT: f"but that may be chance: the baseline has {value}",
        TOO_SKEWED: f"but it is unclear whether that is {above}",
        NOT_COMPARABLE: "but that cannot be compared by size with the baseline, as prompts are not full",
    }.get(str(decides.verdict), "but cannot be compared with the baseline")


def _recall_at_budget(comparison: Comparison, name: str, other: str | None = None) -> str:
    """Return recall at the budget with its interval, in brackets; empty where recall up to it does not decide.

    Of two systems in the order of the sentence.
    """
    found = comparison.fairness
    if found is None or found.recall is None or comparison.primary != found.area:
        return ""
    shares = []
    for row in (comparison.row(one, found.recall) for one in (name, other) if one is not None):
        if row.interval is None:
            return ""
        low, high = percent_text(row.interval.low, 0), percent_text(row.interval.high, 0)
        shares.append(f"{percent_text(row.mean, 0)} [{low}, {high}]")
    finds = "it finds " if other is None else ""
    return f" (at {found.budget.most:,} tokens {finds}{' against '.join(shares)} of the facts)"


def _not_comparable_sentence(row: ComparisonRow, comparison: Comparison) -> str:
    """Return that two prompts are not of one size, and what each system finds as deployed."""
    found = comparison.fairness
    pair = (comparison.baseline, row.system)
    if found is None or found.filled is None or found.unfilled is None:
        return f"{short_name(row.system)} and {short_name(comparison.baseline)} are {NOT_COMPARABLE}."
    short = min(pair, key=found.filled.__getitem__)
    sends = f"{short_name(short)} sends {found.filled[short]:,.0f} of {found.budget.most:,} tokens"
    finds = "; ".join(filter(None, (as_deployed(comparison, name) for name in pair)))
    return f"{NOT_COMPARABLE.capitalize()}: {sends}{f'; as deployed, {finds}' if finds else ''}."


def as_deployed(comparison: Comparison, name: str) -> str:
    """Return what share of the facts a system finds as deployed, with how many tokens; empty if that is not known."""
    found = comparison.fairness
    if found is None or found.in_hits is None or found.sent is None:
        return ""
    recall = Metric("recall", found.in_hits.k)
    if recall not in comparison.metrics:
        return ""
    share = percent_text(comparison.row(name, recall).mean, 0)
    return f"{short_name(name)} finds {share} of the facts with {found.sent[name]:,.0f} tokens"


def _pair_sentence(row: ComparisonRow, comparison: Comparison) -> str:
    name, decimals = mean_title(comparison.primary), decimals_of(row.metric)
    new, old = short_name(row.system), short_name(comparison.baseline)
    on = f"on {counted(row.n, 'query')}"
    if row.difference is not None and not row.difference.wins and not row.difference.losses:
        return f"{new} and {old} have the same {name}, {_mean(row)}, {on}: none differs."
    if row.verdict == NOT_COMPARABLE:
        return _not_comparable_sentence(row, comparison)
    better, worse = row.system, comparison.baseline
    means = f"{name} {_mean(row)} against {row.baseline_mean:.{decimals}f}"
    if row.verdict != "better":
        better, worse = worse, better
    caution = _caution(comparison, better)
    if row.verdict == NOT_SIGNIFICANT:
        means = f"{means}{_recall_at_budget(comparison, row.system, comparison.baseline)}"
        caution = caution if _failed_whole(comparison) else ""
        return f"No clear difference between {new} and {old}: {means}, which may be chance {on}{caution}."
    if row.verdict == TOO_SKEWED:
        return f"It is unclear whether {new} differs from {old}: {means} is {TOO_SKEWED}{caution}."
    if row.verdict == "worse":
        means = f"{name} {row.baseline_mean:.{decimals}f} against {_mean(row)}"
    means = f"{means}{_recall_at_budget(comparison, better, worse)}"
    return f"{short_name(better)} is better than {short_name(worse)}: {means}, statistically significant {on}{caution}."


def _caution(comparison: Comparison, best: str) -> str:
    """Return what would make another system the best, beginning with `; `; empty if nothing is known to."""
    if failed := _failed_whole(comparison):
        return f"; every query of {short_name(failed[0])} failed"
    fair = comparison.fairness
    if fair is not None and not fair.decides and fair.area is not None and fair.area in comparison.metrics:
        rows = [row for row in comparison.of(fair.area) if row.n and not row.truncated]
        other = max(rows, key=lambda row: row.mean).system if rows else best
        if other != best and not any(fair.ends_early(row.system, row.n) for row in rows):
            return f"; at equal prompts of {fair.budget.most:,} tokens {short_name(other)} leads"
    return ""


def _failed_whole(comparison: Comparison) -> list[str]:
    """Return the systems of which every query failed."""
    systems = zip(comparison.names, comparison.evaluations, strict=True)
    return [name for name, one in systems if all(trace.error is not None for trace in one.run.traces)]


def short_name(name: str, most: int = _WORDS_OF_NAME) -> str:
    """Return a name of at most so many words, dots between them not counted; what is left out is `…`."""
    parts = name.split()
    words = 0
    for place, part in enumerate(parts):
        words += part not in _BETWEEN
        if words > most:
            return " ".join(parts[:place]).rstrip(" ".join(_BETWEEN)) + "…"
    return name


def best_of(comparison: Comparison) -> str:
    """Return the system with the highest mean of the primary metric, of equal ones the baseline."""
    best = comparison.best
    if best is None or comparison.row(best).mean == comparison.row(comparison.baseline).mean:
        return comparison.baseline
    return best


def baseline_sentence(comparison: Comparison) -> str:
    """Return which system the others are compared with, and why."""
    reason = f" ({comparison.baseline_reason})" if comparison.baseline_reason else ""
    return f"Baseline: {comparison.baseline}{reason}."


def failure_analysis_depth(evaluation: Evaluation, primary: Metric) -> int | None:
    """Return the depth at which a fact counts as found next to a metric; None for the deepest that was scored."""
    k = primary.k
    return k if k is not None and k <= int(evaluation.run.spec["candidates"]) else None


def _mean(row: ComparisonRow) -> str:
    return f"{row.mean:.{decimals_of(row.metric)}f}"


def _nothing_counts(name: str) -> str:
    return f"No query has labels that count, so {name} cannot be computed."


def _shallow(evaluation: Evaluation, metric: Metric) -> str:
    cut = [stage for stage in evaluation.scores.stages if evaluation.is_truncated(stage, metric)]
    if evaluation.is_beyond_candidates(evaluation.after, metric):
        return f"hits that were not candidates raise {mean_title(metric)}"
    if not cut:
        return "no query has a value on both sides"
    return evaluation.truncation(cut[0])


def failures_table(evaluation: Evaluation, *, most: int | None = None) -> Table | None:
    """Return causes, how many queries each took, and which; None if no query failed."""
    found = failures_of(evaluation.run)
    if not found:
        return None
    rows = tuple(
        (
            Cell(failure.cause),
            Cell(f"{len(failure.query_ids):,}"),
            Cell(failure.first),
            Cell(_named(failure.query_ids, most)),
        )
        for failure in found
    )
    caption = "Why queries failed"
    return Table(
        caption, ("cause", "queries", "the first error", "which"), rows, text_columns=(0, 2, 3), rests_on_labels=False
    )


def _named(ids: tuple[str, ...], most: int | None) -> str:
    shown = ids if most is None else ids[:most]
    more = f" and {len(ids) - len(shown):,} more" if len(ids) > len(shown) else ""
    return ", ".join(shown) + more
