"""What is shown of a comparison: which system is best and by how much, its costs, and the figures behind both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.analysis.costs import CONTEXT, has_costs, tradeoff
from raglift.analysis.explanation import has_curve
from raglift.analysis.lift import comparison_by_tag, reranker_lift
from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.paired_statistics import NOT_SIGNIFICANT
from raglift.analysis.prompt_curves import prompt_curves
from raglift.analysis.sessions import Agents, compared_agents
from raglift.analysis.shared_queries import named
from raglift.analysis.truncation import CUT, marked, truncation_of
from raglift.analysis.upper_bound import rule_of
from raglift.analysis.warnings import new_evidence
from raglift.metrics.computing import mean_of, mean_title
from raglift.metrics.prompt_measures import NAMED_BUDGETS, PromptRecall
from raglift.metrics.registry import MEASURES
from raglift.rendering.document import (
    Cell,
    Column,
    Detail,
    Document,
    Example,
    Figure,
    Section,
    Table,
    row_of,
    table_from,
)
from raglift.report.cells import (
    decided_cell,
    difference_cell,
    mean_cell,
    p_cell,
    test_cells,
    verdict_cell,
)
from raglift.report.charts.plots import ComparisonPlots
from raglift.report.fairness import beside_of, fairness_sentences
from raglift.report.format import (
    cost_text,
    cost_title,
    decimals_of,
    level,
    method_text,
    place_text,
    signed,
)
from raglift.report.sentences import (
    EXPLORATORY,
    PARETO,
    baseline_sentence,
    best_of,
    comparison_sentence,
    detectable_effect_sentence,
    failure_analysis_depth,
    failure_analysis_sentence,
    failure_sentence,
    short_name,
)
from raglift.report.views.measured import measured_together, queries_text
from raglift.report.views.parts import (
    beside_columns,
    cost_columns,
    definition_of,
    failure_table,
    few_text,
    has_tags,
    lines_between,
    moved_table,
    named_columns,
    setting_columns,
    slices_table,
    truncation,
)
from raglift.report.views.sessions import agents_sections, agents_sentence
from raglift.report.views.tiles import comparison_tiles
from raglift.retrieval.passage_search import PassageSearch
from raglift.stats.intervals import TIED
from raglift.types.metric import Metric, Tokens
from raglift.utilities.display import TRUNCATED, counted

if TYPE_CHECKING:
    from raglift.analysis.records import ComparisonRow, SystemCost, Tradeoff
    from raglift.results.comparison import Comparison
    from raglift.sweep.result import SweepResult


_BY_TAG = 3
"""As many systems are shown by tag: the best and the baseline."""
_COMPARED = 3
"""Of as many systems the queries that moved are shown."""
_MOVED = 5
"""As many queries are shown that a system answers better, and as many that it answers worse."""
_MOST_COLUMNS = 6
"""As many systems stand side by side in the table of all metrics."""


def comparison_view(comparison: Comparison, *, detail: Detail = Detail.DETAILS) -> Document:
    """Return what is shown of a comparison."""
    baseline = comparison.evaluation(comparison.baseline)
    agents = _agents(comparison)
    profile = "" if baseline.profile == "default" else f"; {baseline.profile} conventions"
    of_agents = () if agents is None else agents_sections(agents, comparison.baseline)
    return Document(
        title=f"{baseline.dataset.name}: {counted(len(comparison.names), 'system')} compared",
        lead=" ".join(filter(None, [agents_sentence(agents, comparison.baseline), comparison_sentence(comparison)])),
        headline=comparison_headline(comparison),
        measured=(
            *measured_together(comparison, match=str(rule_of(baseline))),
            ("Method", method_text(comparison.method)),
        ),
        warnings=(*_failures(comparison), *comparison.warnings),
        notes=(*_findings(comparison), *_marks(comparison), *comparison.notes),
        sections=(
            *(section for section in of_agents if section.detail <= detail),
            *prompt_sections(comparison),
            *(comparison_sections(comparison, comparison.names) if detail >= Detail.DETAILS else ()),
        ),
        about=(
            f"{_counts(comparison)}; match by {rule_of(baseline)}{profile}",
            baseline_sentence(comparison),
        ),
        labels=str(comparison.label_sources),
        tiles=comparison_tiles(comparison, [row.system for row in by_mean(comparison)]),
        **_differing_question(comparison),
    )


def _differing_question(comparison: Comparison) -> dict[str, Any]:
    """Return a question that the best of the others answers otherwise than the baseline, and which ones to look at."""
    decided = [row.system for row in by_mean(comparison) if row.verdict in ("better", "worse")]
    other = next(iter(decided), other_of(comparison))
    metric, means = comparison.primary, comparison.row
    sign = 1 if means(other, metric).mean >= means(comparison.baseline, metric).mean else -1
    moved = _moved_questions(comparison, other, sign)
    if not moved:
        return {}
    query_id, text, before, after = moved[0]
    (more, one), (less, another) = sorted(((after, other), (before, comparison.baseline)), reverse=True)
    decimals, one, another = decimals_of(metric), short_name(one), short_name(another)
    said = f"{one} has {mean_title(metric)} {more:.{decimals}f}, {another} {less:.{decimals}f}"
    said = f"{one} finds its passage, {another} does not" if less == 0.0 else said
    return {"example": Example(query_id, text, said)}


def _agents(comparison: Comparison) -> Agents | None:
    """Return how the agents searched; None where all systems are asked once, or no query has labels."""
    if not any(one.run.has_sessions for one in comparison.evaluations):
        return None
    found = compared_agents(comparison, PassageSearch)
    return found if any(one.facts for one in found.analyses.values()) else None


def _counts(comparison: Comparison) -> str:
    """Return how many queries were compared; of all systems, those that every one of them answered."""
    baseline, shared = comparison.evaluation(comparison.baseline), len(comparison.query_ids)
    if shared == len(baseline.dataset):
        return queries_text(baseline.dataset)
    scored = max((row.n for row in comparison.of(comparison.primary)), default=0)
    return f"{counted(shared, 'question')} that all answered" + (
        f", {scored:,} of them scored" if scored < shared else ""
    )


def _failures(comparison: Comparison) -> list[str]:
    """Return how many queries failed in every system; where it is not the same in all, a warning names them."""
    sentences = [failure_sentence(one) for one in comparison.evaluations]
    return [f"every system: {sentences[0]}"] if sentences[0] and len(set(sentences)) == 1 else []


def _findings(comparison: Comparison) -> Iterator[str]:
    """Yield what else was found: what decides and why, and which effects may go unseen."""
    yield from filter(None, fairness_sentences(comparison))
    rows = comparison.of(comparison.primary)
    sizes = [row.minimum_detectable_effect for row in rows if row.minimum_detectable_effect is not None]
    if sizes and any(row.verdict == NOT_SIGNIFICANT for row in rows):
        least, most = f"{min(sizes):.3f}", f"{max(sizes):.3f}"
        about = least if least == most else f"{least} to {most}"
        yield detectable_effect_sentence(about, mean_title(comparison.primary))


def _marks(comparison: Comparison) -> Iterator[str]:
    """Yield an explanation of each mark in the table."""
    if any(truncation_of(one) for one in comparison.evaluations):
        yield f"{CUT} the share of chunks that exceed a model's input limit, so that it reads only their beginning"
    if any(row.truncated for row in comparison.of(comparison.primary)):
        yield f"{TRUNCATED} deeper than what the system returned, so it cannot be compared"


# The systems side by side, best first.


def by_mean(comparison: Comparison) -> list[ComparisonRow]:
    """Return the primary metric's rows, the best first; those that have no mean, or no comparable one, last."""
    rows = comparison.of(comparison.primary)
    return sorted(rows, key=lambda row: (not row.n, row.truncated, -row.mean if row.n else 0.0))


