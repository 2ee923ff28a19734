"""How a user's system is called: concurrency, timeout, retries, and what becomes of a failure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from raglift.utilities.settings import Bounds, check_settings

if TYPE_CHECKING:
    from raglift.utilities.retrying import RetryPolicy

_A_DAY = 86_400
_LONGEST_RETRY_AFTER = 30.0


@dataclass(frozen=True, kw_only=True)
class CallSettings:
    """How a system that takes one query at a time is called.

    Raises:
        ConfigurationError: a value that does not fit its field.
    """

    concurrency: Annotated[int, Bounds(least=1, most=1_000)] = 1
    """How many queries may be under way at once, for systems that take one query at a time."""
    timeout: Annotated[float | None, Bounds(above=0, most=_A_DAY, unit="seconds")] = None
    """The most seconds for one query, its retries included. Default: no limit."""
    retries: Annotated[int, Bounds(least=0)] = 2
    """How often a call that failed for a passing reason (connection, 429, 5xx) is made again, with backoff."""

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, kw_only=True)
class Policy(CallSettings):
    """How calls to a system are made.

    Raises:
        ConfigurationError: a value that does not fit its field.
    """

    on_error: Literal["keep", "raise"] = "keep"
    """`keep` counts a failed query as 0, and raises only if every query failed; `raise` stops at the first."""
    progress: bool | None = None
    """Whether to show progress. Default: if standard error is a terminal."""

    @property
    def retry_policy(self) -> RetryPolicy:
        """When a call that failed is made again; how long it may take with its retries is the timeout's business."""
        from raglift.utilities.retrying import RetryPolicy

        return RetryPolicy(
            int(self.retries) + 1, math.inf, longest_retry_after=_LONGEST_RETRY_AFTER, zero_means_now=True
        )
