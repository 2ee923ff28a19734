"""Corrected figures: the results, and how they are shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Document, Section, Table, table_from
from raglift.rendering.presenting import Presentable, view_of, whole
from raglift.report.cells import figure_cell
from raglift.report.format import confidence_text, interval_text, number_text, signed
from raglift.stats.paired_tests import FEW_QUERIES
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    quality = _table(found, _QUALITY, f"The judge, for these figures {found.statement}")
    return Document(
        title=f"{found.name}: {found.statement}",
        lead=f"{_estimand(found)} Judge: {found.judge}. {_design(found)}",
        headline=_table(found, _FIGURES, f"Figures {found.statement}"),
        measured=(),
        warnings=tuple(_warnings(found)),
        notes=tuple(_notes(found)),
        sections=(Section("How good is this judge, for this?", (_QUALITY_SAYS,), (quality,)),),
    )


_QUALITY_SAYS = "Bias: judge alone minus corrected. λ: the weight that the judge's grades get."
_NAMES: tuple[Column[CorrectedFigure], ...] = (
    Column("metric", lambda each: mean_title(each.metric), words=True),
    Column("figure", lambda each: each.name, words=True),
)
_FIGURES: tuple[Column[CorrectedFigure], ...] = (
    *_NAMES,
    Column("judge alone", lambda each: _cell(each, each.judge, None), definition="by the model's grades of all pairs"),
    Column(
        "people alone",
        lambda each: _cell(each, each.people.estimate, each.people.interval),
        definition="by people's grades of the sample",
        optional=True,
    ),
    Column(
        "corrected",
        lambda each: _cell(each, each.corrected.estimate, each.corrected.interval),
        definition="by both, with the interval",
    ),
)
_QUALITY: tuple[Column[CorrectedFigure], ...] = (
    *_NAMES,
    Column(
        "bias",
        lambda each: figure_cell(each.bias, each.bias_interval, signs=True),
        definition="judge alone minus corrected",
    ),
    Column("λ", lambda each: number_text(each.corrected.tuning, 2), definition="the weight of the judge's grades"),
    Column("graded", lambda each: f"{each.corrected.sampled:,}", definition="by people, of those that count here"),
)


def _table(found: Correction, columns: tuple[Column[CorrectedFigure], ...], caption: str) -> Table:
    """Return the figures, with a line between metrics."""
    first = [
        number
        for number, each in enumerate(found.figures)
        if number and each.metric != found.figures[number - 1].metric
    ]
    percent = confidence_text(found.confidence)
    return replace(table_from(columns, found.figures, caption, confidence=percent), sections=tuple(first))


def _cell(each: CorrectedFigure, value: float, interval: Interval | None) -> Cell:
    return figure_cell(value, interval, signs=each.kind != "mean")


def _estimand(found: Correction) -> str:
    if found.estimand == "population":
        return (
            f"Estimated: the figures over all queries like these {found.queries:,}; intervals hold both what queries "
            "differ by and the error of grading."
        )
    return (
        f"Estimated: the figures of these {found.queries:,} queries and this pool if people had graded all of it; "
        "intervals hold the error of grading only."
    )


def _design(found: Correction) -> str:
    if found.drawn == found.of:
        return f"People graded all {found.of:,} {found.sampled}: a census."
    return f"{found.drawn:,} of {found.of:,} {found.sampled} were drawn at random."


def _warnings(found: Correction) -> Iterator[str]:
    if found.estimand == "population" and found.queries < FEW_QUERIES:
        yield (
            f"{found.queries:,} queries, fewer than {FEW_QUERIES}: intervals for a population of queries may be too "
            "narrow"
        )
    if found.without_grade:
        yield f"{counted(found.without_grade, 'pair')} without a grade by the judge: irrelevant in its figures"
    reasons = dict.fromkeys(each.reason for each in found.figures if each.reason)
    for reason in reasons:
        names = ", ".join(
            f"{mean_title(each.metric)} of {each.name}" for each in found.figures if each.reason == reason
        )
        yield f"no interval: {names}: {reason}"
    wrong = [each for each in found.figures if each.kind != "mean" and _turned(each)]
    for each in wrong:
        yield (
            f"the judge alone would mislead: {mean_title(each.metric)} of {each.name} is {signed(each.judge)} by its "
            f"grades, and {interval_text(each.corrected.estimate, each.corrected.interval, signs=True)} corrected"
        )


def _turned(each: CorrectedFigure) -> bool:
    """Whether the corrected interval excludes what the model says, with its sign."""
    low, high = each.corrected.interval
    return each.is_biased and (each.judge > 0.0 >= low or each.judge < 0.0 <= high)


def _notes(found: Correction) -> Iterator[str]:
    yield (f"{confidence_text(found.confidence)} intervals: prediction-powered inference, power tuned (PPI++)")
    yield (
        f"a hit counts with its own grade, relevant from {found.relevant_from}; a query with nothing relevant counts 0"
    )


view_of.register(Correction, whole(correction_view))
