"""Warnings about the figures of a comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.shared_queries import named
from raglift.analysis.upper_bound import match_tables_of, rule_of
from raglift.base.display import TRUNCATED, counted
from raglift.metrics.computing import compute, mean_of, mean_title
from raglift.metrics.judged_measures import Judged
from raglift.metrics.parsing import as_metric
from raglift.metrics.registry import MEASURES
from raglift.stats.paired_tests import FEW_QUERIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.comparison import Paired
    from raglift.analysis.records import ComparisonRow, EvaluationRecord, LiftRow
    from raglift.analysis.shared_queries import SharedQueries
    from raglift.records.metric import Metric
    from raglift.records.rankings import Run


_LONGER = 1.5
"""From how many times the characters on the reader is told."""
_OTHER_SIZE = 1.3
"""From how many times the characters on chunks are of another size, by which containment matches more or less."""
_CHARACTERS_A_TOKEN = 4
"""Roughly, in English: for a budget to start from."""
_READ_IN_PART = "beginning only"
_NAMED = 6
"""As many metrics without a lift are named."""
_UNEQUALLY = 0.05
"""From a difference in Judged@k of more than this on the reader is told, whether or not a test would show it: what it
does to the other figures does not depend on that."""


def warnings_of(
    systems: Mapping[str, EvaluationRecord],
    shared: SharedQueries,
    paired: Paired,
    rows: Sequence[ComparisonRow],
    *,
    held_out: bool,
    is_chosen: bool = False,
) -> list[str]:
    """Return what a reader should be warned of, the gravest first.

    Args:
        systems: the evaluations, by name.
        shared: the queries that all systems answered.
        paired: the values.
        rows: of the comparison, those of the primary metric first.
        held_out: whether the best was measured on queries that had no part in choosing it.
        is_chosen: whether the baseline was chosen for its mean.
    """
    deciding = rows[: len(systems)]
    return [
        *few_queries(min(row.n for row in deciding)),
        *_no_fair_pair(paired),
        *_best_of_many(paired, deciding, held_out=held_out, is_chosen=is_chosen),
        *_unequally_judged(systems, shared, paired.metrics[0]),
        *_differing("queries failed and count 0", _failures(systems, shared)),
        *_differing("queries have a value", {row.system: row.n for row in deciding}),
        *_differing(
            "candidates were asked for", {name: int(one.run.spec["candidates"]) for name, one in systems.items()}
        ),
        *_containment(systems),
        *_lengths(systems, paired.metrics[0]),
        *_own_notes(systems),
        *_machines(systems),
    ]


def few_queries(n: int) -> list[str]:
    """Warn of a comparison of so few queries that it says little."""
    if n >= FEW_QUERIES:
        return []
    queries = "1 query counts" if n == 1 else f"{n} queries count"
    return [f"only {queries}: with fewer than {FEW_QUERIES}, intervals and p-values say little"]


def read_in_part(evaluation: EvaluationRecord) -> list[str]:
    """Return the evaluation's own notes of what the embedding model or a reranker did not read to the end."""
    return [note for note in evaluation.notes if _READ_IN_PART in note]


def changed_hits_notes(run: Run, beyond: Mapping[str, int]) -> list[str]:
    """Say which hits of rerankers are not the candidates that they were given, and what has no lift for that.

    Args:
        run: what a system returned.
        beyond: as `EvaluationRecord.beyond_candidates`.
    """
    notes = []
    for stage in run.stages:
        found = stage.changed_hits
        if found is None:
            continue
        counts = (
            (found.added, "were not among its candidates"),
            (found.changed, "have another text, document or location than their candidate"),
            (found.repeated, "repeat a candidate"),
            (found.excerpts, "are parts of candidates"),
        )
        told = [f"{count:,} {what}" for count, what in counts if count]
        where = f", for {counted(found.queries, 'query')}; the first: {found.example}" if found.example else ""
        notes.append(f"{stage.name}: of {counted(found.of, 'hit')} returned, {_listed(told)}{where}")
    if beyond:
        named = [mean_title(as_metric(name)) for name in beyond]
        more = f" and {counted(len(named) - _NAMED, 'more metric')}" if len(named) > _NAMED else ""
        it = "them" if len(named) > 1 else "it"
        notes.append(
            f"no lift in {', '.join(named[:_NAMED])}{more}: hits that were not candidates raise {it} for "
            f"{counted(max(beyond.values()), 'query')}; the figures after reranking are of the system as deployed"
        )
    return notes


