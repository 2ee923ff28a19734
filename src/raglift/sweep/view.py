"""What is shown of a sweep: which cell to use, every cell, what each part does, and the figures behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING

from raglift.analysis.costs import has_costs, tradeoff
from raglift.analysis.notes import retries_note
from raglift.analysis.truncation import CUT, marked
from raglift.analysis.unjudged import unjudged_in_short
from raglift.analysis.upper_bound import rule_of
from raglift.analysis.warnings import few_queries, new_evidence
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Detail, Document, Figure, Section, Table, Tile, row_of
from raglift.report.page.rendering import Page, compared_queries, evaluation_page
from raglift.report.recommendation import (
    equals_table,
    next_sentence,
    recommendation_lead,
    recommendation_section,
)
from raglift.report.sentences import BEYOND_CANDIDATES, baseline_sentence, best_of, short_name
from raglift.report.views.comparison import by_mean, comparison_sections, only, other_of, prompt_sections
from raglift.report.views.measured import measured_together
from raglift.report.views.tiles import comparison_tiles
from raglift.sweep.charts import short_names
from raglift.sweep.fairness import sweep_sentences
from raglift.sweep.specification.cells import NO_RERANKER, PARTS
from raglift.sweep.table import cells_table
from raglift.sweep.view_sections import (
    about_race,
    effects_of,
    effects_section_of,
    race_lead,
    race_sections,
    race_warnings,
)
from raglift.utilities.display import BEYOND, TRUNCATED, counted, listed

if TYPE_CHECKING:
    from raglift.analysis.factors import FactorEffects
    from raglift.analysis.recommendation import Contender, Recommendation
    from raglift.results.comparison import Comparison
    from raglift.sweep.records import CellResult
    from raglift.sweep.result import SweepResult


_MOST_ROWS = 24
"""As many cells are in the first table; where there are more, another one has all."""
_MOST_SHOWN = 6
"""As many cells have their curves, their failures and, on a page, their queries shown."""
_FEW = 2
_NAMED = 5
WHY = "Why"
"""The heading of the section with the reasons of the recommendation."""


def sweep_view(result: SweepResult, *, baseline: str | None = None, detail: Detail = Detail.DETAILS) -> Document:
    """Return what is shown of a sweep."""
    compared = result.compared
    advised = None if compared is None else result.recommend()
    table = cells_table(result, advised)
    found = compared_in_detail(result, baseline) if detail >= Detail.DETAILS and compared is not None else None
    effects = None if advised is None else effects_of(result)
    outcome = "measured" if result.race is None else "remaining"
    return Document(
        title=f"{result.title}: {len(result.finished):,} of {counted(len(result.results), 'configuration')} {outcome}",
        lead=_lead(result, advised),
        headline=replace(table, rows=table.rows[:_MOST_ROWS]),
        measured=_measured(result, found),
        warnings=_named((*race_warnings(result), *_unmeasured(result), *_warnings(result, compared))),
        notes=_named(_notes(result, table, advised)),
        sections=tuple(_sections(result, advised, effects, table, found, detail)),
        about=_about(result),
        labels=str(result.label_sources),
        next_step="" if advised is None or (effects is None and result.race is None) else next_sentence(advised),
        tiles=() if compared is None or advised is None else _tiles(compared, advised, short_names(result)),
    )


def _named(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts in which configurations without a reranker are named without one."""
    return tuple(text.replace(f" · {NO_RERANKER}", "") for text in texts)


def _waiting(result: SweepResult) -> int:
    """Return how many configurations are not measured yet."""
    return len(result.results) - len(result.finished) - len(result.failed) - len(result.eliminated)


def _lead(result: SweepResult, advised: Recommendation | None) -> str:
    """Return what is recommended, and of a sweep with limited effort what became of the others."""
    said = [] if advised is None else [recommendation_lead(advised, is_complete=not _waiting(result))]
    return " ".join([*said, *race_lead(result)])


_TILES = {
    "Recommended": "The cheapest of those that are shown to be within the margin of every other configuration.",
    "Contradicted": "The cheapest that seemed as good as the best, until held-out questions contradicted it.",
    "Highest mean": "The configuration with the highest mean.",
    "Best of the cheaper ones": "The highest mean of the configurations that cost less: see Why for what cost is.",
    "Runner-up": "The second-highest mean.",
    "Best without truncation": "The highest mean of the configurations whose models read all chunks whole.",
}


