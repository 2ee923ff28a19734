"""Whether an HTTP service is available, checked once for all queries.

`Availability` knows whether a connection can be made: a service may come up a little later, or go away.
`CircuitBreaker` stops asking one that is there and answers nothing, as with a wrong key, or one that hangs.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

from raglift.errors import ServiceFailed, ServiceUnusable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


T = TypeVar("T")

_WAITED_FOR_AT_FIRST = 2.0
_FIRST_WAIT, _LATER_WAIT = 0.25, 0.5
_RETRIED_LATER_FOR = 60.0
_NOT_TRIED_AGAIN_FOR = 1.0
_REQUESTS = 100
_MOMENT = 60.0
"""Failures that may pass, as of a service that is still starting, must also have lasted this many seconds."""
_SLOW_REQUESTS, _LONG = 10, 300.0
"""Of a service that hangs fewer do, once they took so long."""
_ASKED_AGAIN_AFTER = 10.0


class NoConnection(Exception):
    """No connection could be made; nothing was sent.

    Args:
        reason: what was found.
        expected: what would have been right, and what to look at.
    """

    def __init__(self, reason: str, expected: str = "a service there: is it running?") -> None:
        super().__init__(reason)
        self.expected = expected


class Availability:
    """Whether a connection to one service can be made, as asking it has shown.

    Args:
        address: of the service, as it may be shown.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._first_asked: float | None = None
        self._last_reached: float | None = None
        self._last_missed: tuple[float, NoConnection] | None = None

    async def call(self, ask: Callable[[], Awaitable[T]]) -> T:
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
            return now - self._last_reached > _RETRIED_LATER_FOR
        return self._first_asked is not None and now - self._first_asked > _WAITED_FOR_AT_FIRST

    def _not_there(self, error: NoConnection) -> Exception:
        if self._last_reached is None:
            return ServiceUnusable(f"no connection to {self._address}: {error}; expected {error.expected}")
        return ServiceFailed(f"no connection to {self._address} any more — {error}")


class CircuitBreaker:
    """Stops asking a service that answers nothing; one that has answered once is always asked."""

    def __init__(self) -> None:
        self._has_answered = False
        self._refused = 0
        self._failed = 0
        """The refused among them."""
        self._first_asked = 0.0
        self._last_failed = 0.0
        self._last_refusal: ServiceUnusable | None = None
        self._last_failure: ServiceFailed | None = None

    async def call(self, request: Callable[[], Awaitable[T]]) -> T:
        """Return what is answered.

        Raises:
            ServiceFailed: by `request`; or the service has answered nothing, and was asked for long enough.
            ServiceUnusable: likewise.
        """
        now = time.monotonic()
        if now - self._last_failed >= _MOMENT:  # used anew: what was long ago says little
            self._failed = self._refused = 0
        why = self._commonest
        if why is not None and now - self._last_failed < _ASKED_AGAIN_AFTER and self._is_over(now, why):
            raise type(why)(f"not asked, because no request before had a usable answer: {why}") from None
        if not self._failed:
            self._first_asked = now
        try:
            answer = await request()
        except (ServiceFailed, ServiceUnusable) as error:
            self._note(error)
            raise
        except asyncio.CancelledError:  # whoever asked has waited for long enough
            self._note(ServiceFailed("no answer in time"))
            raise
        self._has_answered, self._failed = True, 0
        return answer

    def _note(self, error: ServiceFailed | ServiceUnusable) -> None:
        if self._has_answered:
            return
        self._failed += 1
        self._last_failed = time.monotonic()
        if isinstance(error, ServiceUnusable):
            self._refused += 1
            self._last_refusal = error
        else:
            self._last_failure = error

    @property
    def _commonest(self) -> ServiceFailed | ServiceUnusable | None:
        """The last error of the kind that was had more often; None if there was none."""
        if not self._failed:
            return None
        return self._last_refusal if 2 * self._refused >= self._failed else self._last_failure

    def _is_over(self, now: float, commonest: Exception) -> bool:
        took = now - self._first_asked
        enough = self._failed >= _REQUESTS and (isinstance(commonest, ServiceUnusable) or took >= _MOMENT)
        return enough or (self._failed >= _SLOW_REQUESTS and took >= _LONG)
