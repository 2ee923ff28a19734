"""Corrected figures: the results, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Document, Entry, Section, table_from
from raglift.rendering.presenting import Presentable, view_of, whole
from raglift.report.cells import figure_cell
from raglift.report.format import (
    confidence_text,
    interval_in_words,
    interval_text,
    number_text,
    percent_text,
    signed,
)
from raglift.stats.paired_tests import FEW_QUERIES
from raglift.utilities.display import counted

if TYPE_CHECKING:
    import pandas as pd

    from raglift.stats.intervals import Interval
    from raglift.stats.prediction_powered import CorrectedTotal
    from raglift.types.metric import Metric


@dataclass(frozen=True)
class CorrectedFigure:
    """A mean, a difference or a lift: by the model's grades, by people's of the sample, and by both."""

    metric: Metric
    kind: str
    """`mean`, `lift` (after reranking minus before) or `difference` (a system minus the first)."""
    name: str
    """The system as in the pool, or two with a minus between."""
    judge: float
    """By the model's grades alone."""
    corrected: CorrectedTotal
    """By both, with the interval for the estimand."""
    people: CorrectedTotal
    """By people's grades of the sample alone, estimated in the same way."""
    bias: float
    """The model's figure minus the corrected one."""
    bias_interval: Interval
    """For the bias."""
    reason: str = ""
    """Why there is no interval; empty if there is one."""

    @property
    def is_biased(self) -> bool:
        """Whether the model's figure is outside of the corrected interval."""
        return self.bias_interval.low > 0.0 or self.bias_interval.high < 0.0


@dataclass(frozen=True, repr=False)
class Correction(Presentable):
    """Figures under a model's grades, corrected by those that people gave to a sample."""

    name: str
    """The dataset's."""
    judge: str
    """The model whose grades were corrected."""
    sampled: str
    """What was drawn: `pairs` or `queries`."""
    human_grades: int
    """How many pairs people graded."""
    drawn: int
    """How many pairs, or queries, were drawn and graded."""
    of: int
    """From how many."""
    pairs: int
    """How many pairs the systems have among their first hits."""
    queries: int
    """How many queries the means are over."""
    estimand: str
    """`these-queries` or `population`."""
    confidence: float
    """How often intervals hold the true value."""
    relevant_from: int
    """The lowest grade that counts as relevant."""
    without_grade: int
    """How many pairs have no grade by the model; they count as irrelevant in its figures."""
    only_model: int
    """Of the pairs that people graded, how many the model alone calls relevant."""
    only_people: int
    """How many people alone call relevant."""
    figures: tuple[CorrectedFigure, ...]
    """For each metric: each system, lifts, then differences to the first system."""

    def figure(self, metric: Metric | str, name: str) -> CorrectedFigure:
        """Return one figure.

        Args:
            metric: as it was corrected.
            name: of the system, or of the difference, as in `figures`.

        Raises:
            KeyError: there is none.
        """
        for each in self.figures:
            if str(each.metric) == str(metric) and each.name == name:
                return each
        raise KeyError(
            f"{metric} of {name!r}; there are {', '.join(f'{one.metric} of {one.name!r}' for one in self.figures)}"
        )

    def further_grades(self, each: CorrectedFigure, share: float = 0.5) -> int | None:
        """Return how many more pairs, or queries, people would have to grade for an interval this share as wide.

        See `CorrectedTotal.sampled_for` for what that assumes.

        Returns:
            None without an interval, for a census, and for a population: what queries differ by needs more queries.
        """
        total = each.corrected
        if each.reason or self.drawn == self.of or self.estimand == "population" or not total.width > 0.0:
            return None
        wanted = math.ceil(self.drawn * total.sampled_for(share) / total.sampled)
        return max(min(wanted, self.of) - self.drawn, 0)

    @property
    def statement(self) -> str:
        """What every surface says: `corrected by 100 human grades`."""
        return f"corrected by {counted(self.human_grades, 'human grade')}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per figure: the model's, people's and the corrected one, intervals, bias, grades saved."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """Return the figures as plain values, for a data frame or JSON; NaN where there is no interval."""
        return [
            {
                "metric": str(each.metric),
                "kind": each.kind,
                "name": each.name,
                "judge": each.judge,
                "corrected": each.corrected.estimate,
                "low": each.corrected.interval.low,
                "high": each.corrected.interval.high,
                "people": each.people.estimate,
                "people_low": each.people.interval.low,
                "people_high": each.people.interval.high,
                "bias": each.bias,
                "bias_low": each.bias_interval.low,
                "bias_high": each.bias_interval.high,
                "tuning": each.corrected.tuning,
                "human": each.corrected.sampled,
                "units": each.corrected.units,
                "reason": each.reason,
            }
            for each in self.figures
        ]

    def about(self) -> dict[str, Any]:
        """Return all but the figures, as plain values."""
        return {name: value for name, value in asdict(self).items() if name != "figures"} | {
            "statement": self.statement
        }

    def __repr__(self) -> str:
        return f"Correction({self.name!r}, {self.statement}, {len(self.figures)} figures; print() shows them)"