def _label(advised: Recommendation) -> str:
    """Return what the choice is called: recommended where that is shown, else what it is."""
    if advised.is_shown:
        return "Recommended"
    return "Highest mean" if advised.choice == advised.best else "Contradicted"


def _tiles(compared: Comparison, advised: Recommendation, called: Mapping[str, str]) -> tuple[Tile, ...]:
    """Return the recommended configuration and its neighbours: a cheaper one, a better one, one without truncation."""
    if advised.choice is None:
        return ()
    better = "Highest mean" if advised.choice != advised.best else "Runner-up"
    neighbours = [
        (_label(advised), advised.choice),
        ("Best of the cheaper ones", None if advised.cheaper is None else advised.cheaper.system),
        (better, None if advised.next_best is None else advised.next_best.system),
        ("Best without truncation", advised.best_without_truncation),
    ]
    chosen: dict[str, str] = {}
    for label, system in neighbours:
        if system is not None:
            chosen.setdefault(system, label)
    tiles = comparison_tiles(compared, list(chosen))
    return tuple(
        replace(
            tile,
            label=chosen[system],
            change=marked(called.get(system, system), compared.evaluation(system)),
            emphasis="better" if advised.is_shown and system == advised.recommended else "",
            definition=_TILES[chosen[system]],
        )
        for system, tile in zip(chosen, tiles, strict=False)
    )


def compared_in_detail(result: SweepResult, baseline: str | None) -> Comparison:
    """Return the comparison of the cells by short names."""
    return result.compare_as(short_names(result), baseline=baseline)


def shown_cells(comparison: Comparison) -> list[str]:
    """Return the cells that are shown in detail: the baseline, the best, and the Pareto-optimal, best first."""
    chosen = [comparison.baseline, best_of(comparison), other_of(comparison)]
    if has_costs(comparison):
        front = [one for one in tradeoff(comparison).systems if one.on_front]
        chosen += [one.system for one in sorted(front, key=lambda one: -one.quality)]
    return list(dict.fromkeys(chosen))[:_MOST_SHOWN]


def _about(result: SweepResult) -> tuple[str, ...]:
    measured = [entry.evaluation for entry in result.finished if entry.evaluation is not None]
    if not measured:
        return ()
    alike = alike_text(result)
    raced = "" if result.race is None else about_race(result.race)
    asked = counted(max(one.scores.n(one.after, result.primary) for one in measured), "labelled question")
    parts = [f"by {mean_title(result.primary)}", f"match by {rule_of(measured[0])}", alike, *([raced] if raced else [])]
    return ("; ".join(filter(None, [asked, *parts])),)


def varying_parts(result: SweepResult) -> list[str]:
    """Return the parts in which the measured cells differ; where there is one cell, all that it has."""
    told = [entry.cell.to_dict() for entry in result.finished]
    named = [part for part in PARTS if any(part in parts for parts in told)]
    return [part for part in named if len({parts.get(part) for parts in told}) > 1] or named


def alike_text(result: SweepResult) -> str:
    """Return what all measured cells have in common."""
    varying, told = varying_parts(result), result.finished[0].cell.to_dict()
    alike = {part: value for part, value in told.items() if part not in varying}
    without = alike.get("reranker") == NO_RERANKER and bool(alike.pop("reranker"))
    named = f"all with {', '.join(alike.values())}" if alike else ""
    return ", ".join(filter(None, [named, "all without a reranker" if without else ""]))


def _measured(result: SweepResult, found: Comparison | None) -> tuple[tuple[str, str], ...]:
    if found is None:
        return ()
    match = str(rule_of(found.evaluation(found.baseline)))
    return (("Swept over", _swept(result)), *measured_together(found, match=match))


def _swept(result: SweepResult) -> str:
    """Return the parts in which cells differ, with their values, and what they have in common."""
    told = [entry.cell.to_dict() for entry in result.results]
    parts = []
    for part in varying_parts(result):
        values = list(dict.fromkeys(cell[part] for cell in told if part in cell))
        parts.append(f"{part}: {listed(values, _NAMED)}")
    return "; ".join(filter(None, [*parts, alike_text(result)]))


# Warnings and notes.


def _unmeasured(result: SweepResult) -> Iterator[str]:
    """Yield which models changed meanwhile, what failed and why, and what is not measured yet."""
    for name, identities in result.mixed_models.items():
        yield (
            f"{name} changed while the sweep was stopped, so its configurations cannot be compared: "
            f"{' and '.join(identities)}; "
            "sweep again into another folder"
        )
    yield from failures((entry.cell.name, str(entry.error)) for entry in result.failed)
    if waiting := _waiting(result):
        yield f"{counted(waiting, 'configuration')} not measured yet: continue with --resume"


