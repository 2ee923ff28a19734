"""Results of context precision as records, and the file of answers that it is asked about."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.base.display import counted
from raglift.base.strict_files import parse_object, stream_lines
from raglift.base.validation import Location, check_fields, quoted, shown
from raglift.errors import ConfigurationError, DatasetError
from raglift.judging.agreement_records import coefficient_text
from raglift.llm.providers import dollars_in_short
from raglift.records.metric import Metric
from raglift.rendering.document import Cell, Detail, Document, Section, Table, row_of
from raglift.report.cells import difference_cell, mean_cell
from raglift.report.format import confidence_text
from raglift.report.presenting import view_of, whole
from raglift.results.analyses import Presentable
from raglift.stats.intervals import CONFIDENCE, mean_interval
from raglift.stats.paired_tests import FEW_QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from raglift.errors import Fault
    from raglift.judging.agreement_records import Agreement
    from raglift.judging.pooling import Pool, PooledChunk
    from raglift.llm.replies import Usage
    from raglift.records.labels import Annotator, Query
    from raglift.stats.intervals import Interval
    from raglift.stats.paired_tests import PairedDifference


# Answers to questions, from a file.


_FIELDS = ("id", "answer")


def read_answers(path: Path) -> dict[str, str]:
    """Return the answer of each query: from JSON Lines of `{"id": …, "answer": …}`.

    Raises:
        DatasetError: there is no such file, or it is malformed; every fault is listed.
    """
    faults: list[Fault] = []
    location = Location(path.name, faults)
    answers: dict[str, str] = {}
    for here, line in stream_lines(path, location):
        entry = parse_object(line, here)
        if entry is None or not check_fields(entry, _FIELDS, here):
            continue
        wrong = [name for name in _FIELDS if not isinstance(entry.get(name), str) or not entry[name].strip()]
        for name in wrong:
            (here / name).fault(shown(entry[name]) if name in entry else "no such field", "a text that is not empty")
        if not wrong and entry["id"] in answers:
            (here / "id").fault(f"the id {quoted(entry['id'])} a second time", "one answer a query")
        elif not wrong:
            answers[entry["id"]] = entry["answer"]
    if not answers and not faults:
        location.fault("no answers", "one JSON object on each line")
    if faults:
        raise DatasetError(str(path), faults)
    return answers


# Results of context precision, and their display.


MEASURES = {"precision": "precision@k", "ap": "AP@k"}
"""What is computed of verdicts, with its title."""
_SHOWN = 20


@dataclass(frozen=True)
class Judged:
    """One pair of query and chunk, and what the model said of it."""

    query: Query
    pooled: PooledChunk
    useful: bool | None
    """None for a pair without a verdict."""
    reason: str
    """Why, in the model's words, which are untrusted; or why there is no verdict."""


@dataclass(frozen=True)
class JudgedLift:
    """What the stages after the first changed, by the model's verdicts."""

    system: str
    """The run; empty if there is one."""
    k: int
    precision: PairedDifference
    """Of precision@k, after the last stage minus after the first."""
    ap: PairedDifference
    """Of AP@k."""


@dataclass(frozen=True, eq=False, repr=False)
class ContextPrecision(Presentable):
    """How many of the first hits help to answer, in the eyes of a model."""

    judge: Annotator
    """The model, what it was told, and the day of its latest verdict."""
    agreement: Agreement
    """Of its verdicts with the labels that people gave; of no pair where there is none."""
    pool: Pool
    """The pairs that were judged."""
    judged: tuple[Judged, ...]
    """Each pair once, query by query in the order of the pool."""
    ks: tuple[int, ...]
    """The depths."""
    precision: NDArray[np.float64]
    """Precision at each depth, of shape (systems, depths, queries); NaN if a hit has no verdict."""
    ap: NDArray[np.float64]
    """Average precision at each depth, in the same shape."""
    lifts: tuple[JudgedLift, ...]
    """One a run and depth, where the run has several stages and the pair is fair."""
    notes: tuple[str, ...]
    """Notes for readers of the figures."""
    asked: int
    """How many requests this took now; the other verdicts came from the cache."""
    usage: Usage
    """What those were billed."""
    dollars: float | None
    """US dollars at the known price; None if there is none."""

    @property
    def systems(self) -> tuple[str, ...]:
        """One a run and stage, as in the pool."""
        return self.pool.systems

    @property
    def unanswered(self) -> tuple[Judged, ...]:
        """The pairs without a verdict."""
        return tuple(each for each in self.judged if each.useful is None)

    def of(self, system: str, measure: str, k: int) -> NDArray[np.float64]:
        """Return one value a query; NaN if one of its first k hits has no verdict.

        Args:
            system: one of `systems`.
            measure: `precision` or `ap`.
            k: one of `ks`.

        Raises:
            ConfigurationError: there is no such system, measure or depth.
        """
        for name, found, known in (("system", system, self.systems), ("measure", measure, MEASURES), ("k", k, self.ks)):
            if found not in known:
                raise ConfigurationError(f"{name}: found {found!r}; expected one of {', '.join(map(str, known))}")
        values: NDArray[np.float64] = getattr(self, measure)[self.systems.index(system), self.ks.index(k)]
        return values

    def mean(self, system: str, measure: str, k: int) -> float | None:
        """Return the mean over the queries that count; None if none does."""
        values = self.of(system, measure, k)
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if len(counted) else None

    def interval(self, system: str, measure: str, k: int) -> Interval | None:
        """Return Wilson's interval of the mean, at 95%; None if no query counts."""
        values = self.of(system, measure, k)
        return None if np.isnan(values).all() else mean_interval(values, bounds=(0.0, 1.0))

    def n(self, system: str, k: int) -> int:
        """Return how many queries the means are over."""
        return int(np.count_nonzero(~np.isnan(self.of(system, "precision", k))))

    def __repr__(self) -> str:
        return f"ContextPrecision({len(self.judged):,} pairs by {self.judge.model}; print() shows the figures)"