def other_of(comparison: Comparison) -> str:
    """Return the system that is shown with the baseline at first: the best of the others."""
    return next(row.system for row in by_mean(comparison) if row.system != comparison.baseline)


def comparison_headline(comparison: Comparison) -> Table:
    """Return the primary metric of each system, its difference to the baseline, and what it costs."""
    caption = f"{mean_title(comparison.primary)} of each system, the best first"
    percent = level(comparison.method)
    return table_from(_columns(comparison), by_mean(comparison), caption, sortable=True, confidence=percent)


def _named_metrics(comparison: Comparison) -> list[Metric]:
    """Return the metrics that were asked for by name of some system, besides the one that decides."""
    context = Metric(CONTEXT, at_k(comparison).depth)  # has a column among the costs
    shown = {comparison.primary, context, *beside_of(comparison.fairness)}
    named = [metric for one in comparison.evaluations for metric in one.named_metrics(comparison.primary)]
    return [metric for metric in dict.fromkeys(named) if metric in comparison.metrics and metric not in shown]


def _columns(comparison: Comparison) -> list[Column[ComparisonRow]]:
    metric, fair, costs = comparison.primary, comparison.fairness, _cost_columns(comparison)
    corrected = "p (Holm)" if len(comparison.others) > 1 else "p"

    def unless_baseline(row: ComparisonRow, cell: Cell) -> Cell:
        return Cell("") if row.system == comparison.baseline else cell

    def verdict(row: ComparisonRow) -> Cell:
        if row.system == comparison.baseline:
            return verdict_cell("baseline")
        decides = comparison.deciding(row.system)
        cell = verdict_cell(decides.verdict)
        return cell if decides.metric == metric else replace(cell, text=f"{cell.text} ({mean_title(decides.metric)})")

    def mean(row: ComparisonRow, metric: Metric) -> Cell:
        found = comparison.row(row.system, metric)
        return mean_cell(metric, found.mean, None, TRUNCATED * found.truncated)

    def beside(row: ComparisonRow, one: Metric) -> float:
        found = comparison.row(row.system, one)
        if found.exploratory or one == metric:
            return found.mean
        # What decides between the same chunks is as it was scored; a column is matched by one rule
        return mean_of(one, comparison.evaluation(row.system).last_values(one, comparison.query_ids))

    return [
        Column("system", lambda row: marked(row.system, comparison.evaluation(row.system)), words=True),
        *setting_columns(
            comparison.of(metric), lambda row: comparison.evaluation(row.system).run.spec.get("parts", {})
        ),
        Column(
            mean_title(metric),
            lambda row: mean_cell(metric, row.mean, row.interval, TRUNCATED * row.truncated, drawn=False),
            definition=definition_of(metric),
        ),
        Column(
            "difference",
            lambda row: unless_baseline(row, decided_cell(comparison.deciding(row.system))),
            definition=f"The mean over the questions of this system minus {comparison.baseline}",
        ),
        Column(
            corrected,
            lambda row: unless_baseline(row, p_cell(comparison.deciding(row.system).p_holm)),
            definition="How often chance alone gives a difference as large as this",
        ),
        Column("verdict", verdict, words=True),
        *named_columns(_named_metrics(comparison), mean),
        *beside_columns(
            fair,
            lambda one: one != metric and one in comparison.metrics,
            beside,
        ),
        *costs,
    ]