def _warnings(result: SweepResult, compared: Comparison | None) -> Iterator[str]:
    for entry in result.finished:
        if entry.evaluation is None:
            continue
        errors = [trace.error for trace in entry.evaluation.run.traces if trace.error]
        if errors:
            counts = "counts" if len(errors) == 1 else "count"
            yield f"{entry.cell.name}: {counted(len(errors), 'question')} failed and {counts} 0; the first: {errors[0]}"
    best = result.best()
    if best is not None and best.evaluation is not None:
        yield from few_queries(best.evaluation.scores.n(best.evaluation.after, result.primary))
    if compared is not None and compared.unjudged is not None:
        yield unjudged_in_short(compared.unjudged)
    for note, names in _new_hits(result).items():
        yield f"{listed(names, 3, '; ')}: {note}"


def _new_hits(result: SweepResult) -> dict[str, list[str]]:
    """Return which cells have hits that were not candidates of their rerankers, by what is said of them."""
    cells: dict[str, list[str]] = {}
    for entry in result.finished:
        for note in [] if entry.evaluation is None else new_evidence(entry.evaluation):
            cells.setdefault(note, []).append(entry.cell.name)
    return cells


def _notes(result: SweepResult, table: Table, advised: Recommendation | None) -> Iterator[str]:
    """Yield why cells are compared as they are, and what marks mean."""
    if advised is not None and any(_is_below(one) for one in advised.equals):
        yield (
            f"Intervals are per comparison; p-values and verdicts are corrected for all {advised.systems:,} "
            "configurations. So an interval can exclude 0 while the verdict is not “worse”"
        )
    if len(table.rows) > _MOST_ROWS:
        yield f"the {_MOST_ROWS} best of {len(table.rows):,} configurations; the details have all"
    yield from sweep_sentences(result)
    measured = [entry.evaluation for entry in result.finished if entry.evaluation is not None]
    runs = ((entry.cell.name, entry.evaluation.run) for entry in result.finished if entry.evaluation is not None)
    retried = _by_reason((name, retries_note(run)) for name, run in runs)
    yield from (f"{listed(names, 3, '; ')}: {note}" for note, names in retried.items() if note)
    cut = [entry for entry in result.finished if entry.is_truncated]
    if cut:
        yield f"{CUT} share of chunks truncated by {_cutters(cut)}; scores include the effect"
    if any(one.is_truncated(one.after, result.primary) for one in measured):
        yield f"{TRUNCATED} deeper than what the configuration returned: it cannot be compared"
    if any(one.is_beyond_candidates(one.after, result.primary) for one in measured):
        yield f"{BEYOND} {BEYOND_CANDIDATES}"


def _is_below(one: Contender) -> bool:
    return one.difference is not None and one.difference.high < 0.0


def _cutters(cut: Sequence[CellResult]) -> str:
    """Return who reads chunks only in part in these cells."""
    models = "the embedding model" if any(entry.read_in_part for entry in cut) else ""
    rerankers = "the reranker" if any(entry.candidates_read_in_part for entry in cut) else ""
    return " or ".join(filter(None, [models, rerankers]))


