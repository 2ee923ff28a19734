"""Results in words: whether a difference is significant, where recall is lost, and why queries failed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from raglift.analysis.outcomes import FailureAnalysis, OutcomeFacts, failures_of
from raglift.analysis.paired_statistics import (
    NOT_COMPARABLE,
    NOT_SIGNIFICANT,
    TOO_SKEWED,
    interval_of,
    outweighed_text,
)
from raglift.metrics.computing import mean_title
from raglift.metrics.prompt_measures import RecallArea
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
from raglift.stats.intervals import TIED
from raglift.types.metric import Metric
from raglift.types.rankings import CANDIDATES
from raglift.utilities.display import counted, listed

if TYPE_CHECKING:
    from raglift.analysis.records import ComparisonRow, Lift
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation


_WORDS_OF_NAME = 7
_NO_RERANKER = " · none"
_BETWEEN = ("·", "+", "→")
"""Signs between the parts of a name, which are no words."""
_FEW_LOST = 0.02
"""Where no more than this share of the facts is not found, finding them gains little."""
EXPLORATORY = "Exploratory: p-values are not adjusted, and a question with several tags is counted under each."
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

    "The reranker helped: the right passage comes first for 58% of questions, up from 41% (NDCG@10 from 0.554 to 0.689,
    significant)." The share of questions is HitRate@1, which is not what is tested; where it was not scored, or did not
    move as the primary metric did, the primary metric alone is named.
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
        on = counted(found.n, "question")
        return f"The reranker did not change {name} for any question: it stays at {before} on {on}."
    if row.verdict == NOT_SIGNIFICANT:
        moved = f"{name} went from {before} to {after}" if before != after else f"{name} stays at {after} on average"
        return f"The reranker made no clear difference: {moved}; {chance_text(found.n)}."
    if row.verdict == TOO_SKEWED:
        unclear = f"It is unclear whether the reranker helped: {name} went from {before} to {after}"
        return f"{unclear}, {TOO_SKEWED}: {outweighed_text(found)}."
    first, means = _first_passages(lift), f"from {before} to {after}"
    change = f"{name} {'rose' if row.verdict == 'better' else 'fell'} {means}"
    change = f"{first} ({name} {means}, significant)" if first else change
    return f"The reranker {'helped' if row.verdict == 'better' else 'hurt'}: {change}."


def chance_text(n: int) -> str:
    """Return that a difference may be chance."""
    return f"with {counted(n, 'question')} this may be chance"


def _first_passages(lift: Lift) -> str:
    """Return for how many questions the right passage comes first, after and before; empty if it says otherwise."""
    first = Metric("hit_rate", 1)
    row = next((row for row in lift.rows if row.metric == first), None)
    if row is None or row.difference is None or not row.difference.n:
        return ""
    after, before = questions_text(row.after, row.n), questions_text(row.before, row.n, short=True)
    rose = row.after > row.before
    if rose != (lift.row().verdict == "better") or before == questions_text(row.after, row.n, short=True):
        return ""
    return f"the right passage comes first for {after}, {'up' if rose else 'down'} from {before}"


_FEW_COUNTED = 20
"""Of fewer questions, so many are named instead of a share."""


def questions_text(share: float, n: int, *, short: bool = False) -> str:
    """Return a share of questions: `58% of questions`, or `58%` in short; of few, how many: `2 of 3 questions`."""
    if n < _FEW_COUNTED:
        return f"{round(share * n):,}" if short else f"{round(share * n):,} of {counted(n, 'question')}"
    percent = percent_text(share, 0)
    return percent if short else f"{percent} of questions"


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

    "The right passage comes first for 41% of questions and is in the top 10 for 79%." The shares are HitRate@1 and
    HitRate@k at the metric's depth.
    """
    name, decimals = mean_title(metric), decimals_of(metric)
    scores, stage = evaluation.scores, evaluation.after
    n = scores.n(stage, metric)
    if not n:
        return _nothing_counts(name)
    if found := found_text(evaluation, metric.k):
        return f"The right passage {found}."
    if is_area(metric):
        return f"It finds {quality_text(metric, scores.mean(stage, metric))}."
    interval = interval_of(metric, scores.of(stage, metric), confidence)
    between = interval_in_words(interval, confidence_text(confidence), decimals)
    mean = f"{scores.mean(stage, metric):.{decimals}f}" + (f" ({between})" if between else "")
    return f"{name} is {mean} on {counted(n, 'question')}."


def is_area(metric: Metric) -> bool:
    """Whether a metric is recall averaged over prompt sizes, by which prompts of one size are compared."""
    return metric.name == RecallArea.name and metric.budget is not None