def _cost_columns(comparison: Comparison) -> list[Column[ComparisonRow]]:
    """Return the columns of the prompt's size and the latency, where they are known of some system."""

    def mean(row: ComparisonRow, metric: Metric) -> float:
        return comparison.row(row.system, metric).mean if metric in comparison.metrics else math.nan

    rows = comparison.of(comparison.primary)
    return cost_columns(
        rows,
        at_k(comparison),
        mean,
        lambda row: comparison.evaluation(row.system),
        beside_budget=bool(beside_of(comparison.fairness)),
    )


def at_k(found: Comparison | SweepResult) -> Metric:
    """Return the metric that decides, or where prompts decide, the one that did of the systems as deployed."""
    fair = found.fairness
    return found.primary if fair is None or fair.in_hits is None else fair.in_hits


# What stands behind it, section by section.


def comparison_sections(comparison: Comparison, shown: Sequence[str]) -> list[Section]:
    """Return the sections that compare."""
    few = only(comparison, shown)
    found = [
        _pairs_section(comparison),
        _cost_section(comparison),
        _reranked_section(comparison),
        _over_k_section(few),
        _failures_section(few),
        _tags_section(comparison),
        _moved_section(comparison),
        _metrics_section(comparison),
        _notes_section(comparison),
    ]
    return [replace(one, detail=Detail.DETAILS) for one in found if one is not None]


