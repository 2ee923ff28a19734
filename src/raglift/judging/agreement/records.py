"""What an agreement between judges consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raglift.judging.agreement.kappa import Coefficient

__all__ = ["Agreement", "SystemAgreement"]


@dataclass(frozen=True, repr=False)
class Agreement:
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

    def to_markdown(self) -> str:
        """Return it as GitHub's Markdown."""
        from raglift.judging.agreement.brief import brief_of
        from raglift.rendering.markdown import markdown_of

        return markdown_of(brief_of(self))

    def _repr_html_(self) -> str:
        from raglift.judging.agreement.brief import brief_of
        from raglift.rendering.notebook import html_of

        return html_of(brief_of(self))

    def __str__(self) -> str:
        from raglift.judging.agreement.brief import parts_of
        from raglift.report.terminal.figures import as_text

        return as_text(parts_of(self), wrap=False, roomy=True)


@dataclass(frozen=True, repr=False)
class SystemAgreement:
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

    def to_markdown(self) -> str:
        """Return it as GitHub's Markdown."""
        from raglift.judging.agreement.brief import brief_of
        from raglift.rendering.markdown import markdown_of

        return markdown_of(brief_of(self))

    def _repr_html_(self) -> str:
        from raglift.judging.agreement.brief import brief_of
        from raglift.rendering.notebook import html_of

        return html_of(brief_of(self))

    def __str__(self) -> str:
        from raglift.judging.agreement.brief import parts_of
        from raglift.report.terminal.figures import as_text

        return as_text(parts_of(self), wrap=False, roomy=True)