def quality_text(metric: Metric, mean: float) -> str:
    """Return a mean in words: `NDCG@10 0.682`, or of an area `73% of the facts, averaged over prompts …`."""
    if is_area(metric) and metric.budget is not None:
        return f"{percent_text(mean, 0)} of the facts, averaged over prompts of up to {metric.budget.most:,} tokens"
    return f"{mean_title(metric)} {mean:.{decimals_of(metric)}f}"


def found_text(evaluation: Evaluation, k: int | None) -> str:
    """Return how often the right passage is found: `comes first for 41% of questions and is in the top 10 for 79%`.

    Empty where HitRate@1, or that at k, was not scored.
    """
    scores, stage = evaluation.scores, evaluation.after
    depths = {1, k}
    rates = [Metric("hit_rate", depth) for depth in (1, k) if depth is not None]
    if k is None or any(rate not in scores.metrics or not scores.n(stage, rate) for rate in rates):
        return ""
    first, within = (
        questions_text(scores.mean(stage, rate), scores.n(stage, rate), short=short)
        for rate, short in zip(rates, (False, True), strict=True)
    )
    return f"comes first for {first}" + (f" and is in the top {k} for {within}" if len(depths) > 1 else "")


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


def next_step(
    facts: int,
    losses: Sequence[OutcomeFacts],
    k: int,
    *,
    has_reranker: bool,
    tried: str = "",
    requested: float = math.inf,
) -> str:
    """Return what to try next, by what became of most of the facts that are not found.

    Args:
        facts: how many there are.
        losses: the outcomes of those that are not found, the commonest first.
        k: by which rank they are looked for.
        has_reranker: whether the system has one.
        tried: the names of the systems that were measured: what these have is not advised.
        requested: how many hits were requested of the retriever; by default many.
    """
    if not facts:
        return ""
    lost = sum(loss.facts for loss in losses)
    if not lost:
        lower = ", or look at a lower k" if k > 1 else ""
        every = "the only fact is" if facts == 1 else f"all {facts:,} facts are"
        return f"Next: ask harder questions{lower}: {every} in the top {k}."
    most = losses[0]
    if lost <= _FEW_LOST * facts and most.outcome != "failed":
        return (
            f"Next: look at latency and cost, or ask harder questions: {facts - lost:,} of {facts:,} facts are in the "
            f"top {k}, so little is left to gain."
        )
    was = "was" if most.facts == 1 else "were"
    every = {1: "it", 2: "both"}.get(lost, f"all {lost:,}")
    these = every if most.facts == lost else f"{most.facts:,} of them"
    not_found = f"{lost:,} of {facts:,} facts {'is' if lost == 1 else 'are'} missing from the top {k}"
    advice = {
        "below_k": "another reranker, or more hits in the prompt" if has_reranker else "a reranker",
        "dropped": "fewer candidates" if most.stage == CANDIDATES else f"more hits after {most.stage}",
        "not_retrieved": _either(_deeper(has_reranker), *_other_retrievers(tried)),
        "not_attainable": "raglift labels check, which names labels that are in no document, or larger chunks",
        "missed": _either(_deeper(has_reranker), "another retriever", "larger chunks"),
    }.get(most.outcome)
    if most.outcome == "failed":
        return f"Next: find out why questions fail: {not_found}; {these} {was} lost because the question failed."
    few = f" (only {requested:,.0f} requested)" if most.outcome == "not_retrieved" and requested <= k else ""
    lost_so = _LOST[most.outcome].format(stage=most.stage)
    if most.outcome == "dropped" and most.stage == CANDIDATES:  # asked for more, the system ranks otherwise
        lost_so = "found as deployed, but not among the candidates"
    return f"Next: try {advice}: {not_found}; {these} {was} {lost_so}{few}."


_LOST = {
    "below_k": "retrieved, but ranked lower",
    "dropped": "dropped by {stage}",
    "not_retrieved": "never retrieved",
    "not_attainable": "lost in chunking",
    "missed": "never retrieved, or lost in chunking (not known which)",
}
"""What became of facts that are missing from the top k."""


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
        return f"{'The only question' if of == 1 else f'All {of:,} questions'} failed and {counts} 0."
    return f"{failed:,} of {counted(of, 'question')} failed and {counts} 0."