def only(comparison: Comparison, names: Sequence[str]) -> Comparison:
    """Return a comparison of which only some systems show, the baseline among them; no figure of theirs changes."""
    return replace(
        comparison,
        names=tuple(names),
        evaluations=tuple(map(comparison.evaluation, names)),
        rows=tuple(comparison.row(name, metric) for metric in comparison.metrics for name in names),
    )


def prompt_sections(comparison: Comparison) -> list[Section]:
    """Return recall by how much of a prompt is read, where chunks differ."""
    if comparison.fairness is None or comparison.fairness.area is None:
        return []
    curves = prompt_curves(comparison)
    if not curves:
        return []
    most = max(curve.end for curve in curves.values())
    sizes = [size for size in NAMED_BUDGETS if size <= most] or [most]
    rows = []
    for name, found in curves.items():
        at = [found.at(size) for size in sizes if size <= found.end]
        cells = [mean_cell(PromptRecall @ Tokens(one.tokens), one.recall, one.interval) for one in at]
        rows.append(row_of((name, *cells, *[Cell("–", "muted")] * (len(sizes) - len(at)))))
    figure = Figure(
        "Recall by prompt size",
        ComparisonPlots(comparison).by_prompt_size,
        "The share of a question's facts that are found in the first tokens of the prompt; each band holds the true "
        f"mean {level(comparison.method)} of the time. A line ends where half of the prompts of its system have ended.",
        Table("Recall by tokens read", ("system", *(f"{size:,}" for size in sizes)), tuple(rows)),
    )
    return [Section(figure.title, figures=(figure,))]


def _pairs_section(comparison: Comparison) -> Section:
    """Return the differences query by query, on the metric that decides."""
    rows = []
    for row in by_mean(comparison):
        found = row.difference
        if found is not None and found.n:
            counts = (f"{found.wins:,}", f"{found.ties:,}", f"{found.losses:,}")
            shows = "–" if row.minimum_detectable_effect is None else f"{row.minimum_detectable_effect:.3f}"
            rows.append(row_of((row.system, *counts, signed(found.effect_size, 2), p_cell(found.p), shows)))
    columns = ("system", "wins", "ties", "losses", "effect size", "p (unadjusted)", "minimum detectable effect")
    if not rows:
        return Section("Differences", (f"No system can be compared with {comparison.baseline}.",))
    said = (
        f"Each system against {comparison.baseline}, question by question. Minimum detectable effect: the smallest "
        "true difference that these questions detect with a power of 80%; smaller ones are often missed."
    )
    figure = Figure(
        f"{mean_title(comparison.primary)} minus that of {comparison.baseline}",
        partial(ComparisonPlots(comparison).differences, comparison.primary),
        f"Each interval holds the true difference {level(comparison.method)} of the time; none is adjusted for "
        "their number.",
    )
    table = Table(f"Wins and losses against {comparison.baseline}", columns, tuple(rows))
    return Section("Differences", (said,), (table,), (figure,))


def _cost_section(comparison: Comparison) -> Section | None:
    """Return quality against cost, where any is known."""
    if not has_costs(comparison):
        return None
    found, plots = tradeoff(comparison), ComparisonPlots(comparison)
    pictures = (
        Figure(
            f"{mean_title(comparison.primary)} against {cost_title(cost)}",
            partial(plots.tradeoff, cost=cost),
            "The line joins the Pareto-optimal systems.",
        )
        for cost in found.costs
        if sum(cost in one.costs for one in found.systems) > 1
    )
    return Section("Quality vs. cost", tradeoff_sentences(found), (tradeoff_table(found),), tuple(pictures))


def tradeoff_sentences(found: Tradeoff) -> tuple[str, ...]:
    """Return what Pareto-optimal means, where not every system is, and notes."""
    return (*(() if all(one.on_front for one in found.systems) else (PARETO,)), *found.notes)