def new_evidence(evaluation: EvaluationRecord) -> list[str]:
    """Return the evaluation's own notes of hits that were not candidates, where there are any."""
    stages = evaluation.run.stages
    if not any(stage.changed_hits is not None and stage.changed_hits.not_candidates for stage in stages):
        return []
    return changed_hits_notes(evaluation.run, evaluation.beyond_candidates)


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _lengths(systems: Mapping[str, EvaluationRecord], metric: Metric) -> list[str]:
    """Warn of systems whose hits are much longer than others': as many of them are another prompt."""
    if metric.k is None:
        return []
    found = {name: _characters(evaluation, metric.k) for name, evaluation in systems.items()}
    shortest, longest = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    if not 0 < found[shortest] * _LONGER < found[longest]:
        return []
    name = "recall" if MEASURES[metric.name].needs_k else metric.name
    budget = max(round(found[shortest] * metric.k / _CHARACTERS_A_TOKEN, -2), 100.0)
    return [
        (
            f"the same k is not the same prompt: hits are {found[longest]:,.0f} characters long in {longest} and "
            f"{found[shortest]:,.0f} in {shortest}, on average; look at equal budgets too, as "
            f"{name}@tokens({budget:.0f})"
        )
    ]


def _containment(systems: Mapping[str, EvaluationRecord]) -> list[str]:
    """Warn of chunk sizes compared by containment, under which the size alone decides what can match."""
    first = next(iter(systems.values()))
    texts = any(passage.text for query in first.dataset for fact in query.facts for passage in fact.passages)
    if rule_of(first).mode != "containment" or not texts:
        return []
    found = {name: _characters(evaluation, None) for name, evaluation in systems.items()}
    shortest, longest = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    if not 0 < found[shortest] * _OTHER_SIZE < found[longest]:
        return []
    return [
        (
            f"chunk sizes are compared by containment: hits are {found[longest]:,.0f} characters long in {longest} and "
            f"{found[shortest]:,.0f} in {shortest}, on average. A passage that is cut by the border of two chunks "
            "matches neither, and a small chunk inside a passage matches all of it; match='coverage' is fair across "
            "sizes: rl.rescore(evaluation, match='coverage'), or raglift rescore --match coverage"
        )
    ]


def wins_against_means(row: ComparisonRow | LiftRow, name: str, other: str) -> list[str]:
    """Say so where the mean and the number of queries won point in opposite directions, of a significant difference.

    Args:
        row: of the primary metric.
        name: what the row is of.
        other: what it is compared with.
    """
    found = row.difference
    if found is None or row.verdict not in ("better", "worse"):
        return []
    more, fewer = (found.wins, found.losses) if row.verdict == "better" else (found.losses, found.wins)
    if more >= fewer:
        return []
    mean, often, seldom = ("higher", "loses", "wins") if row.verdict == "better" else ("lower", "wins", "loses")
    told = f"{name} has the {mean} mean {mean_title(row.metric)} than {other}"
    return [f"{told}, and {often} more queries ({fewer:,}) than it {seldom} ({more:,}): it {seldom} by more"]


def _characters(evaluation: EvaluationRecord, k: int | None) -> float:
    """Return how long the first k hits of the last stage are, on average; None for all hits."""
    last = [done.ranking for trace in evaluation.run.traces for done in trace.stages if done.stage == evaluation.after]
    lengths = [len(hit.chunk.text) for ranking in last for hit in ranking.hits[:k]]
    return sum(lengths) / len(lengths) if lengths else 0.0


def _own_notes(systems: Mapping[str, EvaluationRecord]) -> list[str]:
    """Pass on what systems say of truncating models and of hits that were not candidates, each distinct note once."""
    by_note: dict[str, list[str]] = {}
    for name, evaluation in systems.items():
        for note in (*read_in_part(evaluation), *new_evidence(evaluation)):
            by_note.setdefault(note, []).append(name)
    return [f"{named(names)}: {note}" for note, names in by_note.items()]