def comparison_sentence(comparison: Comparison) -> str:
    """Return which system is best, in terms of questions or facts, and what that is worth, with what could change it.

    "dense leads 4 systems: it puts the right passage first for 58% of questions (NDCG@10 0.682, significantly above the
    baseline's 0.554)."
    """
    name = mean_title(comparison.primary)
    tested = [row for row in map(comparison.deciding, comparison.others) if row.verdict is not None]
    if len(_failed_whole(comparison)) == len(comparison.names):
        return "Every question of every system failed, so nothing was measured."
    if not tested:
        if not comparison.row(comparison.baseline).n:
            return _nothing_counts(name)
        return f"No verdict: no system can be compared with {short_name(comparison.baseline)} in {name}."
    if len(comparison.others) == 1:
        return _pair_sentence(tested[0], comparison)
    best = best_of(comparison)
    finds, figure = _finds(comparison, best), _figure(comparison, best)
    leads = f"leads {len(comparison.names):,} systems"
    tied = [
        one for one in comparison.of(comparison.primary) if one.n and abs(one.mean - comparison.row(best).mean) <= TIED
    ]
    if len(tied) > 1:
        leads = f"and {counted(len(tied) - 1, 'other')} have the highest {name} of {len(comparison.names):,} systems"
    if best == comparison.baseline:
        said = f"The baseline, {short_name(best)}, {leads}: {f'{finds} ({figure})' if finds else figure}"
        return f"{said}; {_others(comparison)}{_caution(comparison, best)}."
    against = _against_baseline(comparison, best)
    said = f"{figure}, {against}"
    if finds:
        said = f"{finds}, {against} ({figure})" if _is_by_size(comparison) else f"{finds} ({said})"
    return f"{short_name(best)} {leads}: {said}{_caution(comparison, best)}."


_MOST_NAMED = 3
_UNCLEAR = {
    NOT_SIGNIFICANT: "not significantly different",
    TOO_SKEWED: TOO_SKEWED,
    NOT_COMPARABLE: "not comparable by size",
}


def _others(comparison: Comparison) -> str:
    """Return what was decided of the other systems, each verdict with the systems or their number."""
    by_verdict: dict[str, list[str]] = {}
    for row in map(comparison.deciding, comparison.others):
        metric = "" if row.metric == comparison.primary else f" (by {mean_title(row.metric)})"
        by_verdict.setdefault(str(row.verdict or "not comparable"), []).append(f"{short_name(row.system)}{metric}")
    if list(by_verdict) == [NOT_SIGNIFICANT]:
        return "no difference to another is significant"
    told = [
        f"significantly {verdict}: {listed(by_verdict[verdict], _MOST_NAMED)}"
        for verdict in ("better", "worse")
        if verdict in by_verdict
    ]
    told += [
        f"{len(names):,} {'is' if len(names) == 1 else 'are'} {_UNCLEAR.get(verdict, verdict)}"
        for verdict, names in by_verdict.items()
        if verdict not in ("better", "worse")
    ]
    return "; ".join(told)


def _is_by_size(comparison: Comparison) -> bool:
    """Whether prompts of one size are compared."""
    return comparison.fairness is not None and comparison.primary == comparison.fairness.area


def _finds(comparison: Comparison, name: str, other: str | None = None) -> str:
    """Return what a system finds, and another against it, without the name of a metric; empty where that is not known.

    "it puts the right passage first for 58% of questions against 41%", or where prompts of one size are compared "it
    finds 58% of the facts, averaged over prompts of up to 2,000 tokens, against 50%".
    """
    names = [name] if other is None else [name, other]
    if _is_by_size(comparison) and comparison.fairness is not None:
        one, *others = (comparison.row(each).mean for each in names)
        averaged = f"it finds {quality_text(comparison.primary, one)}"
        return ", against ".join([averaged, *(percent_text(other, 0) for other in others)])
    first = Metric("hit_rate", 1)
    if first not in comparison.metrics or first == comparison.primary:
        return ""
    rows = [comparison.row(each, first) for each in names]
    if any(not row.n for row in rows):
        return ""
    if other is not None:
        change, decides = rows[0].mean - rows[1].mean, comparison.row(name).mean - comparison.row(other).mean
        if change * decides < 0.0 or not any(row.mean for row in rows):
            return ""
    shares = [questions_text(row.mean, row.n, short=bool(place)) for place, row in enumerate(rows)]
    return f"it puts the right passage first for {' against '.join(shares)}"


def _figure(comparison: Comparison, name: str, other: str | None = None) -> str:
    """Return the mean of the metric that decides, or what is found in prompts of one size where these are compared."""
    names = [name] if other is None else [name, other]
    found = comparison.fairness
    if _is_by_size(comparison) and found is not None:
        if found.recall not in comparison.metrics:
            return mean_title(comparison.primary)
        shares = " against ".join(percent_text(comparison.row(each, found.recall).mean, 0) for each in names)
        return f"at {found.budget.most:,} tokens {shares}"
    return f"{mean_title(comparison.primary)} {' against '.join(_mean(comparison.row(each)) for each in names)}"


