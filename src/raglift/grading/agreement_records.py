"""Agreement of a model's grades with people's: Cohen's kappa, and the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from raglift.rendering.document import Document, Section, Table, table_of
from raglift.rendering.presenting import Presentable, view_of, whole
from raglift.report.cells import figure_cell
from raglift.report.format import interval_text
from raglift.stats.intervals import Interval
from raglift.stats.paired_tests import FEW_QUERIES
from raglift.utilities.display import counted

# Agreement of two annotators beyond chance: Cohen's kappa, plain and weighted, with intervals over queries.


RESAMPLES = 2000
"""How often queries are drawn again for an interval."""
_MOST_UNDEFINED = 0.05
_BLOCK = 2_000_000
_SAME = 1e-12


@dataclass(frozen=True)
class Coefficient:
    """A measure of agreement, or why there is none."""

    value: float | None
    """At most 1, which is full agreement; of a kappa, 0 is what chance would give."""
    low: float | None = None
    """The lower bound of its interval; None if there is none."""
    high: float | None = None
    """The upper bound."""
    why: str = ""
    """Why there is no value, or no interval."""


class Counts:
    """How often two judges gave which grades, query by query.

    Args:
        matrices: shape (queries, grades, grades): of each query, the pairs by the first judge's grade and the second's.
        seed: of the resamples.
        confidence: how often intervals hold the true value.
    """

    def __init__(self, matrices: NDArray[np.int64], seed: int, confidence: float) -> None:
        self.matrices, self.confidence = matrices, confidence
        self.total: NDArray[np.int64] = matrices.sum(axis=0)
        self._drawn = _resampled(matrices, seed) if len(matrices) > 1 else np.zeros((0, *matrices.shape[1:]))

    def coefficient(self, of: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Coefficient:
        """Return a measure with its percentile interval: whole queries are drawn again, as pairs of one are alike.

        Args:
            of: takes matrices of shape (n, grades, grades) to n values, NaN if it is not defined.
        """
        if not self.total.sum():
            return Coefficient(None, why="no pair that both judged")
        value = float(of(self.total[np.newaxis].astype(np.float64))[0])
        if np.isnan(value):
            return Coefficient(None, why="both gave every pair one grade: chance alone would agree")
        if not len(self._drawn):
            return Coefficient(value, why="no interval: the pairs are of one question")
        values = of(self._drawn)
        undefined = float(np.isnan(values).mean())
        known = values[~np.isnan(values)]
        if undefined > _MOST_UNDEFINED:
            return Coefficient(value, why=f"no interval: not defined in {undefined:.0%} of the resamples")
        if known.max() - known.min() < _SAME:
            return Coefficient(value, why="no interval: the judges agree as often in every question")
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(known, [tail, 1 - tail]).tolist()
        return Coefficient(value, low, high)


def _resampled(matrices: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return the sums of as many queries, drawn with replacement, as there are: one matrix a resample."""
    generator = np.random.default_rng(seed)
    queries, grades, _ = matrices.shape
    flat = matrices.reshape(queries, -1).astype(np.float64)
    block = max(1, _BLOCK // queries)
    sums = []
    for begin in range(0, RESAMPLES, block):
        times = generator.multinomial(queries, np.full(queries, 1 / queries), size=min(block, RESAMPLES - begin))
        sums.append(times.astype(np.float64) @ flat)
    return np.concatenate(sums).reshape(RESAMPLES, grades, grades)


def kappa(matrices: NDArray[np.float64], values: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """Return Cohen's kappa of each matrix: 1 − Σ w·observed / Σ w·expected.

    Expected is what two judges would do who give their grades as often, without looking (Cohen 1960, "A coefficient of
    agreement for nominal scales"; weighted: 1968). NaN if they could not disagree.

    Args:
        matrices: shape (n, grades, grades).
        values: the grades as numbers, for weights of their squared distance; by default any two differ alike.
    """
    if values is None:
        weights = 1.0 - np.eye(matrices.shape[1])
    else:
        weights = (values[:, np.newaxis] - values[np.newaxis, :]).astype(np.float64) ** 2
    first, second, pairs = matrices.sum(axis=2), matrices.sum(axis=1), matrices.sum(axis=(1, 2))
    expected = (weights * first[:, :, np.newaxis] * second[:, np.newaxis, :]).sum(axis=(1, 2))
    observed = (weights * matrices).sum(axis=(1, 2)) * pairs
    with np.errstate(invalid="ignore", divide="ignore"):
        found: NDArray[np.float64] = np.where(expected > 0, 1.0 - observed / expected, np.nan)
    return found


def raw_agreement(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of pairs on which both gave the same grade."""
    pairs = matrices.sum(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = np.trace(matrices, axis1=1, axis2=2) / pairs
    return found


def relevant_or_not(
    matrices: NDArray[np.float64], first: NDArray[np.bool_], second: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return matrices of two grades: relevant or not."""
    rows, columns = (np.stack([~relevant, relevant]).astype(np.float64) for relevant in (first, second))
    return rows @ matrices @ columns.T


# Results of an agreement analysis, and their display.


@dataclass(frozen=True, repr=False)
class Agreement(Presentable):
    """How far a model's grades agree with people's, on the same pairs of query and chunk."""

    judge: str
    """The model that is checked, by name."""
    pairs: int
    """How many pairs both annotators judged."""
    queries: int
    """Of how many queries they are."""
    grades: tuple[int, ...]
    """The grades of the matrix, ascending."""
    matrix: tuple[tuple[int, ...], ...]
    """How many pairs people gave the grade of the row, and the model the grade of the column."""
    threshold: int
    """The model's lowest grade that counts as relevant."""
    threshold_of_people: int
    """People's; 1 where they do not grade on the model's scale: then all that they labelled is relevant."""
    raw: Coefficient
    """The share of pairs that both found relevant, or both not."""
    kappa: Coefficient
    """Cohen's kappa of relevant or not."""
    same: Coefficient
    """The share of pairs with the same grade; none if people used one positive grade."""
    weighted: Coefficient
    """Cohen's kappa of the grades, weighted by their squared distance; none if people used one positive grade."""
    method: str
    """How the intervals were made."""
    assumed: int = 0
    """Pairs that match no label of people, and so count as irrelevant; they are in the matrix."""
    left_out: int = 0
    """Pairs of labelled queries of which one of the two says nothing; they are not in the matrix."""


@dataclass(frozen=True, repr=False)
class SystemAgreement(Presentable):
    """Whether labels by a model put systems in the order in which people's put them."""

    judge: str
    """The model whose labels are checked, by name."""
    metric: str
    """What the systems are ranked by, as its mean."""
    systems: tuple[str, ...]
    """One an evaluation and stage, as `Pool.systems`."""
    people: tuple[float, ...]
    """Each system's mean under people's labels."""
    model: tuple[float, ...]
    """Each system's mean under the model's labels."""
    queries: int
    """Over how many queries: those that both labelled."""
    kendall: float | None
    """Kendall's tau-b of the two orders; None if it has no meaning."""
    why: str
    """Why there is no correlation."""
    swapped: int
    """How many pairs of systems stand in the opposite order under the model's labels."""
    compared: int
    """How many pairs of systems there are."""
    kendall_interval: Interval | None = None
    """For Kendall's tau-b, over resamples of queries; None if there is none."""


def agreement_view(found: Agreement | SystemAgreement) -> Document:
    """Return what is shown of an agreement."""
    if isinstance(found, Agreement):
        sections = (Section("Pairs by grade", (), (_matrix(found),)),) if found.pairs else ()
        return Document(_head(found), "", _figures(found), (), notes=tuple(_foot(found)), sections=sections)
    return Document(_system_head(found), _correlation(found) if found.queries else "", _systems(found), ())


def _interval(found: Coefficient) -> Interval | None:
    return None if found.low is None or found.high is None else Interval(found.low, found.high)


def _head(found: Agreement) -> str:
    if not found.pairs:
        return f"{found.judge} against people: no labels by people to check the judge against"
    return (
        f"{found.judge} against people: {counted(found.pairs, 'pair')} of question and chunk, "
        f"{counted(found.queries, 'question')}"
    )


def _matrix(found: Agreement) -> Table:
    """Return how many pairs have which grades: a row for each of people's, a column for each of the model's."""
    titles = ("people ↓  model →", *map(str, found.grades), "all")
    rows = [
        (str(grade), *(f"{count:,}" for count in row), f"{sum(row):,}")
        for grade, row in zip(found.grades, found.matrix, strict=True)
        if any(row)
    ]
    columns = [sum(column) for column in zip(*found.matrix, strict=True)]
    total = ("all", *(f"{count:,}" for count in columns), f"{sum(columns):,}")
    return table_of(titles, [*rows, (), total], caption="Pairs by people's grade and the model's")


def _figures(found: Agreement) -> Table:
    rows = [
        (name, figure_cell(each.value, _interval(each), 2))
        for name, each in _coefficients(found)
        if each.value is not None
    ]
    return table_of(("agreement", "value"), rows, caption="Agreement")


def _coefficients(found: Agreement) -> list[tuple[str, Coefficient]]:
    relevant = f"≥ {found.threshold}"
    if found.threshold != found.threshold_of_people:
        relevant = f"people ≥ {found.threshold_of_people}, model {relevant}"
    return [
        (f"both relevant ({relevant}) or both not", found.raw),
        ("Cohen's kappa, relevant or not", found.kappa),
        ("the same grade", found.same),
        ("Cohen's kappa, grades, quadratic weights", found.weighted),
    ]


def _foot(found: Agreement) -> Iterator[str]:
    reasons = dict.fromkeys(each.why for _, each in _coefficients(found) if each.why and found.pairs)
    for why in reasons:
        names = [name for name, each in _coefficients(found) if each.why == why]
        yield f"{'; '.join(names)}: {why}"
    best = max((grade for grade, row in zip(found.grades, found.matrix, strict=True) if any(row)), default=0)
    if found.weighted.value is not None and best < found.grades[-1]:
        yield (
            f"people's grades go to {best} and the model's to {found.grades[-1]}: if these are two scales, neither the "
            "same grade nor its kappa means anything"
        )
    if found.assumed:
        yield f"{counted(found.assumed, 'pair')} matching no label of people: counted as irrelevant (0), as in metrics"
    if found.left_out:
        yield f"{counted(found.left_out, 'pair')} left out: one of the two says nothing of them"
    if found.pairs:
        few = f"; of fewer than {FEW_QUERIES} questions they are too narrow" if found.queries < FEW_QUERIES else ""
        yield f"{found.method}{few}; a kappa of 0 is what chance gives, 1 is full agreement"


def _system_head(found: SystemAgreement) -> str:
    head = f"{counted(len(found.systems), 'system')} by mean {found.metric} under labels of people and of {found.judge}"
    return f"{head}: " + (counted(found.queries, "question") if found.queries else found.why)


def _systems(found: SystemAgreement) -> Table:
    """Return the systems with both means, by people's, with the ranks."""
    ranks = {name: _ranks(means) for name, means in (("people", found.people), ("model", found.model))}
    order = sorted(range(len(found.systems)), key=lambda place: (-found.people[place], place))
    rows = [
        tuple(
            chain(
                [found.systems[place]],
                (f"{means[place]:.3f}" for means in (found.people, found.model)),
                (str(ranks[who][place]) for who in ("people", "model")),
            )
        )
        for place in order
    ]
    titles = ("system", "people", "model", "rank by people", "rank by model")
    return table_of(titles, rows if found.queries else [], caption=f"Systems by mean {found.metric}")


def _ranks(means: tuple[float, ...]) -> list[int]:
    """Return the rank of each mean, 1 for the highest; equal ones share theirs."""
    return [1 + sum(other > mean for other in means) for mean in means]


def _correlation(found: SystemAgreement) -> str:
    swaps = f"{found.swapped:,} of {counted(found.compared, 'pair')} of systems swap{'s' * (found.swapped == 1)} places"
    if found.kendall is None:
        return f"no rank correlation: {found.why}; {swaps}"
    kendall = interval_text(found.kendall, found.kendall_interval, 2)
    few = f"; of fewer than {FEW_QUERIES} questions intervals are too narrow" if found.queries < FEW_QUERIES else ""
    return f"Kendall's tau-b {kendall}; {swaps}{few}"


for _kind in (Agreement, SystemAgreement):
    view_of.register(_kind, whole(agreement_view))
