"""The settings of `evaluate()`: their defaults, and what they are checked for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from raglift.errors import ConfigurationError
from raglift.execution import Policy
from raglift.metrics.choosing import DEFAULT_METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.models import Dtype
    from raglift.records import Metric

__all__ = ["DEFAULT_KS", "Config", "Options", "positive"]

DEFAULT_KS = (1, 3, 5, 10)
"""The depths at which metrics are taken unless others are asked for."""


class Options(TypedDict, total=False):
    """The less common settings of `evaluate`, all optional."""

    metrics: Sequence[Metric | str]
    """Measures to take, at each of `ks` where they name no depth of their own; a measure that divides by k is
    taken at a token budget in none of them."""
    chunks: Sequence[Any] | None
    """All chunks of the index, as Chunks, LangChain documents, LlamaIndex nodes or texts, for a system that does not
    tell them: then the evaluation knows which facts the chunks allow at all."""
    as_deployed: bool
    """Keep the rerankers' own top_n instead of raising it to the number of candidates."""
    doc_key: str | None
    """The metadata key of the hits that holds the ids of the dataset's documents."""
    dtype: Dtype
    """What a reranker given by name computes in."""
    concurrency: int
    """How many queries may be under way at once, for systems that take one query at a time. Default 1."""
    timeout: float | None
    """The most seconds for one query. Default: no limit."""
    retries: int
    """How often a call that failed for a passing reason is made again. Default 2."""
    on_error: Literal["keep", "raise"]
    """`keep` (default) counts a failed query as 0; `raise` stops at the first."""
    progress: bool | None
    """Show progress: True, False, or None (default) for when standard error is a terminal."""
    latency: int | None
    """Over how many queries to measure latency, each alone and without the cache, after the run; 50 is usual. Every
    model is asked (and a provider paid) again. 0 or None (default) for none."""


@dataclass(frozen=True)
class Config:
    """`Options` with their defaults."""

    metrics: Sequence[Metric | str] = DEFAULT_METRICS
    chunks: Sequence[Any] | None = None
    as_deployed: bool = False
    doc_key: str | None = None
    dtype: Dtype = "auto"
    concurrency: int = 1
    timeout: float | None = None
    retries: int = 2
    on_error: Literal["keep", "raise"] = "keep"
    progress: bool | None = None
    latency: int | None = None

    @classmethod
    def of(cls, options: Options) -> Config:
        """Return the options, with the defaults of those that are not given.

        Raises:
            ConfigurationError: an option that does not exist.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ConfigurationError(f"evaluate: found the option {unknown[0]!r}; expected one of {', '.join(known)}")
        return cls(**options)

    @property
    def policy(self) -> Policy:
        """How the system is asked."""
        return Policy(self.concurrency, self.timeout, self.retries, self.on_error, self.progress)


def positive(name: str, value: object) -> int:
    """Return an integer of 1 or more.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ConfigurationError(f"{name}: found {value!r}; expected an integer, 1 or more")
    return int(value)
