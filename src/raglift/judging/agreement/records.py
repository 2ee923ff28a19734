"""What an agreement between judges consists of, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from raglift.printable import counted
from raglift.rendering.document import Document, Section, table_of
from raglift.report.presenting import summary_of, text_of
from raglift.report.terminal.rendering import as_text
from raglift.results import Presentable
from raglift.significance import FEW_QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.judging.agreement.kappa import Coefficient
    from raglift.rendering.document import Part, Table

__all__ = ["Agreement", "SystemAgreement", "brief_of", "coefficient_text", "parts_of"]


@dataclass(frozen=True, repr=False)
class Agreement(Presentable):
    """How far a model's grades agree with people's, on the same pairs of query and chunk."""

    judge: str
    """The model that is checked, by name."""
    pairs: int
    """How many pairs both judged."""
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
    """The share of pairs with the same grade; none where people used one positive grade."""
    weighted: Coefficient
    """Cohen's kappa of the grades, weighted by their squared distance; none where people used one positive grade."""
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
    """Kendall's tau-b of the two orders; None where it has no meaning."""
    spearman: float | None
    """Spearman's rho of the two orders; None where it has no meaning."""
    why: str
    """Why there is no correlation."""
    swapped: int
    """How many pairs of systems stand in the opposite order under the model's labels."""
    compared: int
    """How many pairs of systems there are."""


def parts_of(found: Agreement | SystemAgreement) -> Iterator[Part]:
    """Yield the lines and tables of an agreement."""
    if isinstance(found, Agreement):
        yield _head(found)
        if found.pairs:
            yield from ("", _matrix(found), "", _figures(found))
        yield from _foot(found)
    else:
        yield _system_head(found)
        if found.queries:
            yield from ("", _systems(found), _correlation(found))


def brief_of(found: Agreement | SystemAgreement) -> Document:
    """Return an agreement in short."""
    if isinstance(found, Agreement):
        sections = (Section("Pairs by grade", (), (_matrix(found),)),) if found.pairs else ()
        return Document(_head(found), "", _figures(found), (), notes=tuple(_foot(found)), sections=sections)
    return Document(_system_head(found), _correlation(found) if found.queries else "", _systems(found), ())


def coefficient_text(found: Coefficient) -> str:
    """Return a measure of agreement with its interval: `0.61 [0.52, 0.70]`; or a dash."""
    if found.value is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _head(found: Agreement) -> str:
    if not found.pairs:
        return f"{found.judge} against people: no labels by people to check the judge against"
    return (
        f"{found.judge} against people: {counted(found.pairs, 'pair')} of query and chunk, "
        f"{counted(found.queries, 'query')}"
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
    rows = [(name, coefficient_text(each)) for name, each in _coefficients(found) if each.value is not None]
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
        few = f"; of fewer than {FEW_QUERIES} queries they are too narrow" if found.queries < FEW_QUERIES else ""
        yield f"{found.method}{few}; a kappa of 0 is what chance gives, 1 is full agreement"


def _system_head(found: SystemAgreement) -> str:
    head = f"{counted(len(found.systems), 'system')} by mean {found.metric} under labels of people and of {found.judge}"
    return f"{head}: " + (counted(found.queries, "query") if found.queries else found.why)


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
    if found.kendall is None or found.spearman is None:
        return f"no rank correlation: {found.why}; {swaps}"
    return f"Kendall's tau-b {found.kendall:.2f}, Spearman's rho {found.spearman:.2f}; {swaps}"


def _text_of(found: Agreement | SystemAgreement) -> str:
    return as_text(parts_of(found), wrap=False, roomy=True)


for _kind in (Agreement, SystemAgreement):
    text_of.register(_kind, _text_of)
    summary_of.register(_kind, brief_of)
