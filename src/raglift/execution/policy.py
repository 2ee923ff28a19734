"""How calls to a user's system are made: how many at once, how long, how often, and what becomes of a failure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from raglift.errors import ConfigurationError
from raglift.retries import RetryPolicy

__all__ = ["Policy"]

_LONGEST_TIMEOUT = 86_400.0
_LONGEST_RETRY_AFTER = 30.0


@dataclass(frozen=True)
class Policy:
    """How calls to a system are made.

    Raises:
        ConfigurationError: a number is out of range.
    """

    concurrency: int = 1
    """How many queries may be under way at once; for systems that take one query at a time."""
    timeout: float | None = None
    """The most seconds for one query, its retries included; None for no limit."""
    retries: int = 2
    """How often a call that failed for a passing reason (connection, 429, 5xx) is made again, with backoff."""
    on_error: Literal["keep", "raise"] = "keep"
    """`keep` counts a failed query as 0 and goes on; `raise` stops."""
    progress: bool | None = None
    """Whether to show progress; None decides by the terminal."""

    def __post_init__(self) -> None:
        for name, value, least in (("concurrency", self.concurrency, 1), ("retries", self.retries, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ConfigurationError(f"{name}: found {value!r}; expected an integer, {least} or more")
        limit = self.timeout
        if limit is not None and not (isinstance(limit, (int, float)) and 0 < limit <= _LONGEST_TIMEOUT):
            raise ConfigurationError(f"timeout: found {limit!r}; expected seconds above 0 (a day at most), or None")
        if self.on_error not in ("keep", "raise"):
            raise ConfigurationError(f"on_error: found {self.on_error!r}; expected 'keep' or 'raise'")

    @property
    def retry_policy(self) -> RetryPolicy:
        """When a call that failed is made again; how long it may take with its retries is the timeout's business."""
        return RetryPolicy(self.retries + 1, math.inf, longest_retry_after=_LONGEST_RETRY_AFTER, zero_means_now=True)
