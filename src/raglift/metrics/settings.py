"""The settings that a measure takes: one of some words, or a number in a range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raglift.records import Metric

__all__ = ["Choice", "Number"]


@dataclass(frozen=True)
class Choice:
    """A setting that is one of some words, as `gain=exponential`."""

    name: str
    """How it is written before the equals sign."""
    values: tuple[str, ...]
    """The words; the first is the default."""

    def __str__(self) -> str:
        return f"{self.name}={'|'.join(self.values)}"

    def accepts(self, text: str) -> bool:
        """Return whether a text is one of the words."""
        return text in self.values

    def of(self, metric: Metric) -> str:
        """Return the value that a metric has."""
        return metric.parameter(self.name, self.values[0])


@dataclass(frozen=True)
class Number:
    """A setting that is a number in a range, as `p=0.95`."""

    name: str
    """How it is written before the equals sign."""
    low: float
    """The least it may be."""
    high: float
    """The most it may be."""
    default: float | None = None
    """What it is unless given; None where the measure finds it out from the labels."""
    is_open: bool = False
    """Whether the ends of the range are outside of it."""
    is_whole: bool = False
    """Whether only whole numbers will do."""

    def __str__(self) -> str:
        kind = "a whole number" if self.is_whole else "a number"
        span = f"above {self.low:g} and below {self.high:g}" if self.is_open else f"from {self.low:g} to {self.high:g}"
        unless = "" if self.default is None else f" ({self.default:g} unless given)"
        return f"{self.name}={kind} {span}{unless}"

    def accepts(self, text: str) -> bool:
        """Return whether a text is a number in the range."""
        try:
            number = float(text)
        except ValueError:
            return False
        if not math.isfinite(number) or (self.is_whole and not number.is_integer()):
            return False
        return self.low < number < self.high if self.is_open else self.low <= number <= self.high

    def of(self, metric: Metric) -> float | None:
        """Return the value that a metric has; None where neither it nor the measure says one."""
        given = metric.parameter(self.name, "")
        return float(given) if given else self.default