def _machines(systems: Mapping[str, EvaluationRecord]) -> list[str]:
    """Warn of latency that was not measured on machines of one kind."""
    by_machine: dict[str, list[str]] = {}
    for name, evaluation in systems.items():
        if evaluation.run.cost is not None and evaluation.run.cost.whole is not None:
            where = evaluation.run.spec.get("environment", {})
            machine = f"{where.get('processor', 'an unknown processor')} ({where.get('cores', '?')} cores)"
            by_machine.setdefault(machine, []).append(name)
    if len(by_machine) < 2:
        return []
    parts = "; ".join(f"{named(names)} on {machine}" for machine, names in by_machine.items())
    return [f"latency was not measured on the same kind of machine: {parts}"]


def _no_fair_pair(paired: Paired) -> list[str]:
    """Name the systems that return fewer hits than the primary metric looks at."""
    cut = [name for name, truncated in zip(paired.names, paired.truncated[0], strict=True) if truncated]
    if not cut:
        return []
    whose = "it is" if len(cut) == 1 else "they are"
    return [
        (
            f"{named(cut)}: returned fewer hits than {mean_title(paired.metrics[0])} looks at; "
            f"{whose} shown with {TRUNCATED} and without a p-value"
        )
    ]


def _best_of_many(paired: Paired, deciding: Sequence[ComparisonRow], *, held_out: bool, is_chosen: bool) -> list[str]:
    """Warn that the best of several was chosen on the queries that measure it."""
    known = [row for row in deciding if row.n and not row.truncated]
    if len(paired.names) <= 2 or not known or (held_out and not is_chosen):
        return []
    best = max(known, key=lambda row: row.mean)
    if is_chosen:
        how = "" if held_out else "; hold_out=True (--hold-out) chooses on one half of them and measures on the other"
        return [
            (
                f"the baseline, {best.system}, is the best of {len(deciding)} on the queries that it was chosen on, so "
                "differences to it are likely too large and p-values too small; name a baseline to test against "
                f"it{how}"
            )
        ]
    return [
        (
            f"{best.system} is the best of {len(deciding)} on the queries that it was chosen on, so its lead is likely "
            "too large: hold_out=True (--hold-out) chooses on one half of them and measures on the other"
        )
    ]


def _unequally_judged(systems: Mapping[str, EvaluationRecord], shared: SharedQueries, primary: Metric) -> list[str]:
    """Warn of systems that differ in how many of their hits were judged, at the depth of the primary metric.

    Where nothing was judged irrelevant, what was judged is what was found relevant, and a difference is the finding.
    """
    if not any(query.judged_irrelevant for query in shared.queries):
        return []
    metric = replace(Judged, depth=primary.depth)
    found = {name: mean_of(metric, shared.columns(name, _judged(one, metric))) for name, one in systems.items()}
    least, most = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    if not found[most] - found[least] > _UNEQUALLY:
        return []
    return [
        (
            f"{mean_title(metric)} is {found[most]:.3f} in {most} and {found[least]:.3f} in {least}: hits that nobody "
            f"judged count as irrelevant, so {least} may be better than its figures; judge its first hits too"
        )
    ]


def _judged(evaluation: EvaluationRecord, metric: Metric) -> NDArray[np.float64]:
    """Return how many of the hits were judged, for each query; NaN for one without labels."""
    if metric in evaluation.scores.metrics:
        return evaluation.scores.of(evaluation.after, metric)
    values = compute(match_tables_of(evaluation)[-1], metric)
    return np.where([query.is_labelled for query in evaluation.dataset], values, np.nan)


def _failures(systems: Mapping[str, EvaluationRecord], shared: SharedQueries) -> dict[str, int]:
    labelled = [number for number, query in enumerate(shared.queries) if query.is_labelled]
    return {
        name: sum(evaluation.run.traces[place].error is not None for place in shared.places[name][labelled].tolist())
        for name, evaluation in systems.items()
    }


def _differing(what: str, counts: Mapping[str, int]) -> list[str]:
    """Say how a count differs between systems; nothing if it does not."""
    if len(set(counts.values())) == 1:
        return []
    by_count: dict[int, list[str]] = {}
    for name, count in counts.items():
        by_count.setdefault(count, []).append(name)
    parts = [f"{count:,} of {named(names)}" for count, names in sorted(by_count.items(), reverse=True)]
    return [f"not the same number of {what}: {'; '.join(parts)}"]