def correction_view(found: Correction) -> Document:
    """Return what is shown of corrected figures."""
    if all(each.kind != "lift" for each in found.figures):  # each system has one stage, which its name can do without
        named = (replace(each, name=each.name.replace("/retrieve", "")) for each in found.figures)
        found = replace(found, figures=tuple(named))
    percent = confidence_text(found.confidence)
    table = table_from(_columns(found), found.figures, f"Figures {found.statement}", confidence=percent)
    metrics = [each.metric for each in found.figures]
    lines = [place for place in range(1, len(metrics)) if metrics[place] != metrics[place - 1]]
    return Document(
        title=f"{found.name}: {found.statement}",
        lead=" ".join(_lead(found)),
        headline=replace(table, sections=tuple(lines)),
        measured=(),
        warnings=tuple(_warnings(found)),
        notes=tuple(_notes(found)),
        sections=(Section("How the figures were corrected", entries=tuple(map(Entry, _steps(found)))),),
    )


def _columns(found: Correction) -> list[Column[CorrectedFigure]]:
    return [
        Column("metric", lambda each: mean_title(each.metric), words=True),
        Column("figure", lambda each: each.name, words=True),
        Column("by the model", lambda each: _figure(each, each.judge), definition="By its grades of all pairs"),
        Column(
            "corrected",
            lambda each: _figure(each, each.corrected.estimate, each.corrected.interval),
            definition="By the model's grades of all pairs, corrected by people's of the sample",
        ),
        Column(
            "model's error",
            lambda each: Cell(signed(each.bias) + " *" * each.is_biased, value=each.bias),
            definition="By the model minus corrected; * where its figure is outside of the corrected interval",
        ),
        Column(
            "more to halve",
            lambda each: "–" if (more := found.further_grades(each)) is None else f"{more:,}",
            definition=f"How many more {_units(found)} people would have to grade for an interval half as wide",
        ),
    ]


def _units(found: Correction) -> str:
    return "questions" if found.sampled == "queries" else "pairs"


def _figure(each: CorrectedFigure, value: float, interval: Interval | None = None) -> Cell:
    return figure_cell(value, interval, signs=each.kind != "mean")


def _lead(found: Correction) -> Iterator[str]:
    """Yield what is believed of the first system, and of the first difference or lift."""
    first = found.figures[0]
    what = mean_title(first.metric)
    if first.metric.name == "precision":
        what = f"The share of relevant hits among the first {first.metric.k}"
    yield (
        f"{what} of {first.name} is {number_text(first.judge)} by the model's grades, and {_believed(found, first)} "
        f"{found.statement}."
    )
    other = next((each for each in found.figures if each.kind != "mean"), None)
    if other is not None:
        alone, believed = signed(other.judge), _believed(found, other)
        undecided = "" if other.reason or _is_decided(other) else ", so which is better is not decided"
        yield f"The {other.kind} {other.name} is {alone} by the model's grades, and {believed} corrected{undecided}."


def _believed(found: Correction, each: CorrectedFigure, total: CorrectedTotal | None = None) -> str:
    """Return a corrected figure, or that of people alone, with its interval."""
    signs, total = each.kind != "mean", total or each.corrected
    value = signed(total.estimate) if signs else number_text(total.estimate)
    if each.reason or not total.width:
        return value
    interval = interval_in_words(total.interval, confidence_text(found.confidence), signs=signs)
    return f"{value} ({interval})"


