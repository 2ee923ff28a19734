"""Whether anybody is there: a service may come up a little later, or go away, and no query waits for it anew."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from raglift.errors import ServiceFailed, ServiceUnusable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["NoConnection", "Presence"]

_PATIENCE_AT_FIRST = 2.0
_FIRST_WAIT, _LATER_WAIT = 0.25, 0.5
_PATIENCE_LATER = 60.0
_NOT_TRIED_AGAIN_FOR = 1.0


class NoConnection(Exception):
    """Nobody could be reached; nothing was sent.

    Args:
        reason: what was found.
        expected: what would have been right, and what to look at.
    """

    def __init__(self, reason: str, expected: str = "a service there: is it running?") -> None:
        super().__init__(reason)
        self.expected = expected


class Presence:
    """What asking one service has told of its being there.

    Args:
        address: of the service, as it may be shown.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._first_asked: float | None = None
        self._last_reached: float | None = None
        self._last_missed: tuple[float, NoConnection] | None = None

    async def reached(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """Return what is answered.

        Raises:
            ServiceFailed: by `ask`; or nobody is there any more, which is worth another try for a minute.
            ServiceUnusable: by `ask`; or nobody was there, for two seconds or as long as connecting took.
        """
        wait = _FIRST_WAIT
        while True:
            now = time.monotonic()
            self._first_asked = now if self._first_asked is None else self._first_asked
            if self._last_missed is not None and now - self._last_missed[0] < _NOT_TRIED_AGAIN_FOR and self._is_gone:
                raise self._not_there(self._last_missed[1])  # connecting may take ten seconds, for each query
            try:
                answer = await ask()
            except NoConnection as error:
                self._last_missed = time.monotonic(), error
                if self._last_reached is not None:
                    raise self._not_there(error) from (None if self._is_gone else error.__cause__)
                if self._is_gone:
                    raise self._not_there(error) from None
                await asyncio.sleep(wait)
                wait = _LATER_WAIT
            except (ServiceFailed, ServiceUnusable):
                self._last_reached = time.monotonic()
                raise
            else:
                self._last_reached = time.monotonic()
                return answer

    @property
    def _is_gone(self) -> bool:
        """Whether nobody was there for so long that waiting is over."""
        now = time.monotonic()
        if self._last_reached is not None:
            return now - self._last_reached > _PATIENCE_LATER
        return self._first_asked is not None and now - self._first_asked > _PATIENCE_AT_FIRST

    def _not_there(self, error: NoConnection) -> Exception:
        if self._last_reached is None:
            return ServiceUnusable(f"no connection to {self._address}: {error}; expected {error.expected}")
        return ServiceFailed(f"no connection to {self._address} any more — {error}")