def failures(failed: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield which cells failed, for each reason."""
    for reason, names in _by_reason(failed).items():
        yield f"{counted(len(names), 'configuration')} failed: {reason} ({listed(names, 3, '; ')})"


def _by_reason(failed: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names of the cells that failed, by reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in failed:
        reasons.setdefault(reason, []).append(name)
    return reasons


# What stands behind it, section by section.


def _sections(
    result: SweepResult,
    advised: Recommendation | None,
    effects: FactorEffects | None,
    table: Table,
    comparison: Comparison | None,
    detail: Detail,
) -> Iterator[Section]:
    if advised is not None:
        _, *reasons = recommendation_section(advised).paragraphs  # the first is above everything
        if reasons:
            yield Section(WHY, _named(reasons))
        if effects is not None:
            yield effects_section_of(result, effects, advised.recommended)
    if (of_sizes := comparison or result.compared) is not None:
        few = dict.fromkeys((*shown_cells(of_sizes), *(row.system for row in by_mean(of_sizes))))
        yield from prompt_sections(only(of_sizes, list(few)[:_MOST_SHOWN]))
    yield from race_sections(result, detail)
    if detail < Detail.DETAILS:
        return
    if len(table.rows) > _MOST_ROWS:
        yield Section("All configurations", tables=(table,), detail=Detail.DETAILS)
    if advised is not None and len(advised.equals) > 1:
        yield Section("Not ruled out as the best", tables=(equals_table(advised),), detail=Detail.DETAILS)
    yield from _map_sections(result)
    if comparison is not None:
        pairs, *others = comparison_sections(comparison, shown_cells(comparison))
        cautions = (f"Caution: {warning}." for warning in comparison.warnings)
        said = (baseline_sentence(comparison), *pairs.paragraphs, *cautions)
        yield replace(pairs, paragraphs=tuple(filter(None, said)))
        yield from others
    yield from failed_sections(result)


def _map_sections(result: SweepResult) -> list[Section]:
    """Return the heat map over the chunkers and models, else the first two parts in which cells differ, if two do."""
    told = [entry.cell.to_dict() for entry in result.finished]
    varying = [part for part in varying_parts(result) if len({cell.get(part) for cell in told}) > 1]
    if len(varying) < _FEW:
        return []
    x, y = ("chunker", "embedding") if {"chunker", "embedding"} <= set(varying) else varying[:2]
    name = mean_title(result.primary)
    cut = "one whose embedding model or reranker reads some chunks only in part"
    best, whole = result.best(), result.best(without_truncation=True)
    second = ", ☆ that of the configurations without truncation" if whole is not None and whole is not best else ""
    caption = f"★ the highest mean{second}, {CUT} {cut}, – one that failed."
    chart = partial(result.plot.heatmap, result.primary, x=x, y=y)
    figure = Figure(f"{name} by {x} and {y}", chart, caption)
    return [Section("Heat map", figures=(figure,), detail=Detail.DETAILS)]


def failed_sections(result: SweepResult) -> list[Section]:
    """Return the cells that failed, by reason; nothing if none did."""
    rows = []
    for reason, names in _by_reason((entry.cell.name, str(entry.error)) for entry in result.failed).items():
        rows.append(row_of((reason, f"{len(names):,}", listed(names, _NAMED, "; "))))
    if not rows:
        return []
    table = Table(
        "Configurations that failed, by reason",
        ("reason", "configurations", "which"),
        tuple(rows),
        text_columns=(0, 2),
        rests_on_labels=False,
    )
    return [Section("What failed", (), (table,), detail=Detail.DETAILS)]


def sweep_document(result: SweepResult, *, baseline: str | None = None) -> Page:
    """Return the page of a sweep."""
    if not result.finished:
        reason = f"; the first failed: {result.failed[0].error}" if result.failed else ""
        raise ConfigurationError(
            f"report: found no measured configuration in {result.folder}; expected at least one{reason}"
        )
    if len(result.finished) == 1:
        return _one_cell(result)
    comparison = compared_in_detail(result, baseline)
    view = sweep_view(result, baseline=baseline)
    shown = shown_cells(comparison)
    right = best_of(comparison)
    right = other_of(comparison) if right == comparison.baseline else right
    queries, supposed = compared_queries(comparison, shown, right)
    queries = replace(queries, notes=(*_limited(comparison, shown), *queries.notes))
    content = {field.name: getattr(view, field.name) for field in fields(Document)}
    return Page(**content, queries=queries, what_if=supposed)


def _one_cell(result: SweepResult) -> Page:
    """Return the page of the only cell that is measured, with the outcome of the others."""
    (entry,) = result.finished
    assert entry.evaluation is not None  # noqa: S101 — that is what finished means
    page = evaluation_page(entry.evaluation, primary=result.primary, seed=result.seed)
    view = sweep_view(result)
    return replace(
        page,
        lead=" ".join(filter(None, [f"Use {short_name(entry.cell.name)}.", page.lead, view.lead])),
        title=view.title,
        measured=(("Configuration", entry.cell.name), *page.measured),
        warnings=(*(one for one in view.warnings if one not in page.warnings), *page.warnings),
        sections=(*view.sections, *page.sections),
    )


def _limited(comparison: Comparison, shown: Sequence[str]) -> list[str]:
    """Say of which cells the queries are shown, where it is not all."""
    every, front = len(comparison.names), " and the Pareto-optimal ones" * has_costs(comparison)
    if len(shown) == every:
        return []
    chosen = f"the baseline, the best{front}, at most {len(shown)}"
    other = "A report of any other: raglift report on its folder under cells/."
    return [f"Questions are shown for {len(shown):,} of {every:,} configurations: {chosen}. {other}"]
