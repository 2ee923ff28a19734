"""A metric as a value: `NDCG @ 10`, `Recall @ tokens(2000)`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import total_ordering
from numbers import Integral

from raglift.errors import ConfigurationError

DEFAULT_METRICS = ("hit_rate", "precision", "recall", "f1", "rr", "ap", "ndcg")
"""The measures that are taken unless others are asked for."""

_MOST = 999_999_999
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_MOST_DIGITS = 1e15
"""Below it, every whole number has a float of its own."""


@dataclass(frozen=True, order=True)
class _Count:
    """A depth that is counted in something else than hits."""

    most: int
    """How many count."""

    def __post_init__(self) -> None:
        most: object = self.most
        if isinstance(most, bool) or not isinstance(most, Integral) or not 1 <= int(most) <= _MOST:
            name = type(self).__name__.lower()
            raise ConfigurationError(f"{name}: found {most!r}; expected an integer from 1 to {_MOST:,}")
        object.__setattr__(self, "most", int(most))

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()}({self.most})"


class Tokens(_Count):
    """A depth in tokens of context: the longest prefix of a ranking whose hits come to no more of them.

    Its text is `tokens(2000)`; tokens are those of tiktoken's cl100k_base.

    Raises:
        ConfigurationError: not an integer from 1 to 999,999,999.
    """


class Calls(_Count):
    """A depth in searches of a session: what its first calls returned.

    Its text is `calls(2)`. A system that is asked once has one call.

    Raises:
        ConfigurationError: not an integer from 1 to 999,999,999.
    """


@total_ordering
@dataclass(frozen=True)
class Metric:
    """A measure, its parameters, and the depth at which it is taken.

    Its text is its identity: `str(NDCG(gain="exponential") @ 10)` is `ndcg(gain=exponential)@10`, and
    `raglift.metrics.parse` reads it back. Metrics are ordered by name, then depth (hits, then tokens, then calls, then
    the whole ranking), then parameters.
    """

    name: str
    """The measure: `ndcg`, `recall`, …"""
    depth: int | Tokens | Calls | None = None
    """How many hits count, how many tokens they may have together, or how many calls of a session count; None for the
    whole ranking."""
    parameters: tuple[tuple[str, str], ...] = ()
    """Settings of the measure, sorted by name."""

    @property
    def k(self) -> int | None:
        """How many hits count; None for the whole ranking, at a token budget, and at a number of calls."""
        return None if isinstance(self.depth, (Tokens, Calls)) else self.depth

    @property
    def budget(self) -> Tokens | None:
        """How many tokens the hits may have together; None for any other depth."""
        return self.depth if isinstance(self.depth, Tokens) else None

    @property
    def calls(self) -> Calls | None:
        """How many calls of a session count; None for any other depth."""
        return self.depth if isinstance(self.depth, Calls) else None

    def __matmul__(self, depth: int | Tokens | Calls) -> Metric:
        """Return this metric at a depth: k, `tokens(2000)`, or `calls(2)`.

        Raises:
            ConfigurationError: the depth is none of these.
        """
        if isinstance(depth, (Tokens, Calls)):
            return replace(self, depth=depth)
        if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
            raise ConfigurationError(
                f"{self.name} @ k: found {depth!r}; expected an integer, 1 or more, or a budget, as tokens(2000)"
            )
        return replace(self, depth=depth)

    def __call__(self, **parameters: str | float) -> Metric:
        """Return this metric with settings, as `NDCG(gain="exponential")` or `RBP(p=0.95)`."""
        merged = dict(self.parameters) | {name: setting_text(value) for name, value in parameters.items()}
        return replace(self, parameters=tuple(sorted(merged.items())))

    def parameter(self, name: str, default: str) -> str:
        """Return one setting."""
        return dict(self.parameters).get(name, default)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return self._place < other._place

    @property
    def _place(self) -> tuple[str, int, int, tuple[tuple[str, str], ...]]:
        depth = self.depth
        if depth is None:
            return self.name, 3, 0, self.parameters
        if isinstance(depth, Calls):
            return self.name, 2, depth.most, self.parameters
        kind, number = (1, depth.most) if isinstance(depth, Tokens) else (0, depth)
        return self.name, kind, number, self.parameters

    def __str__(self) -> str:
        settings = ",".join(f"{name}={value}" for name, value in self.parameters)
        return self.name + (f"({settings})" if settings else "") + ("" if self.depth is None else f"@{self.depth}")


def setting_text(value: object) -> str:
    """Return the text of a setting, with numbers in one form only: 0.50 is `0.5`, so that equal metrics are equal."""
    text = str(value).strip()
    if not _NUMBER.fullmatch(text) or not math.isfinite(number := float(text)):
        return text
    return str(int(number)) if number.is_integer() and abs(number) < _MOST_DIGITS else repr(number)