def _against_baseline(comparison: Comparison, best: str) -> str:
    """Return what the best system is worth beside the baseline."""
    row, decides = comparison.row(best), comparison.deciding(best)
    value = f"{decides.baseline_mean:.{decimals_of(decides.metric)}f}"
    if decides.metric != row.metric:  # it has the chunks of the baseline
        worth = {
            "better": "significantly better",
            "worse": "significantly worse",
            NOT_SIGNIFICANT: "which may be chance",
        }.get(str(decides.verdict), "which is unclear")
        return f"and {mean_title(decides.metric)} {_mean(decides)} against the baseline's {value}, {worth}"
    if _is_by_size(comparison):
        value = f"{percent_text(decides.baseline_mean, 0)} on average"
    above = f"above the baseline's {value}"
    return {
        "better": f"significantly {above}",
        NOT_SIGNIFICANT: f"but that may be chance: the baseline has {value}",
        TOO_SKEWED: f"but it is unclear whether that is {above}",
        NOT_COMPARABLE: "but that cannot be compared by size with the baseline, as prompts are not full",
    }.get(str(decides.verdict), "but cannot be compared with the baseline")


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
    new, old = row.system, comparison.baseline
    if row.difference is not None and not row.difference.wins and not row.difference.losses:
        on = f"on {counted(row.n, 'question')}"
        return f"{short_name(new)} and {short_name(old)} have the same {name}, {_mean(row)}, {on}: none differs."
    if row.verdict == NOT_COMPARABLE:
        return _not_comparable_sentence(row, comparison)
    better, worse = (old, new) if row.verdict == "worse" else (new, old)
    finds, figure = _finds(comparison, better, worse), _figure(comparison, better, worse)
    between = f"{short_name(new)} and {short_name(old)}"
    if row.verdict == NOT_SIGNIFICANT:
        caution = _caution(comparison, better) if _failed_whole(comparison) else ""
        means = f"{f'{short_name(new)}{finds[2:]}'} ({figure})" if finds else figure
        return f"No clear difference between {between}: {means}; {chance_text(row.n)}{caution}."
    if row.verdict == TOO_SKEWED:
        means = f"{name} {_mean(row)} against {row.baseline_mean:.{decimals}f}"
        ahead = new if row.mean >= row.baseline_mean else old
        said = f"It is unclear whether {short_name(new)} differs from {short_name(old)}: {means} is {TOO_SKEWED}"
        return f"{said}{_caution(comparison, ahead)}."
    significant = f"statistically significant on {counted(row.n, 'question')}"
    means = f"{figure}, {significant}"
    if finds:  # what is tested is the area, not what is found at the budget, and NDCG, not what comes first
        means = f"{finds}, {significant} ({figure})" if _is_by_size(comparison) else f"{finds} ({means})"
    return f"{short_name(better)} is better than {short_name(worse)}: {means}{_caution(comparison, better)}."


def _caution(comparison: Comparison, best: str) -> str:
    """Return what would make another system the best, beginning with `; `; empty if nothing is known to."""
    if failed := _failed_whole(comparison):
        return f"; every question of {short_name(failed[0])} failed"
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
    """Return a name of at most so many words, dots between them not counted, without `none` for no reranker."""
    parts = name.removesuffix(_NO_RERANKER).split()
    words = 0
    for place, part in enumerate(parts):
        words += part not in _BETWEEN
        if words > most:
            return " ".join(parts[:place]).rstrip(" ".join(_BETWEEN)) + "…"
    return " ".join(parts)


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
    return f"No question has labels that count, so {name} cannot be computed."


def _shallow(evaluation: Evaluation, metric: Metric) -> str:
    cut = [stage for stage in evaluation.scores.stages if evaluation.is_truncated(stage, metric)]
    if evaluation.is_beyond_candidates(evaluation.after, metric):
        return f"hits that were not candidates raise {mean_title(metric)}"
    if not cut:
        return "no question has a value on both sides"
    return evaluation.truncation(cut[0])


def failures_table(evaluation: Evaluation, *, most: int) -> Table | None:
    """Return causes, how many queries each took, and which; None if no query failed."""
    found = failures_of(evaluation.run)
    if not found:
        return None
    rows = tuple(
        (
            Cell(failure.cause),
            Cell(f"{len(failure.query_ids):,}"),
            Cell(failure.first),
            Cell(listed(failure.query_ids, most)),
        )
        for failure in found
    )
    caption = "Why questions failed"
    return Table(
        caption, ("cause", "questions", "the first error", "which"), rows, text_columns=(0, 2, 3), rests_on_labels=False
    )