def precision_view(found: ContextPrecision) -> Document:
    """Return what is shown of context precision, with the judge and its agreement with people."""
    return Document(
        title=f"{found.pool.name}: context precision without labels, as {found.judge.model} judges",
        lead=(
            f"Of the first k chunks those count that help to answer, in the eyes of {found.judge.model} "
            f"({found.judge.prompt}). "
            "What was not retrieved costs nothing here: recall needs labels. The judge against people: "
            f"{_checked(found.agreement)}."
        ),
        headline=_means(found),
        measured=(),
        warnings=tuple(_warnings(found)),
        notes=(*found.notes, f"AP@k: how early the useful of the first k come; {_cost(found)}"),
        sections=tuple(_sections(found)),
        printed=Detail.DETAILS,
    )


def _means(found: ContextPrecision) -> Table:
    """Return each system's means at each depth."""
    rows = [
        row_of(
            (
                system if not number else "",
                str(k),
                *(_mean(found, system, measure, k) for measure in MEASURES),
                f"{found.n(system, k):,}",
                f"{len(found.pool.queries) - found.n(system, k):,}",
            )
        )
        for system in found.systems
        for number, k in enumerate(found.ks)
    ]
    lines = tuple(range(len(found.ks), len(rows), len(found.ks)))
    columns = ("system", "k", *MEASURES.values(), "queries", "left out")
    caption = f"Means as {found.judge.model} judges"
    return Table(caption, columns, tuple(rows), sections=lines, confidence=confidence_text(CONFIDENCE))


def _mean(found: ContextPrecision, system: str, measure: str, k: int) -> Cell:
    mean = found.mean(system, measure, k)
    return mean_cell(Metric(measure, k), math.nan if mean is None else mean, found.interval(system, measure, k))


def _sections(found: ContextPrecision) -> Iterator[Section]:
    if found.lifts:
        alpha = 1 - CONFIDENCE
        rows = [
            row_of(
                (
                    lift.system or "the system",
                    str(lift.k),
                    *(difference_cell(Metric(name, lift.k), getattr(lift, name), alpha=alpha) for name in MEASURES),
                    f"{lift.ap.n:,}",
                )
            )
            for lift in found.lifts
        ]
        columns = ("run", "k", *MEASURES.values(), "queries")
        percent = confidence_text(CONFIDENCE)
        table = Table("After the last stage minus after the first", columns, tuple(rows), confidence=percent)
        yield Section("What reranking changed", (), (table,))
    if found.unanswered:
        shown = found.unanswered[:_SHOWN]
        rows = [row_of((each.query.id, quoted(each.pooled.chunk.text), each.reason)) for each in shown]
        table = Table("Pairs without a verdict", ("query", "chunk", "why"), tuple(rows), text_columns=(0, 1, 2))
        more = len(found.unanswered) - len(shown)
        said = (f"and {more:,} more (all of them with --json, or in .unanswered)",) if more else ()
        yield Section(
            f"Without a verdict: {counted(len(found.unanswered), 'pair')}", said, (table,), detail=Detail.DETAILS
        )


def _warnings(found: ContextPrecision) -> Iterator[str]:
    if found.unanswered:
        ids = {each.query.id for each in found.unanswered}
        yield (
            f"{counted(len(found.unanswered), 'pair')} of {counted(len(ids), 'query')} without a verdict: a query is "
            "left out where one of its first k hits is among them; the same call asks for them again"
        )


def _checked(found: Agreement) -> str:
    if not found.pairs:
        return "no labels to check the judge against"
    pairs = f"{counted(found.pairs, 'pair')} of {counted(found.queries, 'query')}"
    assumed = f", {found.assumed:,} of them matching no label and so irrelevant" if found.assumed else ""
    kappa, raw = coefficient_text(found.kappa), coefficient_text(found.raw)
    why = f" ({found.kappa.why})" if found.kappa.value is None else ""
    few = f" (of fewer than {FEW_QUERIES} queries the intervals are too narrow)" if found.queries < FEW_QUERIES else ""
    return f"Cohen's kappa {kappa}{why}, the same verdict {raw}, on {pairs}{assumed}{few}"


def _cost(found: ContextPrecision) -> str:
    pairs = f"{counted(len(found.judged), 'pair')} of {counted(len(found.pool.queries), 'query')} judged"
    if not found.asked:
        return f"{pairs}, all verdicts from the cache"
    dollars = "" if found.dollars is None else f", US$ {dollars_in_short(found.dollars)}"
    return f"{pairs}, {counted(found.asked, 'prompt')} asked now{dollars}"


view_of.register(ContextPrecision, whole(precision_view))