def _is_decided(each: CorrectedFigure) -> bool:
    """Whether the corrected interval of a difference excludes 0."""
    return each.corrected.interval.low > 0.0 or each.corrected.interval.high < 0.0


def _steps(found: Correction) -> Iterator[str]:
    """Yield what the model's grades say, what people said, what is believed now, and what more grades would do."""
    first, units, pairs = found.figures[0], _units(found), counted(found.pairs, "pair")
    name = f"{mean_title(first.metric)} of {first.name}"
    yield f"The model: by the grades of {found.judge} for {pairs}, {name} is {number_text(first.judge)}."
    drawn = f"{found.drawn:,} of {found.of:,} {units} were drawn at random and"
    if found.drawn == found.of:
        drawn = f"all {found.of:,} {units} were"
    differ = found.only_model + found.only_people
    ungraded = " (a pair that the model did not grade is irrelevant to it)" if found.without_grade else ""
    yield (
        f"People: {drawn} graded. Of {counted(found.human_grades, 'pair')}, they disagree with the model on {differ:,} "
        f"({percent_text(differ / found.human_grades, 0)}): {found.only_model:,} are relevant to the model alone, "
        f"{found.only_people:,} to people alone{ungraded}. By their grades alone {name} is "
        f"{_believed(found, first, first.people)}."
    )
    here = f"for these {found.queries:,} questions if people had graded every pair"
    here += "" if found.drawn == found.of else "; chance is only in which were drawn"
    if found.estimand == "population":
        here = f"over all questions like these {found.queries:,}; the interval also holds what questions differ by"
    yield f"Corrected: {name} is {_believed(found, first)}. It estimates the figure {here}."
    if (grades := found.further_grades(first)) is not None:
        said = f"More grades: about {grades:,} more {units} graded by people would halve this interval"
        other = next((each for each in found.figures if each.kind != "mean" and not each.reason), None)
        if other is not None and not _is_decided(other):
            needed = found.further_grades(other, abs(other.corrected.estimate) / (other.corrected.width / 2.0))
            said += f", and about {needed:,} more would decide on {other.name} if its corrected figure stayed as it is"
        yield f"{said}. That assumes that the model errs on them as it does on those graded so far."
    elif found.estimand == "population":
        yield "More grades: they cannot take out what questions differ by, so label more questions as well."


def _warnings(found: Correction) -> Iterator[str]:
    if found.estimand == "population" and found.queries < FEW_QUERIES:
        yield f"{found.queries:,} questions, fewer than {FEW_QUERIES}: intervals for a population may be too narrow"
    if found.without_grade:
        yield f"{counted(found.without_grade, 'pair')} without a grade by the model: irrelevant in its figures"
    reasons = dict.fromkeys(each.reason for each in found.figures if each.reason)
    for reason in reasons:
        names = ", ".join(
            f"{mean_title(each.metric)} of {each.name}" for each in found.figures if each.reason == reason
        )
        yield f"no interval: {names}: {reason}"
    wrong = [each for each in found.figures if each.kind != "mean" and _turned(each)]
    for each in wrong:
        corrected = interval_text(each.corrected.estimate, each.corrected.interval, signs=True)
        yield (
            f"the model's grades alone would mislead: {mean_title(each.metric)} of {each.name} is "
            f"{signed(each.judge)} by them, and {corrected} corrected"
        )


def _turned(each: CorrectedFigure) -> bool:
    """Whether the corrected interval excludes what the model says, with its sign."""
    low, high = each.corrected.interval
    return each.is_biased and (each.judge > 0.0 >= low or each.judge < 0.0 <= high)


def _notes(found: Correction) -> Iterator[str]:
    if any(each.is_biased for each in found.figures):
        yield "* the model's figure is outside of the corrected interval"
    yield (
        f"a hit counts with its own grade, relevant from {found.relevant_from}; a question with nothing relevant "
        "counts 0"
    )
    yield (
        f"{confidence_text(found.confidence)} intervals by prediction-powered inference; what is computed and when it "
        "holds: docs/reference/corrected_figures.md"
    )


view_of.register(Correction, whole(correction_view))
