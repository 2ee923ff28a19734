"""Cost beside quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.records.label_sources import PEOPLE, LabelSources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.records.metric import Metric

__all__ = ["Costed", "TradeoffRecord"]


@dataclass(frozen=True)
class Costed:
    """One system's quality and costs."""

    system: str
    """Its name in the comparison."""
    quality: float
    """The mean of the metric: more is better."""
    costs: Mapping[str, float]
    """What is known of each cost: less is better."""
    beaten_by: tuple[str, ...] = ()
    """The systems that are as good in everything and better in something."""
    left_out: str | None = None
    """Why the system is on neither side of the front; None when it takes part."""

    @property
    def on_front(self) -> bool:
        """Whether no other system beats it in all."""
        return self.left_out is None and not self.beaten_by


@dataclass(frozen=True)
class TradeoffRecord:
    """Quality and costs of each system, and the Pareto front: the systems that no other beats in all."""

    quality: Metric
    """More is better."""
    costs: tuple[str, ...]
    """Less is better."""
    systems: tuple[Costed, ...]
    """In the order of the comparison."""
    label_sources: LabelSources = PEOPLE
    """Who gave the labels that it rests on."""

    @property
    def front(self) -> tuple[str, ...]:
        """The systems that no other beats in all."""
        return tuple(one.system for one in self.systems if one.on_front)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why systems are left out."""
        return tuple(f"{one.system}: {one.left_out}" for one in self.systems if one.left_out is not None)
