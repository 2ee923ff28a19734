"""The answer of a search: its finalists as a sweep, what became of every cell, and a held-out check."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.held_out_check import held_out_check
from raglift.analysis.paired_statistics import method_of
from raglift.base.tokens import TokenCounts
from raglift.matching.match import inventory_of
from raglift.matching.rule import MatchRule
from raglift.metrics.parsing import parse
from raglift.records.dataset import Dataset
from raglift.running.scoring import evaluation_of
from raglift.running.spec import dataset_hash
from raglift.search.course import FIRST
from raglift.search.folder import HELD_OUT
from raglift.search.records import DROPPED, FAILED, FINALIST, NOT_TRIED, SET_ASIDE, Entrant
from raglift.search.result import SearchResult
from raglift.stats.intervals import CONFIDENCE
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.fairness import decided_fairly
from raglift.sweep.measuring import Parts
from raglift.sweep.records import CellResult
from raglift.sweep.result import SweepResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.analysis.held_out_check import HeldOutCheck
    from raglift.records.metric import Metric
    from raglift.results.evaluation import Evaluation
    from raglift.search.course import Course
    from raglift.search.measuring import Measuring
    from raglift.search.records import Fate
    from raglift.sweep.specification.cells import Cell


def result_of(measuring: Measuring, course: Course, cells: Sequence[Cell], held_out: Sequence[int]) -> SearchResult:
    """Return what a search found; what it recommends is checked on the held-out queries.

    Args:
        measuring: what was measured.
        course: of the race, at its end.
        cells: its systems, by their numbers.
        held_out: the places of the queries that took no part, in the dataset.
    """
    search, primary = measuring.search, measuring.primary or parse(str(measuring.search.sweep.primary))
    entrants = _entrants(measuring, course, cells)
    last = [one for one in entrants if one.fate == FINALIST]
    finalists = _finalists(measuring, last, primary)
    found = SearchResult(
        title=search.sweep.title,
        primary=finalists.primary,
        budget=search.budget,
        alpha=search.alpha,
        queries=course.race.queries,
        entrants=entrants,
        rungs=tuple(course.rungs),
        paths={cells[number].name: tuple(path) for number, path in course.paths.items()},
        questions=course.questions,
        spent=measuring.folder.spent,
        full=len(search.cells) * course.race.queries,
        finalists=finalists,
        began=_began(measuring),
        folder=measuring.folder.path,
        dataset=dataset_hash(measuring.dataset),
        spec=search.sweep.to_dict(),
    )
    return replace(found, finalists=replace(finalists, check=_checked(measuring, found, held_out)))


def _began(measuring: Measuring) -> SweepResult | None:
    """Return the first rung as a sweep; None where its cells were chosen."""
    folder = measuring.folder
    if FIRST not in folder.finished:
        return None
    found = load_sweep_result(folder.rung(FIRST))
    return found if measuring.primary is None else replace(found, primary=measuring.primary)


def _entrants(measuring: Measuring, course: Course, cells: Sequence[Cell]) -> tuple[Entrant, ...]:
    race, numbers = course.race, {cell: number for number, cell in enumerate(cells)}
    running, means, p = set(race.running.tolist()), race.means, race.p
    found = []
    for cell in measuring.search.cells:
        number, error = numbers.get(cell), measuring.errors.get(cell)
        asked = 0 if number is None else int(race.asked_of[number])
        if number is None or (asked == 0 and error is None):
            found.append(Entrant(cell, NOT_TRIED, 0, math.nan, 1.0, None))
            continue
        fate: Fate = FINALIST if number in running else SET_ASIDE
        if error is not None:
            fate = FAILED
        elif race.dropped[number]:
            fate = DROPPED
        found.append(Entrant(cell, fate, asked, float(means[number]), float(p[number]), error))
    return tuple(found)


def _finalists(measuring: Measuring, last: Sequence[Entrant], primary: Metric) -> SweepResult:
    """Return the cells that are left as a sweep over the queries that they were asked."""
    parts = Parts(measuring.search.sweep, measuring.dataset, progress=False)
    results = [
        CellResult(one.cell, _together(measuring, one.cell, measuring.evaluations[one.cell], parts)) for one in last
    ]
    sweep = measuring.search.sweep
    decided, decides, fairness = decided_fairly(results, primary, is_named=True, budget=sweep.budget, seed=sweep.seed)
    return SweepResult(
        measuring.search.sweep.title,
        decides,
        measuring.search.sweep.seed,
        tuple(decided),
        measuring.folder.path,
        fairness=fairness,
        margin=measuring.search.sweep.margin,
    )


def _together(measuring: Measuring, cell: Cell, rungs: Sequence[Evaluation], parts: Parts) -> Evaluation:
    """Return the evaluations of one cell on different queries as one, in the order of the dataset."""
    first = rungs[0]
    traces = {trace.query_id: trace for rung in rungs for trace in rung.run.traces}
    queries = tuple(query for query in measuring.dataset.queries if query.id in traces)
    dataset = Dataset(queries, measuring.dataset.documents, measuring.dataset.name)
    notes = tuple(dict.fromkeys(note for rung in rungs for note in rung.run.notes))
    rule = MatchRule(**first.run.spec["match"])
    inventory = None  # what the chunks of a system of the user's hold is known of the queries of each rung alone
    if cell.chunker is not None:
        inventory = inventory_of(queries, parts.chunks(cell.chunker), dataset.documents, rule, progress=False)
    spec = {name: value for name, value in first.run.spec.items() if name != "dataset"}
    run = replace(
        first.run,
        traces=tuple(traces[query.id] for query in queries),
        spec=spec,
        notes=notes,
        inventory=inventory,
        cost=None,
    )
    shared = [metric for metric in first.scores.metrics if all(metric in rung.scores.metrics for rung in rungs)]
    primary = measuring.primary
    metrics = tuple(dict.fromkeys([*shared, *([] if primary is None else [primary])]))
    return evaluation_of(run, dataset, metrics, rule, first.profile, TokenCounts())


def _checked(measuring: Measuring, found: SearchResult, held_out: Sequence[int]) -> HeldOutCheck | None:
    """Return what queries that took no part in the choice say of it, beside the runner-up.

    None where there are none, or a budget of money is spent.
    """
    finalists = found.finalists.finished
    if not held_out or not finalists:
        return None
    name = found.finalists.recommend().choice if len(finalists) > 1 else finalists[0].cell.name
    others = [entry.cell for entry in found.finalists.ranked if entry.cell.name != name]
    if not others:
        known = sorted((one for one in found.entrants if one.asked and one.error is None), key=lambda one: -one.mean)
        others = [one.cell for one in known if one.cell.name != name]
    if not others:
        return None
    winner = next(entry.cell for entry in finalists if entry.cell.name == name)
    result = measuring.sweep(f"{HELD_OUT}-{winner.key}-{others[0].key}", [winner, others[0]], sorted(held_out))
    measured = {entry.cell: entry.evaluation for entry in result.results if entry.evaluation is not None}
    if len(measured) < len(result.results):
        return None
    values = np.stack([of.scores.of(of.after, found.primary) for of in (measured[winner], measured[others[0]])], axis=1)
    asked = {trace.query_id for rung in measuring.evaluations[winner] for trace in rung.run.traces}
    return held_out_check(
        (winner.name, others[0].name),
        values[~np.isnan(values).any(axis=1)],
        (sorted(asked), [measuring.dataset.queries[place].id for place in sorted(held_out)]),
        found.primary,
        method_of(measuring.search.sweep.seed, CONFIDENCE),
        margin=found.finalists.margin,
        recommended=winner.name,
    )
