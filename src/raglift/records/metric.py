"""A metric as a value: `NDCG @ 10`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from raglift.errors import ConfigurationError

__all__ = ["Metric"]


@dataclass(frozen=True, order=True)
class Metric:
    """A measure, its parameters, and the depth at which it is taken.

    Its text is its identity: `str(NDCG(gain="exponential") @ 10)` is `ndcg(gain=exponential)@10`, and
    `raglift.metrics.parse` reads it back.
    """

    name: str
    """The measure: `ndcg`, `recall`, …"""
    k: int | None = None
    """How many hits count; None for the whole ranking."""
    parameters: tuple[tuple[str, str], ...] = ()
    """Settings of the measure, sorted by name."""

    def __matmul__(self, k: int) -> Metric:
        """Return this metric at depth `k`.

        Raises:
            ConfigurationError: `k` is not a positive integer.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ConfigurationError(f"{self.name} @ k: found {k!r}; expected an integer, 1 or more")
        return replace(self, k=k)

    def __call__(self, **parameters: str) -> Metric:
        """Return this metric with settings, as `NDCG(gain="exponential")`."""
        merged = dict(self.parameters) | {name: str(value) for name, value in parameters.items()}
        return replace(self, parameters=tuple(sorted(merged.items())))

    def parameter(self, name: str, default: str) -> str:
        """Return one setting."""
        return dict(self.parameters).get(name, default)

    def __str__(self) -> str:
        settings = ",".join(f"{name}={value}" for name, value in self.parameters)
        return self.name + (f"({settings})" if settings else "") + ("" if self.k is None else f"@{self.k}")
