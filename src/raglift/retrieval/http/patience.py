"""How long a service is asked that answers nothing: a wrong key, or one that hangs, must not take hours to be told."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

from raglift.errors import ServiceFailed, ServiceUnusable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Patience"]

T = TypeVar("T")

_REQUESTS = 100
_MOMENT = 60.0
"""For what may pass by itself, as a service that is still starting, the requests must also have taken so long."""
_SLOW_REQUESTS, _LONG = 10, 300.0
"""Of a service that hangs fewer do, once they took so long."""
_ASKED_AGAIN_AFTER = 10.0


class Patience:
    """What asking one service has led to, until it answers for the first time; from then on it is always asked."""

    def __init__(self) -> None:
        self._has_answered = False
        self._refused = 0
        self._failed = 0
        """The refused among them."""
        self._first_asked = 0.0
        self._last_failed = 0.0
        self._last_refusal: ServiceUnusable | None = None
        self._last_failure: ServiceFailed | None = None

    async def ask(self, request: Callable[[], Awaitable[T]]) -> T:
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
        """The last error of the kind that was had more often; None where there was none."""
        if not self._failed:
            return None
        return self._last_refusal if 2 * self._refused >= self._failed else self._last_failure

    def _is_over(self, now: float, commonest: Exception) -> bool:
        took = now - self._first_asked
        enough = self._failed >= _REQUESTS and (isinstance(commonest, ServiceUnusable) or took >= _MOMENT)
        return enough or (self._failed >= _SLOW_REQUESTS and took >= _LONG)