def tradeoff_table(found: Tradeoff) -> Table:
    """Return quality and costs of each system, the best quality first."""
    return table_from(
        [
            Column("system", lambda one: one.system, words=True),
            Column(
                mean_title(found.quality),
                lambda one: mean_cell(found.quality, one.quality),
                definition=definition_of(found.quality),
            ),
            *(_cost_column(cost) for cost in found.costs),
            Column("", lambda one: Cell(place_text(one), "" if one.on_front else "muted"), words=True),
        ],
        sorted(found.systems, key=lambda one: (one.left_out is not None, -one.quality)),
        "Quality and cost of each system",
        sortable=True,
    )


def _cost_column(cost: str) -> Column[SystemCost]:
    return Column(cost_title(cost), lambda one: cost_text(one, cost), value=lambda one: one.costs.get(cost))


def _reranked_section(comparison: Comparison) -> Section | None:
    """Return what reranking changed within each system, where one has a reranker."""
    rows = []
    method = comparison.method
    for name, evaluation in zip(comparison.names, comparison.evaluations, strict=True):
        if len(evaluation.scores.stages) == 1:
            continue
        found = reranker_lift(
            evaluation, primary=comparison.primary, seed=method.seed, confidence=method.confidence, moved=0
        ).row()
        before = mean_cell(found.metric, found.before, found.before_interval, drawn=False)
        after = mean_cell(found.metric, found.after, found.after_interval, TRUNCATED * found.truncated, drawn=False)
        cells = test_cells(found.metric, found.difference, alpha=method.alpha)
        rows.append(row_of((name, before, after, *cells, f"{found.n:,}")))
    if not rows:
        return None
    columns = ("system", "before", "after", "lift", "p (unadjusted)", "win/tie/loss", "questions")
    caption, percent = "Each system before and after reranking", level(method)
    table = Table(caption, columns, tuple(rows), optional=(5, 6), confidence=percent)
    said = f"{mean_title(comparison.primary)} within each system that has a reranker, on all of its own questions."
    return Section("Before and after reranking", (said,), (table,))


def _over_k_section(comparison: Comparison) -> Section | None:
    """Return the primary metric over k, or the one as deployed; None if it is the same at every k."""
    metric = at_k(comparison)
    if not has_curve(metric):
        return None
    measure = replace(metric, depth=None)
    chart = partial(ComparisonPlots(comparison).over_k, measure)
    figure = Figure(f"{mean_title(measure)} over k", chart, "Each line is a system, after its last stage.")
    return Section("Quality by depth (k)", figures=(figure,))


def _failures_section(comparison: Comparison) -> Section | None:
    """Return where each system lost recall; None if there are no facts."""
    losses = {}
    for row in by_mean(comparison):
        evaluation = comparison.evaluation(row.system)
        losses[row.system] = failure_analysis(evaluation, failure_analysis_depth(evaluation, comparison.primary))
    if not any(one.facts for one in losses.values()):
        return None
    ends = dict.fromkeys((best_of(comparison), comparison.baseline))
    said = tuple(filter(None, (failure_analysis_sentence(losses[name], name) for name in ends)))
    return Section("Where recall was lost", said, (failure_table(losses),))


def _tags_section(comparison: Comparison) -> Section | None:
    """Return the baseline and the best systems on the queries of each tag, where there are tags."""
    best = [row.system for row in by_mean(comparison) if row.system != comparison.baseline][: _BY_TAG - 1]
    few = only(comparison, [comparison.baseline, *best])
    slices = comparison_by_tag(few)
    if not has_tags(slices):
        return None
    said = [EXPLORATORY, few_text(slices)]
    said += [f"The baseline and the {_BY_TAG - 1} best."] if len(few.names) < len(comparison.names) else []
    return Section("By tag", tuple(filter(None, said)), (slices_table(slices),))


def _moved_section(comparison: Comparison) -> Section | None:
    """Return, for the best systems other than the baseline, the queries that they answer better and worse than it."""
    others = [row for row in by_mean(comparison) if row.system != comparison.baseline]
    tables = [
        table
        for row in others[:_COMPARED]
        if row.difference is not None and row.difference.n
        for table in _moved(comparison, row.system)
    ]
    return Section("Winners and losers", tables=tuple(tables)) if tables else None


def _moved(comparison: Comparison, system: str) -> tuple[Table, ...]:
    """Return the queries that gained and lost most of the primary metric against the baseline."""
    tables = (
        moved_table(
            f"{system} is {word} than {comparison.baseline}",
            comparison.primary,
            _moved_questions(comparison, system, sign),
        )
        for sign, word in ((-1, "worse"), (1, "better"))
    )
    return tuple(one for one in tables if one.rows)


def _moved_questions(comparison: Comparison, system: str, sign: int) -> list[tuple[str, str, float, float]]:
    """Return the ids and texts of the questions that moved most in one direction, with their values in both systems."""
    baseline, metric, query_ids = comparison.evaluation(comparison.baseline), comparison.primary, comparison.query_ids
    before = baseline.last_values(metric, query_ids)
    after = comparison.evaluation(system).last_values(metric, query_ids)
    change = sign * np.nan_to_num(after - before)
    order = np.argsort(-change, kind="stable")[:_MOVED].tolist()
    return [
        (query_ids[place], baseline.dataset.query(query_ids[place]).text, float(before[place]), float(after[place]))
        for place in order
        if change[place] > TIED
    ]


def _metrics_section(comparison: Comparison) -> Section:
    """Return the baseline's mean in every metric, and the differences of the best systems to it."""
    others = [row.system for row in by_mean(comparison) if row.system != comparison.baseline]
    shown = others[:_MOST_COLUMNS]
    metrics = comparison.metrics
    alpha = comparison.method.alpha
    said = (
        f"Differences to {comparison.baseline}. Primary metric: {mean_title(comparison.primary)}; in the others, * is "
        f"p ≤ {alpha:g}, not adjusted for multiple comparisons: where nothing differs, about 1 metric in "
        f"{1 / alpha:.0f} is marked by chance."
    )
    fewer = (
        [f"The {len(shown)} best of {len(others)} systems; all are in to_frame()."] if len(shown) < len(others) else []
    )
    rows = tuple(row_of(_metric_cells(comparison, metric, shown)) for metric in metrics)
    marked_rows = any(row.truncated for row in comparison.rows)
    table = Table(
        "Every metric at every depth",
        ("metric", f"{comparison.baseline} (mean)", *(f"Δ {name}" for name in shown)),
        rows,
        sections=lines_between(metrics),
        optional=tuple(range(3, 2 + len(shown))),
    )
    return Section("All metrics", (said, *fewer, *truncation(marked=marked_rows)), (table,))


def _metric_cells(comparison: Comparison, metric: Metric, shown: Sequence[str]) -> list[Cell | str]:
    baseline = comparison.row(comparison.baseline, metric)
    mean = mean_cell(metric, baseline.mean, None, TRUNCATED * baseline.truncated)
    cells: list[Cell | str] = [mean_title(metric), mean]
    for name in shown:
        row = comparison.row(name, metric)
        found, alpha = row.difference, comparison.method.alpha
        if found is None or not found.n:
            cells.append(Cell(TRUNCATED if row.truncated else "–", "muted"))
            continue
        seen = "*" if found.p <= alpha and not MEASURES[metric.name].is_neutral else ""
        cell = difference_cell(metric, found, alpha=alpha)
        cells.append(replace(cell, text=cell.text + seen, interval=""))
    return cells


def _notes_section(comparison: Comparison) -> Section | None:
    """Return what the evaluations say of themselves, and the comparison does not; what several say, once."""
    by_note: dict[str, list[str]] = {}
    for name, evaluation in zip(comparison.names, comparison.evaluations, strict=True):
        repeated = {"read in part", "retried"} | ({"changed hits"} if new_evidence(evaluation) else set())
        for note in evaluation.remarks:
            if note.kind not in repeated:
                by_note.setdefault(note.text, []).append(name)
    if not by_note:
        return None
    every = len(comparison.names)
    return Section(
        "Notes of the evaluations",
        tuple(f"{'every system' if len(names) == every else named(names)}: {note}" for note, names in by_note.items()),
    )
